"""The Python API against a real controller with real minions: what Salt's clients return, as scripts read it."""

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from rig import Rig

from extmods.salt_compat.exceptions import SaltException
from saltern.client import (
    AuthorizationError,
    Caller,
    EauthAuthenticationError,
    LocalClient,
    RunnerClient,
    SaltClientError,
    SaltInvocationError,
    WheelClient,
    client_config,
    get_event,
    minion_config,
)

ALL = {"web1", "web2", "db1"}


@pytest.fixture(scope="module")
def shared_rig(make_shared_rig) -> Rig:
    """Three minions."""
    return make_shared_rig()


@pytest.fixture
def rig(shared_rig) -> Rig:
    shared_rig.start_stopped()
    return shared_rig


def local_of(rig):
    return LocalClient(str(rig.config / "controller"))


def test_functions_on_minions(rig):
    local = local_of(rig)
    assert local.cmd("*", "test.ping") == dict.fromkeys(ALL, True)
    taken = {"args": ["a", 2], "kwargs": {"b": [1, "x"], "c": None}}
    assert local.cmd("web*", "test.arg", ["a", 2, "b=[1, x]"], kwarg={"c": None}) == {"web1": taken, "web2": taken}
    assert local.cmd(["web1", "db1"], "test.echo", ["12"], tgt_type="list") == {"web1": "12", "db1": "12"}
    assert local.cmd("roles:db", "test.ping", tgt_type="grain") == {"db1": True}
    assert local.cmd("nobody", "test.ping") == {}
    assert local.cmd([], "test.ping", tgt_type="list") == {}

    full = local.cmd("db1", "test.ping", full_return=True)
    assert full == {"db1": {"ret": True, "retcode": 0, "jid": full["db1"]["jid"]}}
    assert local.cmd_full_return("db1", "test.exception")["db1"]["success"] is False
    assert local.cmd("db1", "cmd.run", ["exit 3"], full_return=True)["db1"]["retcode"] == 3
    unknown = local.cmd_full_return("db1", "no.such")["db1"]
    assert unknown["success"] is False
    assert "no.such" in unknown["ret"]

    found = list(local.cmd_iter("*", "test.ping"))
    assert {minion for one in found for minion in one} == ALL
    assert all(one[minion]["ret"] is True for one in found for minion in one)
    came = list(local.cmd_iter_no_block("*", "test.sleep", ["0.3"]))
    assert None in came
    assert {minion for one in came if one for minion in one} == ALL
    assert [*local.cmd_iter("nobody", "test.ping")] == []

    assert len(local.cmd_subset("*", "test.ping", subset=2)) == 2
    assert local.cmd_subset("*", "no.such", subset=2) == {}
    batched = list(local.cmd_batch("*", "test.ping", batch="34%"))
    assert {minion: value for one in batched for minion, value in one.items()} == dict.fromkeys(ALL, True)
    stopped = list(local.cmd_batch("*", "test.exception", batch=1, failhard=True))
    assert len(stopped) == 1


def test_jobs_that_are_not_waited_for_are_found_by_their_ids(rig):
    local = local_of(rig)
    jid = local.cmd_async("web*", "test.sleep", [1])
    assert len(jid) == 20
    assert local.get_full_returns(jid, ["web1", "web2"], timeout=30) == {
        name: {"ret": True, "retcode": 0, "jid": jid} for name in ("web1", "web2")
    }
    assert local.get_cache_returns(jid)["web2"]["ret"] is True
    assert local.get_returns(jid, ["web1", "web2"]) == {"web1": True, "web2": True}
    begun = local.run_job("*", "test.ping")
    assert set(begun["minions"]) == ALL
    assert local.run_job("nobody", "test.ping") == {}
    assert local.cmd_async("nobody", "test.ping") == 0
    assert set(local.gather_minions("*", "glob")) == ALL


def test_a_minion_that_is_away_is_said_to_be(rig):
    rig.stop("db1")
    rig.wait("it to be gone", lambda: not rig.status()["db1"]["connected"])
    local = local_of(rig)
    found = local.cmd("*", "test.ping", timeout=1)
    assert found == {"web1": True, "web2": True, "db1": "Minion did not return. [Not connected]"}
    assert {minion for one in local.cmd_iter("*", "test.ping") for minion in one} == {"web1", "web2"}
    failed = [one for one in local.cmd_iter("*", "test.ping", expect_minions=True) if "db1" in one]
    assert failed == [{"db1": {"failed": True}}]


