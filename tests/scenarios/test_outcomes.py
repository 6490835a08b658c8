"""A job ends for each of its minions in exactly one of eight outcomes, and says why: real controller, real agents."""

import json
import os
import signal
from pathlib import Path
from typing import get_args

import httpx
import pytest

from controller.schema.jobs import JobOutcome

STATES = """\
{% if grains.role == 'broken' %}
{{ nothing.there }}
{% endif %}
one:
  test.{{ {'same': 'nop', 'other': 'succeed_with_changes', 'bad': 'fail_without_changes'}[grains.role] }}: []
"""
SLOW = """\
slow:
  cmd.run:
    - name: echo $$ > {{ grains.root }}/slow.pid; exec sleep 600
"""
ROLES = ("same", "other", "bad", "broken", "away")


@pytest.fixture(scope="module")
def shared_rig(make_shared_rig):
    rig = make_shared_rig(minions={role: {"role": role} for role in ROLES})
    (rig.work / "states/outcome.sls").write_text(STATES)
    (rig.work / "states/slow.sls").write_text(SLOW)
    rig.wait_applied(rig.push("outcomes"))
    return rig


@pytest.fixture
def rig(shared_rig):
    shared_rig.start_stopped()
    return shared_rig


def asked(rig, *words):
    """The job of a call that fails."""
    rig.saltern("run", *words, check=False)
    return last(rig)


def last(rig):
    return json.loads(rig.saltern("jobs", "last", "--out", "json", check=False).stdout)


def shown(rig, jid):
    return json.loads(rig.saltern("jobs", "show", jid, "--out", "json", check=False).stdout)


def outcomes(job):
    return {one["minion"]: one["outcome"] for one in job["minions"]}


def returns_of(rig, jid, minion):
    """The events of its return: one, however often the result came."""
    transport = httpx.HTTPTransport(uds=str(rig.socket))
    with httpx.Client(transport=transport, base_url="http://controller/api/v1", timeout=30) as client:
        query = {"tag": f"salt/job/{jid}/ret/{minion}", "since": "3600", "follow": "false"}
        lines = client.get("/events", params=query).text.splitlines()
    return [event for event in map(json.loads, lines) if "data" in event]


def begun(rig, minion, *words):
    """The id of a job that goes on, on a minion."""
    jid = json.loads(rig.saltern("run", minion, *words, "--async", "--out", "json").stdout)["jid"]
    rig.wait("the job to begin", lambda: shown(rig, jid)["minions"][0]["state"] == "started")
    return jid


def test_each_of_the_eight_outcomes(rig):
    rig.stop("away")
    rig.wait("it to be gone", lambda: not rig.status()["away"]["connected"])
    together = asked(rig, "*", "state.apply", "outcome")
    assert outcomes(together) == {
        "same": "ok",
        "other": "changed",
        "bad": "failed",
        "broken": "compile error",
        "away": "unreachable",
    }
    assert together["job"]["outcomes"] == dict.fromkeys(outcomes(together).values(), 1)
    assert together["job"]["finished"] is not None
    why = {one["minion"]: one["summary"] for one in together["minions"]}
    assert why["away"] == "was not connected: never asked"
    assert "nothing" in why["broken"]

    jid = together["job"]["jid"]

    def some(*words):
        shown = rig.saltern("jobs", "show", jid, *words, "--out", "json", check=False)
        assert shown.returncode == 1
        return [one["minion"] for one in json.loads(shown.stdout)["minions"]]

    assert some("--missing") == ["away"]
    assert some("--outcome", "failed", "--outcome", "compile error") == ["bad", "broken"]

    late = asked(rig, "same", "--limit", "0.5", "cmd.run", "sleep 600")
    assert outcomes(late) == {"same": "timed out"}
    assert late["minions"][0]["summary"] == "timed out after 0.5 s"

    slow = begun(rig, "same", "state.apply", "slow")
    second = asked(rig, "same", "state.apply", "outcome")
    assert outcomes(second) == {"same": "refused"}
    assert second["minions"][0]["summary"].startswith('The function "state.apply" is running as PID ')
    written = rig.root("same") / "slow.pid"
    command = Path("/proc", rig.wait("its command", lambda: written.exists() and written.read_text().strip()))
    assert command.exists()
    rig.saltern("jobs", "kill", slow)
    rig.wait("the end", lambda: outcomes(shown(rig, slow)) == {"same": "cancelled"})
    rig.wait("the end of its command", lambda: not command.exists())
    assert shown(rig, slow)["minions"][0]["summary"] == "the run was ended by saltutil.kill_job"

    seen = [*outcomes(together).values(), "timed out", "refused", "cancelled"]
    assert sorted(seen) == sorted(get_args(JobOutcome))


