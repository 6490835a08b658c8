"""A job is told once, with all whom it means; those who are not asked are told, too: real controller, real agents."""

from __future__ import annotations

import json

import httpx
import pytest


@pytest.fixture
def rig(make_rig):
    return make_rig(minions={"web1": {}, "web2": {}, "web3": {}})


def events(rig, tag):
    transport = httpx.HTTPTransport(uds=str(rig.socket))
    with httpx.Client(transport=transport, base_url="http://controller/api/v1", timeout=30) as client:
        lines = client.get("/events", params={"tag": tag, "since": "3600", "follow": "false"}).text.splitlines()
    return [event for event in map(json.loads, lines) if "data" in event]


def last(rig):
    return json.loads(rig.saltern("jobs", "last", "--out", "json", check=False).stdout)


def job(rig, jid):
    return json.loads(rig.saltern("jobs", "show", jid, "--out", "json", check=False).stdout)


def outcomes(found):
    return {one["minion"]: one["outcome"] for one in found["minions"]}


def test_one_event_begins_a_job_and_its_returns_have_its_id(rig):
    rig.stop("web3")
    rig.wait("web3 to be gone", lambda: not rig.status()["web3"]["connected"])
    metadata = "{ticket: OPS-7, tries: 2}"
    rig.saltern("run", "web*", "test.arg", "1", "x=2", "--metadata", metadata, check=False)
    found = last(rig)
    jid = found["job"]["jid"]
    assert found["job"]["metadata"] == {"ticket": "OPS-7", "tries": 2}
    assert (found["job"]["target"], found["job"]["target_type"]) == ("web*", "glob")
    shown = rig.saltern("jobs", "show", jid, check=False).stdout
    assert "for web* (glob)" in shown
    assert "metadata: ticket=OPS-7, tries=2" in shown

    (new,) = events(rig, f"salt/job/{jid}/new")
    assert new["data"]["minions"] == ["web1", "web2", "web3"]
    assert new["data"]["missing"] == ["web3"]
    assert (new["data"]["tgt"], new["data"]["tgt_type"]) == ("web*", "glob")
    assert new["data"]["arg"] == [1, {"__kwarg__": True, "x": 2}]
    assert new["data"]["metadata"]["ticket"] == "OPS-7"
    assert [event["tag"] for event in events(rig, "salt/job/*/new") if event["data"]["fun"] == "test.arg"] == [
        new["tag"]
    ]
    returned = rig.wait("the returns", lambda: len(found := events(rig, f"salt/job/{jid}/ret/*")) == 2 and found)
    assert {event["data"]["id"] for event in returned} == {"web1", "web2"}
    for event in returned:
        assert event["data"]["jid"] == jid
        assert event["data"]["metadata"] == {"ticket": "OPS-7", "tries": 2}
        assert event["cause"] == new["id"]

    def listed(**wanted):
        said = rig.saltern("runner", "jobs.list_jobs", f"search_metadata={json.dumps(wanted)}", "--out", "json")
        return json.loads(said.stdout)

    assert listed(ticket="OPS-7", other=1)[jid]["Target"] == "web*"
    assert listed(ticket="OPS-8") == {}


def test_metadata_that_are_no_mapping_or_too_large_are_refused(rig):
    none = rig.saltern("run", "*", "test.ping", "--metadata", "five", check=False)
    assert none.returncode == 64
    assert "--metadata is a mapping" in none.stderr
    large = rig.saltern("run", "*", "test.ping", "--metadata", json.dumps({"a": "x" * 20_000}), check=False)
    assert large.returncode != 0
    assert "the metadata have" in large.stderr
    assert events(rig, "salt/job/*/new") == []


def test_a_batch_says_who_waits_and_who_was_never_asked(rig):
    begun = rig.saltern("run", "*", "cmd.run", "sleep 600", "-b", "1", "--async", "--out", "json").stdout
    jid = json.loads(begun)["jid"]
    rig.wait("the first to begin", lambda: job(rig, jid)["minions"][0]["state"] == "started")
    found = job(rig, jid)
    assert outcomes(found) == dict.fromkeys(("web1", "web2", "web3"))
    assert [one["summary"] for one in found["minions"][1:]] == ["waits for its turn"] * 2
    assert (found["job"]["running"], found["job"]["finished"]) == (3, None)
    assert "waiting" in rig.saltern("jobs", "show", jid).stdout
    assert [one["jid"] for one in json.loads(rig.saltern("jobs", "active", "--out", "json").stdout)] == [jid]
    (new,) = events(rig, f"salt/job/{jid}/new")
    assert new["data"]["minions"] == ["web1", "web2", "web3"]

    rig.kill("controller", children=False)
    rig.start_controller()
    rig.wait("the first to connect", lambda: outcomes(job(rig, jid))["web1"] is None)
    assert outcomes(job(rig, jid)) == {"web1": None, "web2": "cancelled", "web3": "cancelled"}
    assert rig.saltern("jobs", "kill", jid).stdout == "web1: asked to end it\n"
    rig.wait("its end", lambda: outcomes(job(rig, jid)) == dict.fromkeys(("web1", "web2", "web3"), "cancelled"))
    assert job(rig, jid)["minions"][1]["summary"].startswith("never asked")
    assert job(rig, jid)["job"]["finished"] is not None


def test_a_batch_that_failed_asks_nobody_more(rig):
    rig.saltern("run", "*", "cmd.run", "exit 3", "-b", "1", "--failhard", check=False)
    assert outcomes(last(rig)) == {"web1": "failed", "web2": "cancelled", "web3": "cancelled"}
    assert last(rig)["job"]["outcomes"] == {"failed": 1, "cancelled": 2}
