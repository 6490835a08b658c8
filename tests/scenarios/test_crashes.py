"""kill -9 of the controller or of a minion at points of a push: it converges, and every result counts once."""

import json
import time

import pytest
from effort import steps

KILLS = [
    # who dies, with its children or alone, how many seconds after the push
    ("controller", False, 0.0),
    ("web1", True, 0.0),
    ("controller", True, 0.03),
    ("web1", False, 0.06),
    ("controller", False, 0.08),
    ("web1", True, 0.1),
    ("controller", False, 0.13),
    ("web1", False, 0.15),
    ("controller", True, 0.2),
    ("web1", True, 0.25),
]


def restart(rig, name):
    if name == "controller":
        rig.start_controller()
    else:
        rig.start_minion(name)


@pytest.mark.timeout(1000)
def test_kills(make_rig):
    rig = make_rig()
    rig.wait_applied(rig.push("first"))
    for number, (victim, children, delay) in enumerate(steps(KILLS, 3), 1):
        commit = rig.push(f"push {number}", {"pillar/numbers.sls": (f"number: {number - 1}\n", f"number: {number}\n")})
        time.sleep(delay)
        rig.kill(victim, children=children)
        restart(rig, victim)
        rig.wait_applied(commit, patience=180)
        for minion in rig.minions:
            assert (rig.root(minion) / "app.conf").read_text() == f"number {number}\n"
            told = (rig.root(minion) / "told").read_text().splitlines()
            assert told[-1] == f"number {number}", "whoever waits for the change was told of it"
    # The last push is followed by a check of the whole highstate on each minion, a run of its own.
    rig.wait("all runs to be finished", lambda: {run["state"] for run in rig.history()} == {"finished"})
    runs = rig.history()
    assert len({run["run_id"] for run in runs}) == len(runs)
    assert [run for run in runs if run["outcome"] not in ("changed", "ok")] == []
    for minion in rig.minions:
        rig.wait("results to be acknowledged", lambda minion=minion: not unacknowledged(rig, minion))
        for run in rig.history(minion):
            detail = json.loads(rig.saltern("show", run["run_id"], "--out", "json").stdout)
            assert detail["states"], "a run that is finished has its result"


def unacknowledged(rig, minion):
    return [path for path in (rig.directory / minion).glob("**/outbox/*") if path.is_file()]
