"""Simulated minions with a real controller."""

import json
import subprocess

import pytest


def connected(rig):
    return [minion for minion, status in rig.status().items() if status["connected"]]


def test_a_swarm_enrols_answers_and_comes_back_after_a_restart(make_rig, swarm, tmp_path):
    rig = make_rig(minions={})
    rig.push("first")
    token = json.loads(rig.saltern("key", "token", "create", "--id", "load-*", "--count", "20", "--out", "json").stdout)
    running = swarm(rig, "--minions", "20", "--id-prefix", "load-", "--token", token["token"], "--fail-percent", "0")
    rig.wait("all to connect", lambda: len(connected(rig)) == 20)
    returned = json.loads(rig.saltern("run", "*", "test.ping", "--out", "json").stdout)
    assert returned == {f"load-{number:02}": True for number in range(1, 21)}
    rig.kill("controller", children=True)
    rig.start_controller()
    rig.wait("all to be back", lambda: len(connected(rig)) == 20)
    returned = json.loads(rig.saltern("run", "load-0*", "test.echo", "again", "--out", "json").stdout)
    assert set(returned.values()) == {"again"}
    running.terminate()
    try:
        assert running.wait(15) == 0
    except subprocess.TimeoutExpired:
        pytest.fail("the swarm does not stop")
    summary = json.loads((tmp_path / "summary").read_text())
    assert (summary["members"], summary["connected"], summary["calls"]) == (20, 20, 29)
    assert summary["reconnections"] == 20
    rig.wait("all to have left", lambda: not connected(rig))
