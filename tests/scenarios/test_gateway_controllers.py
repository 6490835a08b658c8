"""A gateway with several controllers of one database: kill -9 of one costs no job, and nothing is done twice."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from cluster import Cluster
from rig import SALTERN
from stock_minions import StockMinions, salt_venvs

VENVS = salt_venvs()
pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not VENVS, reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
]
MINION = "web1"
ALIVE_SECONDS = 2
WEB = """
{out}.marker:
  file.managed:
    - contents: one

told:
  cmd.run:
    - name: cat {out}.marker >> {out}; while [ -e {out}.gate ]; do sleep 0.1; done
    - onchanges:
      - file: {out}.marker
"""


class Site:
    """Two controllers, a gateway that has both in its list, and a stock minion."""

    def __init__(self, folder: Path) -> None:
        self.out = folder / "out"
        self.stock = None
        self.cluster = Cluster(folder, 2, {})
        self.first, self.second = self.cluster.rigs
        tree = folder / "tree"
        for path, text in {
            "states/top.sls": "base:\n  '*':\n    - web\n",
            "states/web.sls": WEB.format(out=self.out),
        }.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text)
        self.first._tree = tree

    def up(self):
        self.cluster.up()
        self.cluster.start_waiting(1)
        head = self.first.push("first")
        folder = self.out.parent
        self.metrics = folder / "gateway.prom"
        self.stock = StockMinions(
            self.first,
            folder / "stock",
            {
                "controller": list(self.cluster.hosts),
                "metrics_textfile": str(self.metrics),
                "master_alive_interval": ALIVE_SECONDS,
            },
            log_level="info",
        )
        self.stock.start_gateway()
        self.stock.start_minion(next(iter(VENVS.values())), MINION)
        self.stock.wait("its key waits", lambda: MINION in self.first.keys("pending"))
        self.first.saltern("key", "accept", MINION)
        self.first.wait_applied(head, [MINION], patience=120)

    def used(self):
        """The controller that the metrics name."""
        lines = self.metrics.read_text().splitlines() if self.metrics.exists() else []
        found = [line for line in lines if line.startswith("saltern_gateway_controller_used{")]
        assert [line.split('"')[1] for line in found] in ([], [*self.cluster.hosts])
        return [line.split('"')[1] for line in found if line.endswith(" 1.0")]

    def doctor(self):
        words = ["doctor", "--gateway", "--out", "json", "-c", self.stock.folder]
        said = subprocess.run([*SALTERN, *words], capture_output=True, text=True, check=False)
        return {each["check"]: each["text"] for each in json.loads(said.stdout)}["controller used"]

    def close(self):
        if self.stock is not None:
            self.stock.__exit__(None, None, None)
        self.cluster.stop()


@pytest.fixture
def site():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    found = Site(folder)
    try:
        found.up()
        yield found
    finally:
        found.close()
        shutil.rmtree(folder, ignore_errors=True)


def runs_of(rig, kind):
    return [run for run in rig.history(MINION) if run["kind"] == kind]


@pytest.mark.timeout(400)
def test_a_killed_controller_costs_no_job_and_no_push(site):
    """One job and one push go on while the controller that the gateway speaks to is killed."""
    first, second, stock, out = site.first, site.second, site.stock, site.out
    assert out.read_text() == "one\n"
    one, two = site.cluster.hosts
    stock.wait("the metrics to name it", lambda: site.used() == [one])
    assert site.doctor() == f"the gateway speaks to {one}"

    counted, gate = out.with_suffix(".count"), out.with_suffix(".gate")
    gate.touch()
    pushed = first.push("second", {"states/web.sls": ("contents: one", "contents: two")})
    stock.wait("the push to run", lambda: out.read_text() == "one\ntwo\n")
    script = f"echo ran >> {counted}; while [ -e {gate} ]; do sleep 0.1; done; echo done"
    first.saltern("run", MINION, "cmd.run", script, "--async")
    stock.wait("the job to begin", counted.exists)

    first.kill("controller", children=True)
    site.cluster.wait_leader(1)
    stock.wait("the metrics to name the other", lambda: site.used() == [two])
    assert site.doctor() == f"the gateway speaks to {two}"
    stock.wait("the minion to be connected", lambda: second.status()[MINION]["connected"])
    assert second.saltern("run", MINION, "test.ping").stdout.split()[-1] == "True"
    gate.unlink()
    second.wait_applied(pushed, [MINION], patience=120)
    stock.wait(
        "the result of the job", lambda: any(run["outcome"] == "ok" and run["args"] for run in runs_of(second, "call"))
    )
    [job] = [run for run in runs_of(second, "call") if script[:20] in str(run)]
    assert json.loads(second.saltern("show", job["run_id"], "--out", "json").stdout)["value"] == "done"
    assert counted.read_text() == "ran\n"
    assert out.read_text() == "one\ntwo\n", "the push ran once"
    assert len(runs_of(second, "apply")) == 2

    third = first.push("third", {"states/web.sls": ("contents: two", "contents: three")})
    second.wait_applied(third, [MINION], patience=120)
    assert out.read_text() == "one\ntwo\nthree\n"

    first.start_controller()  # it waits now, and passes on
    second.kill("controller", children=True)
    site.cluster.wait_leader(0)
    stock.wait("the metrics to name the first again", lambda: site.used() == [one])
    fourth = first.push("fourth", {"states/web.sls": ("contents: three", "contents: four")})
    first.wait_applied(fourth, [MINION], patience=120)
    assert out.read_text() == "one\ntwo\nthree\nfour\n"
    changes = [line for line in stock.log("gateway").splitlines() if "event=controller_changed" in line]
    assert [line.partition("controller=")[2] for line in changes] == [f"{two} before={one}", f"{one} before={two}"]


@pytest.mark.timeout(400)
def test_a_frozen_controller_is_left_and_does_nothing_when_it_wakes(site):
    """A job and a push go on meanwhile; their results, and what the gateway had for the frozen one, count once."""
    first, second, stock, out = site.first, site.second, site.stock, site.out
    one, two = site.cluster.hosts
    stock.wait("the metrics to name it", lambda: site.used() == [one])
    counted, gate = out.with_suffix(".count"), out.with_suffix(".gate")
    gate.touch()
    pushed = first.push("second", {"states/web.sls": ("contents: one", "contents: two")})
    stock.wait("the push to run", lambda: out.read_text() == "one\ntwo\n")
    script = f"echo ran >> {counted}; while [ -e {gate} ]; do sleep 0.1; done; echo done"
    first.saltern("run", MINION, "cmd.run", script, "--async")
    stock.wait("the job to begin", counted.exists)

    frozen = first.pid("controller")
    os.kill(frozen, signal.SIGSTOP)
    try:
        gate.unlink()  # both end while no controller takes their results
        site.cluster.wait_leader(1)
        stock.wait("the metrics to name the other", lambda: site.used() == [two])
        second.wait_applied(pushed, [MINION], patience=120)
        stock.wait("the result of the job", lambda: [each["outcome"] for each in jobs(second, script)] == ["ok"])
        third = first.push("third", {"states/web.sls": ("contents: two", "contents: three")})
        second.wait_applied(third, [MINION], patience=120)
    finally:
        os.kill(frozen, signal.SIGCONT)
    assert first.exit_code("controller", 60) == 1
    assert "another controller leads now" in first.log("controller", 2000)

    fourth = first.push("fourth", {"states/web.sls": ("contents: three", "contents: four")})
    second.wait_applied(fourth, [MINION], patience=120)
    [job] = jobs(second, script)
    assert json.loads(second.saltern("show", job["run_id"], "--out", "json").stdout)["value"] == "done"
    assert counted.read_text() == "ran\n"
    assert out.read_text() == "one\ntwo\nthree\nfour\n", "each push ran once"
    assert [run["outcome"] for run in runs_of(second, "apply")] == ["changed"] * 4
    assert site.used() == [two]


def jobs(rig, script):
    return [run for run in runs_of(rig, "call") if script[:20] in str(run)]