def test_a_job_that_is_asked_to_end_is_cancelled(rig):
    jid = begun(rig, "same", "cmd.run", "sleep 600")
    assert "sent to job" in rig.saltern("run", "same", "saltutil.term_job", jid).stdout
    rig.wait("its end", lambda: outcomes(shown(rig, jid)) == {"same": "cancelled"})
    assert "ended by SIGTERM" in shown(rig, jid)["minions"][0]["summary"]


def descendants(pid):
    lists = Path("/proc", str(pid), "task").glob("*/children")  # of each thread its own
    children = [int(word) for listed in lists for word in listed.read_text().split()]
    return children + [one for child in children for one in descendants(child)]


def test_a_job_is_cancelled_before_its_states_are_compiled(rig):
    asked(rig, "same", "state.apply", "outcome")  # there are workers that compile now
    workers = descendants(rig.pid("controller"))
    assert workers
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    begun = rig.saltern("run", "same", "state.apply", "slow", "--async", "--out", "json")
    jid = json.loads(begun.stdout)["jid"]
    assert outcomes(shown(rig, jid)) == {"same": None}
    assert rig.saltern("jobs", "kill", jid).stdout == "same: asked to end it\n"
    for pid in workers:
        os.kill(pid, signal.SIGCONT)
    assert outcomes(shown(rig, jid)) == {"same": "cancelled"}
    assert "before its states were compiled" in shown(rig, jid)["minions"][0]["summary"]
    assert outcomes(asked(rig, "same", "state.apply", "outcome")) == {"same": "ok"}
    assert shown(rig, jid)["minions"][0]["started"] is None


def test_a_minion_that_comes_back_takes_the_place_of_unreachable(rig):
    jid = begun(rig, "same", "cmd.run", f"while [ ! -e {rig.directory}/go ]; do sleep 0.1; done; echo done")
    rig.kill("same", children=False)
    rig.wait("it to be gone", lambda: not rig.status()["same"]["connected"])
    assert outcomes(shown(rig, jid)) == {"same": "unreachable"}
    assert shown(rig, jid)["minions"][0]["summary"] == "has not returned, and is not connected now"
    (rig.directory / "go").touch()
    rig.start_minion("same")
    rig.wait("the result", lambda: outcomes(shown(rig, jid)) == {"same": "ok"})
    (returned,) = returns_of(rig, jid, "same")
    assert returned["data"]["return"] == "done"


def test_a_call_that_was_lost_on_its_way_is_unreachable(rig):
    agent = rig.pid("same")
    os.kill(agent, signal.SIGSTOP)  # it is connected, and reads nothing
    jid = json.loads(rig.saltern("run", "same", "cmd.run", "sleep 600", "--async", "--out", "json").stdout)["jid"]
    assert outcomes(shown(rig, jid)) == {"same": None}
    rig.kill("same", children=True)
    rig.start_minion("same")
    never = "it never came to the minion"
    rig.wait("the word of the minion", lambda: shown(rig, jid)["minions"][0]["summary"].startswith(never))
    assert outcomes(shown(rig, jid)) == {"same": "unreachable"}
    assert len(returns_of(rig, jid, "same")) == 1


def test_an_agent_that_is_frozen_counts_as_gone_by_missing_signs_of_life(make_rig):
    """Its kernel goes on to answer TCP, so that only the minion's own silence tells."""
    rig = make_rig(minions={"same": {"role": "same"}}, alive_interval=1, minion_timeout=4)
    agent = rig.pid("same")
    jid = begun(rig, "same", "cmd.run", "sleep 600")
    os.kill(agent, signal.SIGSTOP)
    rig.wait("it to be gone", lambda: not rig.status()["same"]["connected"])
    assert outcomes(shown(rig, jid)) == {"same": "unreachable"}
    os.kill(agent, signal.SIGCONT)
    rig.wait("it to be back", lambda: rig.status()["same"]["connected"])
    rig.wait("the job to go on", lambda: outcomes(shown(rig, jid)) == {"same": None})
    rig.saltern("jobs", "kill", jid)
    rig.wait("the end", lambda: outcomes(shown(rig, jid)) == {"same": "cancelled"})
