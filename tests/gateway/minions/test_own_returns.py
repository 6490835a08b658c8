"""Returns that nobody asked for: which are told, as what, and which are not. Loads are those of salt-minion 3008.1."""

import pytest

from gateway.minions.own_returns import OwnReturns

NONCE = "0123456789abcdef" * 2
STATE = {"result": True, "changes": {"a": 1}, "comment": "", "duration": 1500.0, "__id__": "x", "__sls__": "web"}
TAG = "test_|-x_|-x_|-succeed_with_changes"


def told(**load):
    return told_by(OwnReturns("web1"), **load)


def told_by(returns, **load):
    usual = {"id": "web1", "retcode": 0, "success": True, "jid": "req", "nonce": NONCE}
    return returns.result({**usual, **load}, 1000.0)


def test_a_job_of_the_schedule():
    found = told(
        schedule="nightly", fun="test.arg", fun_args=["a", {"word": "b"}], metadata={"why": "x"}, **{"return": "said"}
    )
    assert (found.run_id, found.schedule, found.metadata) == (f"scheduled-web1-{NONCE}", "nightly", {"why": "x"})
    assert (found.fun, found.args, found.kwargs) == ("test.arg", ("a",), {"word": "b"})
    assert (found.kind, found.outcome, found.value, found.started) == ("call", "ok", "said", 1000.0)


def test_a_job_with_a_returner_has_an_id_of_its_own():
    assert told(schedule="j", jid="20261128123000123456").run_id == "scheduled-web1-20261128123000123456"
    assert told(schedule="j", jid="../../x").run_id == f"scheduled-web1-{NONCE}"


def test_what_somebody_called_on_the_minion():
    found = told(fun="state.apply", fun_args=["web", "test=True", "a=b=c"], **{"return": {TAG: STATE}})
    assert (found.run_id, found.schedule) == (f"called-web1-{NONCE}", "")
    assert (found.args, found.kwargs) == (("web",), {"test": True, "a": "b=c"})
    assert (found.outcome, found.seconds, found.started) == ("changed", 1.5, 998.5)


@pytest.mark.parametrize("more", [{}, {"schedule": "nightly"}])
def test_what_its_states_have_told_before_has_their_id(more):
    load = {"id": "web1", "retcode": 0, "jid": "req", "nonce": NONCE, "fun": "state.apply", "return": {TAG: STATE}}
    found = OwnReturns("web1").result({**load, **more}, 1000.0, "called-web1-20261128123000999999")
    assert (found.run_id, found.schedule) == ("called-web1-20261128123000999999", more.get("schedule", ""))


@pytest.mark.parametrize(
    ("load", "outcome"),
    [
        ({"return": {TAG: {**STATE, "result": False}}}, "failed"),
        ({"return": {TAG: STATE}, "retcode": 2}, "changed"),
        ({"return": {}}, "ok"),
        ({"return": {}, "retcode": 1}, "failed"),
        ({"return": ["no such SLS"], "retcode": 1}, "failed"),
        ({"return": None, "success": False}, "failed"),
        ({"return": {TAG: {**STATE, "changes": {}}}}, "ok"),
    ],
)
def test_how_it_ended(load, outcome):
    assert told(**load).outcome == outcome


@pytest.mark.parametrize(
    "load",
    [
        {"schedule": "__mine_interval"},
        {"schedule": "__master_alive_10.0.0.1"},
        {"jid": "nocache"},
        {"jid": "nocache", "schedule": "j"},
        {"jid": "20261128123000123456"},  # of a job that nobody waits for any more
        {"jid": "20261128123000123456", "schedule": ""},
        {"jid": "20261128123000123456", "schedule": 3},
    ],
)
def test_what_is_not_told(load):
    assert told(**load) is None


@pytest.mark.parametrize("given", [None, 3, "text", {"a": 1}])
def test_arguments_that_are_none(given):
    assert (told(fun_args=given).args, told(fun_args=given).kwargs) == ((), {})


def test_states_that_wait_behind_others_are_told_once_they_were_run():
    """As 3008 does it: at once that they wait, later a job of its own."""
    returns = OwnReturns("web1")
    job = {"fun": "state.apply", "fun_args": ["web", {"queue": True}], "schedule": "nightly"}
    waits = {
        "result": True,
        "comment": "Job queued for execution",
        "queued": True,
        "changes": {},
        "__no_return__": True,
    }
    assert told_by(returns, **job, **{"return": waits}) is None
    assert told_by(returns, jid="20261128123000123456", fun="test.ping", **{"return": True}) is None
    found = told_by(returns, jid="20261128123000123457", fun="state.apply", **{"return": {TAG: STATE}})
    assert (found.run_id, found.schedule) == ("scheduled-web1-20261128123000123457", "nightly")
    assert (found.args, found.kwargs, found.outcome) == (("web",), {"queue": True}, "changed")
    assert told_by(returns, jid="20261128123000123458", fun="state.apply", **{"return": {TAG: STATE}}) is None