def test_one_that_goes_away_in_mid_job_is_given_up_after_the_timeout(rig):
    local = local_of(rig)
    returns = local.cmd_iter("*", "test.sleep", [60], timeout=0.5, expect_minions=True, yield_pub_data=True)
    assert set(next(returns)["minions"]) == ALL
    for name in ALL:
        rig.kill(name, children=True)
    assert {minion for one in returns for minion in one} == ALL


def test_what_cannot_be_meant_is_an_error(rig):
    local = local_of(rig)
    with pytest.raises(SaltInvocationError, match="there is no kind of target 'regex'"):
        local.cmd("a", "test.ping", tgt_type="regex")
    with pytest.raises(SaltInvocationError, match="a range needs a range server, and none is configured"):
        local.cmd("a", "test.ping", tgt_type="range")
    with pytest.raises(SaltInvocationError, match="there is no argument cwd; arguments of the function stand in kwarg"):
        local.cmd("*", "cmd.run", ["ls"], cwd="/")
    with pytest.raises(SaltInvocationError, match="the controller gives a job its id"):
        local.cmd("*", "test.ping", jid="20261122000000000000")
    with pytest.raises(SaltInvocationError, match="cannot be read"):
        local.cmd("( web*", "test.ping", tgt_type="compound")
    rig.stop("controller")
    with pytest.raises(SaltClientError, match="no controller answers"):
        local.cmd("*", "test.ping")


def test_runners_and_wheels(rig, capsys):
    opts = client_config(str(rig.config / "controller"))
    assert opts["ret_port"] == rig.wire_ports[1]
    runner, wheel = RunnerClient(opts), WheelClient(opts)
    assert runner.cmd("test.arg", ["a", "b=2"], kwarg={"c": 3}) == {"args": ["a"], "kwargs": {"b": 2, "c": 3}}
    assert sorted(runner.cmd("manage.up", [])) == sorted(ALL)
    full = runner.cmd("test.arg", ["a"], full_return=True)
    assert (full["fun"], full["success"], full["return"]) == ("runner.test.arg", True, {"args": ["a"], "kwargs": {}})
    assert runner.cmd_sync({"fun": "test.arg", "arg": ["x"], "y": 1}) == {"args": ["x"], "kwargs": {"y": 1}}
    assert wheel.cmd("key.list_all")["minions"] == sorted(ALL)
    assert wheel.call_func("key.finger", match="web1")["minions"].keys() == {"web1"}
    begun = runner.asynchronous("test.sleep", {"arg": [0.1]})
    assert begun["tag"] == f"salt/run/{begun['jid']}"
    assert wheel.cmd_async({"fun": "key.list_all"})["tag"].startswith("salt/wheel/")
    assert "no.such" in runner.cmd("no.such")
    with pytest.raises(SaltClientError, match=r"did not end within 0\.1 s"):
        runner.cmd_sync({"fun": "test.sleep", "arg": [5]}, timeout=0.1)
    runner.cmd("test.stdout_print")
    assert "foo" in capsys.readouterr().out
    runner.cmd("test.stdout_print", print_event=False)
    assert capsys.readouterr().out == ""


def test_who_asks_may_do_what_the_rules_say(make_rig, monkeypatch):
    rig = make_rig(minions={"web1": {}}, publisher_acl={"alice": ["test.*", {"@runner": ["manage.*"]}]})
    monkeypatch.delenv("SALTERN_TOKEN", raising=False)
    opts = client_config(str(rig.config))
    token = json.loads(rig.saltern("token", "create", "alice", "--expires", "1h", "--out", "json").stdout)["token"]
    local = LocalClient(mopts=opts)
    assert local.cmd("*", "test.ping", token=token) == {"web1": True}
    with pytest.raises(AuthorizationError, match="alice"):
        local.cmd("*", "cmd.run", ["id"], token=token)
    alice = LocalClient(mopts={**opts, "token": token})
    assert [*alice.cmd_batch("*", "test.ping")] == [{"web1": True}]
    with pytest.raises(AuthorizationError):
        alice.cmd_async("*", "cmd.run", ["id"])
    assert RunnerClient(opts).cmd_sync({"fun": "manage.up", "token": token}) == ["web1"]
    with pytest.raises(AuthorizationError):
        WheelClient({**opts, "token": token}).cmd("key.list_all")
    with pytest.raises(SaltException):
        local.cmd("*", "test.ping", token="no-such-token")
    with pytest.raises(EauthAuthenticationError):
        local.cmd("*", "test.ping", username="alice", password="wrong", eauth="pam")


