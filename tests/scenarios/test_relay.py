"""A real relay between a controller and three minions: a push, calls, and kill -9 of the relay in the middle."""

from __future__ import annotations

import json
from pathlib import Path

from relayed_rig import MINIONS

CALLS = 6


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
