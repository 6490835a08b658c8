"""The controller of a minion is killed in the middle of a job, which goes on while the minion is at the next one."""

import shutil
import tempfile
import time
from pathlib import Path

import pytest
from controller_pair import Pair
from effort import steps
from ledger import Ledger, add_module

MOMENTS = (0.0, 0.05, 0.2, 0.5, 1.0, 1.4, 1.6, 2.0)
"""Seconds from the beginning of a job that takes 1.5, until its controller is killed."""


@pytest.fixture
def pair():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    made = Pair(folder)
    made.up()
    yield made
    made.first.stop_all()
    made.second.stop_all()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.timeout(600)
def test_failover_in_mid_job(pair):
    first, second = pair.first, pair.second
    first.accept_all()
    add_module(first)
    commit = first.push("first")
    first.wait_applied(commit)
    second.saltern("key", "add", "web1", _public_key(first), check=True)
    asked, elsewhere = [], []
    of_first, of_second = Ledger(first), Ledger(second, {"web1": first})
    for moment in steps(MOMENTS, 2):
        asked.append(of_first.ask(seconds=1.5))
        time.sleep(moment)
        first.kill("controller", children=True)
        pair.wait_connected(second)
        second.wait_applied(commit, ["web1"])
        elsewhere.append(of_second.ask(seconds=0.2, prefix="elsewhere"))
        first.start_controller()
        pair.wait_connected(first)
        second.wait("web1 to have left", lambda: not pair.connected(second))
    found = of_first.reconcile_all(asked, told=False)
    assert found == {"ok": len(asked)}, "each result came to the controller that asked, when the minion was back there"

    first.kill("controller", children=True)
    pair.wait_connected(second)
    assert of_second.reconcile_all(elsewhere) == {"ok": len(elsewhere)}
    assert not [run for run in second.history("web1") if run["args"].startswith("job")], "it knows no job of the other"


def _public_key(rig):
    return next(key["public_key"] for key in rig.ask("/keys") if key["minion"] == "web1")
