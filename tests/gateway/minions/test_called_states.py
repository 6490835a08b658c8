"""Which states a call runs on a stock minion, by the arguments that Salt's functions have."""

import pytest

from gateway.minions.called_states import BadStateCall, called_states
from highstate.types import Chunk
from wire.messages import Call


def chunk(name, sls="app"):
    return Chunk(state="test", fun="nop", id=name, name=name, sls=sls, saltenv="base", arguments={})


CHUNKS = {"a": chunk("one"), "b": chunk("two"), "c": chunk("three", sls="db")}


def called(fun, *args, **kwargs):
    return called_states(Call(run_id="1", fun=f"state.{fun}", args=args, kwargs=kwargs), CHUNKS)


@pytest.mark.parametrize("fun", ["apply", "sls"])
def test_all_that_was_compiled_runs_where_nothing_else_is_said(fun):
    found = called(fun, "app,db")
    assert found.keys == ("a", "b", "c")
    assert found.test is None  # as the minion's own configuration says
    assert not found.queue


@pytest.mark.parametrize(
    ("exclude", "keys"),
    [
        ([{"id": "two"}], ("a", "c")),
        ("db", ("a", "b")),
        ([{"sls": "app"}], ("c",)),
        ("no.such", ("a", "b", "c")),
    ],
)
def test_what_a_call_excludes_does_not_run(exclude, keys):
    assert called("sls", "app,db", exclude=exclude).keys == keys
    assert called("apply", "app,db", exclude=exclude).keys == keys
    assert called("sls", "app,db", None, exclude).keys == keys


def test_sls_id_runs_the_states_of_this_id_alone():
    assert called("sls_id", "two", "app").keys == ("b",)
    assert called("sls_id", id_="two", mods="app").keys == ("b",)


def test_an_id_that_is_not_there_is_told():
    with pytest.raises(BadStateCall, match="No matches for ID 'four' found in SLS 'app'"):
        called("sls_id", "four", "app")


@pytest.mark.parametrize(
    ("fun", "args", "kwargs"),
    [
        ("sls", ("app", True), {}),
        ("sls", ("app",), {"test": True}),
        ("sls_id", ("two", "app", True), {}),
        ("apply", ("app",), {"test": True}),
        ("highstate", (True,), {}),
        ("top", ("other.sls", True), {}),
        ("test", ("app",), {}),
    ],
)
def test_a_test_run_is_one_wherever_the_argument_stands(fun, args, kwargs):
    assert called(fun, *args, **kwargs).test is True


def test_a_call_may_wait_for_others():
    assert called("sls", "app", None, None, True).queue is True
    assert called("apply", "app", queue=2).queue == 2


@pytest.mark.parametrize(
    ("fun", "args", "kwargs"),
    [("apply", ("app", "more"), {}), ("sls_id", (), {})],
)
def test_arguments_that_the_function_does_not_take_are_told(fun, args, kwargs):
    with pytest.raises(BadStateCall, match="argument"):
        called(fun, *args, **kwargs)
