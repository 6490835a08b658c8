"""A gateway that reaches its controller by relays alone: a push, a job, and kill -9 of the relay in the middle."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest
import yaml
from gateway_site import controller_with_tree
from rig import free_ports
from stock_minions import StockMinions, salt_venvs

from wire.keys import read_public

VENVS = salt_venvs()
pytestmark = [
    pytest.mark.alone,
    pytest.mark.timeout(400),
    pytest.mark.skipif(not VENVS, reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
]
MINION = "web1"
RELAYS = ("relay1", "relay2")


class RelayedGateway:
    """A controller, two relays before it, and a gateway that knows the relays."""

    def __init__(self, rig, folder):
        self.rig, self.folder = rig, folder
        self.ports = dict(zip(RELAYS, free_ports(2), strict=True))
        self.keys = {}
        for name in RELAYS:
            self._start(name)
        self.hosts = [f"127.0.0.1:{self.ports[name]}" for name in RELAYS]
        self.stock = StockMinions(
            rig,
            folder / "stock",
            {
                "id": "gateway1",
                "controller": self.hosts,
                "relay_key": dict(zip(self.hosts, self.keys.values(), strict=True)),
            },
            log_level="info",
        )

    def _start(self, name):
        rig, folder = self.rig, self.rig.directory / name
        folder.mkdir()
        settings = {
            "id": name,
            "syndic_master": f"127.0.0.1:{rig.wire_ports[1]}",
            "controller_key": rig.controller_key,
            "interface": "127.0.0.1",
            "ret_port": self.ports[name],
            "pki_dir": str(folder / "pki"),
        }
        (folder / "relay").write_text(yaml.safe_dump(settings))
        rig._start(name, "relay", "-c", str(folder))
        rig.wait(f"{name} to ask", lambda: name in rig.keys("pending"))
        rig.saltern("key", "accept", name, "--yes")
        self.keys[name] = read_public((folder / "pki/relay.key").read_text())

    def relay_of(self, minion):
        shown = json.loads(self.rig.saltern("minions", "--out", "json").stdout)
        return {each["minion"]: each["relay"] for each in shown if each["connected"]}.get(minion)


@pytest.fixture
def site():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    out = folder / "out"
    tree = {
        "states/top.sls": "base:\n  '*':\n    - web\n",
        "states/web.sls": f"{out}:\n  file.append:\n    - text: one\n",
    }
    with controller_with_tree(folder, tree) as rig:
        found = RelayedGateway(rig, folder)
        try:
            yield found
        finally:
            found.stock.__exit__(None, None, None)
    shutil.rmtree(folder, ignore_errors=True)


def test_pushes_and_jobs_go_through_relays_and_one_that_is_killed_costs_none(site):
    rig, stock, out = site.rig, site.stock, site.folder / "out"
    stock.start_gateway()
    stock.start_minion(next(iter(VENVS.values())), MINION)
    stock.wait("its key waits", lambda: MINION in rig.keys("pending"))
    assert "gateway1" in rig.keys("pending")
    rig.saltern("key", "accept", "gateway1", "--yes")
    venv = next(iter(VENVS.values()))
    shown = json.loads(stock.call(venv, MINION, "--local", "key.finger"))["local"]
    stock.wait("what the gateway says of its key", lambda: shown in rig.saltern("key", "finger", MINION).stdout)
    rig.saltern("key", "accept", MINION, "--yes")
    stock.wait("what git says", lambda: out.exists() and out.read_text() == "one\n")
    assert site.relay_of(MINION) == "relay1"
    assert "agent" in json.loads(rig.saltern("minions", "--out", "json").stdout)[0]

    counted, gate = out.with_suffix(".count"), out.with_suffix(".gate")
    gate.touch()
    script = f"echo ran >> {counted}; while [ -e {gate} ]; do sleep 0.1; done; echo done"
    rig.saltern("run", MINION, "cmd.run", script, "--async")
    stock.wait("the job to begin", counted.exists)
    rig.kill("relay1", children=True)
    stock.wait("the other relay", lambda: site.relay_of(MINION) == "relay2")
    gate.unlink()
    calls = lambda: [run for run in rig.history(MINION) if run["fun"] == "cmd.run" and run["outcome"]]  # noqa: E731
    stock.wait("the result", calls)
    [job] = calls()
    assert json.loads(rig.saltern("show", job["run_id"], "--out", "json").stdout)["value"] == "done"
    assert counted.read_text() == "ran\n"
    pushed = rig.push("second", {"states/web.sls": ("text: one", "text: two")})
    rig.wait_applied(pushed, [MINION], patience=120)
    assert out.read_text() == "one\ntwo\n"
    [changed] = [line for line in stock.log("gateway").splitlines() if "event=controller_changed" in line]
    assert changed.endswith(f"controller={site.hosts[1]} before={site.hosts[0]}")


def test_a_relay_without_its_key_in_the_configuration_is_told_with_the_next_step(site):
    stock = StockMinions(site.rig, site.folder / "wrong", {"controller": site.hosts[:1]})
    with stock:
        stock.start_gateway()
        stock.wait("it to say so", lambda: "event=controller_unreachable" in stock.log("gateway"), 5)
        [line] = [each for each in stock.log("gateway").splitlines() if "event=controller_unreachable" in each]
        assert "where a relay listens write its key as `relay_key`" in line
        assert str(stock.folder / "gateway") in line
