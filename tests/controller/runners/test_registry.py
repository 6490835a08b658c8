"""Runners and wheels by name, their parameters, and the arguments of calls."""

import importlib
import inspect
from pathlib import Path

import pytest

from controller.runners import registry
from controller.runners.errors import BadControllerArguments, UnknownControllerFunction
from controller.runners.not_built import NOT_BUILT
from reactors.rules.reaction import Parameters

KINDS = ("runner", "wheel")


@pytest.mark.parametrize("kind", KINDS)
def test_every_function_is_documented_and_takes_a_context_first(kind):
    for fun in registry.names(kind):
        function = registry.find(kind, fun)
        assert inspect.getdoc(function), fun
        assert next(iter(inspect.signature(function).parameters)) == "context", fun
        assert inspect.iscoroutinefunction(function), fun


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_built_is_not_in_the_table_of_what_is_not(kind):
    assert not set(registry.names(kind)) & set(NOT_BUILT[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_every_module_of_the_folder_is_found(kind):
    folder = importlib.import_module(registry.ROOMS[kind]).__path__[0]
    there = {path.stem for path in Path(folder).glob("*.py")}
    assert set(registry.MODULES[kind]) == {name for name in there if not name.startswith("_")}


def test_parameters_are_those_of_the_signature():
    assert registry.parameters_of("runner", "test.sleep") == Parameters((), ("s_time",))
    assert registry.parameters_of("runner", "test.arg") == Parameters((), (), any_name=True)
    assert registry.parameters_of("wheel", "error.error") == Parameters((), ("name", "message"))
    assert registry.parameters_of("runner", "test.nothing") is None
    assert registry.parameters_of("wheel", "no.such") is None


@pytest.mark.parametrize(
    ("fun", "said"),
    [
        ("test.slep", "'test.slep' is not available. Did you mean test.sleep?"),
        ("tset.sleep", "There is no runner 'tset'. Did you mean test?"),
        ("ssh.cmd", "It is not built: there is no salt-ssh; use salt.execute."),
        ("zzz", "There is no runner 'zzz'. `saltern runner -d` lists all."),
    ],
)
def test_an_unknown_name_is_answered_with_what_may_be_meant(fun, said):
    with pytest.raises(UnknownControllerFunction) as caught:
        registry.find("runner", fun)
    assert said in str(caught.value)


def test_arguments_become_the_types_of_the_signature():
    assert registry.bind("runner", "test.sleep", ["3"], {}).kwargs == {"s_time": 3.0}
    bound = registry.bind("runner", "test.raw_arg", [1], {"__x": 2, "y": 3})
    assert (list(bound.args), bound.kwargs) == ([1], {"__x": 2, "y": 3})


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        ([1, 2], {}, "2 given by position, 1 taken"),
        (["soon"], {}, "s_time must be"),
        ([], {"length": 1}, "there is no argument length"),
        ([1], {"s_time": 1}, "s_time given twice"),
    ],
)
def test_arguments_that_are_not_taken_are_refused_with_the_usage(args, kwargs, said):
    with pytest.raises(BadControllerArguments) as caught:
        registry.bind("runner", "test.sleep", args, kwargs)
    assert said in str(caught.value)
    assert "Usage: test.sleep(s_time=10)" in str(caught.value)