def test_events_are_read_and_sent(rig):
    opts = client_config(str(rig.config))
    with get_event("master", sock_dir=opts["sock_dir"], opts=opts) as events:
        assert events.fire_event({"data": "one"}, "my/tag/1")
        assert events.fire_event({"data": "two"}, "my/tag/2")
        first = events.get_event(wait=10, tag="my/tag")
        assert first["data"] == "one"
        assert first["_stamp"][:2] == "20"
        second = events.get_event(wait=10, tag="my/*/2", match_type="fnmatch", full=True)
        assert (second["tag"], second["data"]["data"]) == ("my/tag/2", "two")
        assert events.get_event(wait=0.2, tag="my/tag") is None
        assert events.get_event(no_block=True, tag="nothing") is None
        jid = LocalClient(mopts=opts).cmd_async("web1", "test.echo", ["hello"])
        returned = events.get_event(wait=30, tag=f"salt/job/{jid}/ret", full=True)
        assert returned["tag"] == f"salt/job/{jid}/ret/web1"
        assert (returned["data"]["return"], returned["data"]["fun"]) == ("hello", "test.echo")

        fired = threading.Thread(target=lambda: events.fire_event({}, "my/third"))
        fired.start()
        assert next(events.iter_events(tag="my/third", full=True))["tag"] == "my/third"
        fired.join()
        assert events.dropped == 0
        rig.stop("controller")
        with pytest.raises(SaltClientError):
            events.get_event(wait=10, tag="after/the/stop")
    with pytest.raises(ValueError, match="none of a minion"):
        get_event("minion", opts=opts)


def test_functions_of_this_machine(rig):
    folder = rig.directory / "web1"
    opts = minion_config(str(folder / "minion"))
    assert opts["id"] == "web1"
    caller = Caller(str(folder / "minion"))
    assert caller.cmd("test.ping") is True
    assert caller.cmd("test.arg", "Foo", "a=b", baz=[1]) == {"args": ["Foo", "a=b"], "kwargs": {"baz": [1]}}
    assert caller.function("test.arg", "a=b") == {"args": [], "kwargs": {"a": "b"}}
    assert caller.cmd("grains.get", "roles") == ["web"]
    assert caller.sminion.functions["test.echo"]("x") == "x"
    assert "cmd.run" in caller.sminion.functions
    with pytest.raises(KeyError, match=r"no\.such"):
        caller.cmd("no.such")
    with get_event(opts=client_config(str(rig.config))) as events:
        assert Caller(mopts=opts).cmd("event.send", "myco/event/success", {"success": True, "message": "It works!"})
        sent = events.get_event(wait=30, tag="myco/")
    assert sent["data"]["message"] == "It works!"


def test_the_programs_of_the_page_run(rig):
    page = (Path(__file__).parents[2] / "docs" / "python-api.md").read_text()
    programs = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (rig.config / "minion").write_text((rig.directory / "web1" / "minion").read_text())
    environment = {**os.environ, "SALTERN_CONFIG_DIR": str(rig.config)}
    said = []
    for program in programs:
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    on_minions, of_controller, events, here = said
    assert "{'web1': True, 'web2': True}" in on_minions.replace(
        "{'web2': True, 'web1': True}", "{'web1': True, 'web2': True}"
    )
    assert "{'db1': {'args': ['a'], 'kwargs': {'b': 2, 'c': 3}}}" in on_minions
    assert "'minions': ['db1', 'web1', 'web2']" in of_controller
    assert "salt/run/20" in of_controller
    assert "'tag': 'deploy/started'" in events
    assert "{'args': ['Foo', 'Bar'], 'kwargs': {'baz': 'Baz'}}" in here
