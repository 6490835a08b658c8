"""Ranges of a real range server as targets, wherever targets are given, and what a server that fails leads to."""

import json
import os
import subprocess
import sys

import pytest
from range_servers import range_service

MINIONS = {"web1": {}, "web2": {}, "db1": {}}
ORCHESTRATION = """
ping:
  salt.function:
    - name: test.arg
    - tgt: '%web'
    - tgt_type: range
"""
REACTOR = "told: {local.test.arg: [{tgt: '%db'}, {tgt_type: range}, {args: [{by: reactor}]}]}\n"


@pytest.fixture
def service():
    with range_service() as one:
        one.ranges = {"%web": ["web1", "web2", "web3"], "%db": ["db1"]}
        yield one


@pytest.fixture
def rig(make_rig, service, tmp_path):
    reactor = tmp_path / "reactor.sls"
    reactor.write_text(REACTOR)
    every = {"function": "test.arg", "target": "%db", "tgt_type": "range", "seconds": 1}
    made = make_rig(
        minions=MINIONS,
        range_server=service.address,
        nodegroups={"front": "R@%web"},
        reactor=[{"asked/*": [str(reactor)]}],
        schedule={"often": every},
    )
    (made.work / "states/orch").mkdir()
    (made.work / "states/orch/ping.sls").write_text(ORCHESTRATION)
    made.wait_applied(made.push("orchestration"))
    return made


def asked(rig, *words, verb="run"):
    done = rig.saltern(verb, *words, "--out", "json", check=False)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return json.loads(done.stdout)


def salt(rig, *words):
    environment = {**os.environ, "SALTERN_CONFIG_DIR": str(rig.config)}
    asking = [sys.executable, "-c", "from saltern.salt_programs.salt import main; main()", *words]
    return subprocess.run(asking, env=environment, capture_output=True, text=True, timeout=100)


def callers(rig):
    return {(run["minion"], run.get("user")) for run in rig.ask("/history", limit=1000) if run["kind"] == "call"}


def test_ranges_are_targets_wherever_targets_are_given(rig):
    both = {"web1": True, "web2": True}
    assert asked(rig, "-R", "%web", "test.ping") == both
    assert asked(rig, "-R", "%web", "--preview-target") == ["web1", "web2"]
    assert asked(rig, "-C", "R@%web and not web2", "test.ping") == {"web1": True}
    assert asked(rig, "-N", "front", "test.ping") == both
    assert [one["minion"] for one in asked(rig, "-R", "%web", verb="status")["minions"]] == ["web1", "web2"]
    assert json.loads(salt(rig, "-R", "%web", "test.ping", "--out", "json", "--static").stdout) == both
    assert asked(rig, "manage.up", "tgt=%web", "tgt_type=range", verb="runner") == ["web1", "web2"]
    [running] = asked(rig, "state.orchestrate", "orch.ping", verb="runner")["data"].values()
    assert [one["comment"] for one in running.values()] == [
        "Function ran successfully. Function test.arg ran on web1, web2."
    ]
    rig.saltern("runner", "event.send", "asked/it")
    rig.wait("the reactor", lambda: ("db1", "Reactor") in callers(rig))
    rig.wait("the schedule", lambda: ("db1", "schedule often") in callers(rig))


def test_a_server_that_fails_reaches_nobody(rig, service):
    def refused(*words):
        done = rig.saltern("run", *words, "test.arg", "never", check=False)
        assert done.returncode not in (0, 64)
        assert "nobody was asked to do anything" in done.stderr
        return done.stderr

    assert "NOCLUSTER: %nope" in refused("-R", "%nope")
    assert "NOCLUSTER: %nope" in refused("-C", "* and not R@%nope")
    service.body = b"<html>\n"
    assert "as a range server does" in refused("-C", "* or R@%web")
    done = salt(rig, "-R", "%web", "test.arg", "never")
    assert done.returncode != 0
    assert "nobody was asked" in done.stderr
    service.shutdown()
    service.server_close()
    assert "cannot be asked" in refused("-R", "%web")
    assert "never" not in json.dumps(rig.ask("/history", limit=1000))
