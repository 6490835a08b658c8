"""What is large or slow on one minion is its own affair: real controller, real agents."""

import json
import os
import signal

import pytest

from wire.limits import MinionLimits

LARGE = "head -c 20000000 /dev/zero | tr '\\0' x"


@pytest.fixture(scope="module")
def rig(make_shared_rig):
    return make_shared_rig(minions={"web1": {}, "web2": {}})


def outcomes(rig, jid):
    return {one["minion"]: one.get("outcome") for one in rig.ask("/job", jid=jid)["minions"]}


def test_a_result_that_is_too_large_is_cut_with_a_mark(rig):
    asked = rig.saltern("run", "*", "cmd.run", LARGE, "--out", "json")
    values = json.loads(asked.stdout)
    assert sorted(values) == ["web1", "web2"]
    for value in values.values():
        assert value.startswith("x" * 1000)
        assert "more cut: the result was too large" in value
        assert len(value) <= MinionLimits().result_message_bytes
    runs = rig.history("web1")
    assert runs[0]["outcome"] == "ok"
    kept = json.loads(rig.saltern("history", runs[0]["run_id"], "--out", "json").stdout)
    assert kept["value"] == values["web1"]
    told = rig.saltern("events", "salt/job/*/ret/web1", "--since", "1h", "-n", "1", "--out", "json")
    assert "return" not in json.loads(told.stdout)["data"], "events have no large values"


def test_a_minion_that_reads_nothing_holds_up_nobody(rig):
    agent = rig.pid("web1")
    os.kill(agent, signal.SIGSTOP)
    asked = rig.saltern("run", "*", "-t", "3", "test.ping", "--summary", check=False)
    assert asked.returncode == 1
    assert "web2:\n    True\n" in asked.stdout
    assert "Minions not responding: web1" in asked.stdout
    jid = rig.ask("/jobs")[0]["jid"]
    for _ in range(3):
        assert json.loads(rig.saltern("run", "web2", "test.ping", "--out", "json").stdout) == {"web2": True}
    os.kill(agent, signal.SIGCONT)
    rig.wait("the result that came late", lambda: outcomes(rig, jid) == {"web1": "ok", "web2": "ok"})
