"""A real relay between a controller and three minions: a push, calls, and kill -9 of the relay in the middle."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import pytest
import yaml
from rig import Rig, free_ports

from wire.keys import read_public

TREE = Path(__file__).parent / "tree"
EXAMPLE = Path(__file__).parents[2] / "examples/relay"
MINIONS = ("db1", "web1", "web2")
CALLS = 6


class RelayRig:
    """The rig of three minions, all behind one relay that is configured as in the example."""

    def __init__(self, folder):
        self.rig = Rig(folder, {name: {"roles": [name[:-1]]} for name in MINIONS}, TREE, forked=True)
        (self.port,) = free_ports(1)

    def up(self):
        rig = self.rig
        rig.make_remote()
        rig.start_controller()
        folder = rig.directory / "relay"
        folder.mkdir()
        example = yaml.safe_load((EXAMPLE / "relay.conf").read_text())
        given = {
            "syndic_master": f"127.0.0.1:{rig.wire_ports[1]}",
            "controller_key": rig.controller_key,
            "interface": "127.0.0.1",
            "ret_port": self.port,
            "pki_dir": str(folder / "pki"),
        }
        (folder / "relay").write_text(yaml.safe_dump(example | given))
        self.start()
        rig.wait("the relay to ask", lambda: rig.keys("pending") == ["relay1"])
        rig.saltern("key", "accept", "relay1", "--yes")
        self.key = read_public((folder / "pki/relay.key").read_text())
        rig.configure_minions()
        for name in MINIONS:
            path = rig.directory / name / "minion"
            of_relay = {"master": f"127.0.0.1:{self.port}", "relay_key": self.key}
            example = yaml.safe_load((EXAMPLE / "minion.conf").read_text())
            path.write_text(yaml.safe_dump(example | yaml.safe_load(path.read_text()) | of_relay))
            rig.start_minion(name)
        rig.accept_all()

    def start(self):
        self.rig._start("relay", "relay", "-c", str(self.rig.directory / "relay"))


@pytest.fixture
def relayed():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    made = RelayRig(folder / "1")
    try:
        made.up()
        yield made
    finally:
        made.rig.stop_all()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_push_and_calls_go_through_a_relay_that_is_killed_and_nothing_is_lost(relayed):
    rig = relayed.rig
    rig.wait_applied(rig.push("first"))
    shown = json.loads(rig.saltern("minions", "--out", "json").stdout)
    assert [(each["minion"], each["connected"], each["relay"]) for each in shown] == [
        (name, True, "relay1") for name in MINIONS
    ], "the relay itself is no minion"
    assert "relay1" in rig.saltern("minions").stdout
    assert json.loads(rig.saltern("run", "*", "test.ping", "--static", "--out", "json").stdout) == dict.fromkeys(
        MINIONS, True
    )
    done = rig.directory / "done"
    for number in range(CALLS):
        rig.saltern("run", "*", "cmd.run", f"sleep 1; echo >> {done}.{number}", "--async")
    rig.kill("relay", children=True)
    rig.wait("the minions to be gone", lambda: not any(each["connected"] for each in rig.status().values()))
    relayed.start()

    def ended():
        return [run for run in rig.history() if run["fun"] == "cmd.run" and run["state"] == "finished"]

    rig.wait("all calls to end", lambda: len(ended()) == CALLS * len(MINIONS))
    assert len(rig.history()) == len({run["run_id"] for run in rig.history()})
    assert {run["outcome"] for run in ended()} <= {"ok", "changed"}
    written = [Path(f"{done}.{number}").read_text() for number in range(CALLS)]
    assert written == ["\n" * len(MINIONS)] * CALLS, "each was done once by each"
    rig.wait("all to be back", lambda: all(each["connected"] for each in rig.status().values()))
