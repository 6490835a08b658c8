import time
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.engine.registry import find
from minion.machine.machine import LocalMachine

PRETENDED = {"testing": {"old": "Unchanged", "new": "Something pretended to change"}}


def do(fun: str, *, test: bool = False, **arguments: Any) -> StateResult:
    chunk = Chunk(state="test", fun=fun, id="x", name="x", sls="s", arguments=arguments)
    machine = LocalMachine(sources_port=MemoryFiles({}), pillar={"a": 1, "b": {"c": "x"}, "t": True, "l": []})
    return run({"k": chunk}, StateEngine(machine, test=test), test=test, clock=time.time)["k"]


@pytest.mark.parametrize(
    ("fun", "test", "expected"),
    [
        ("nop", False, (True, "Success!", {})),
        ("succeed_without_changes", True, (True, "Success!", {})),
        ("succeed_with_changes", False, (True, "Success!", PRETENDED)),
        (
            "succeed_with_changes",
            True,
            (None, "If we weren't testing, this would be successful with changes", PRETENDED),
        ),
        ("fail_without_changes", False, (False, "Failure!", {})),
        ("fail_with_changes", False, (False, "Failure!", PRETENDED)),
        ("fail_with_changes", True, (None, "If we weren't testing, this would be failed with changes", PRETENDED)),
    ],
)
def test_pretending(fun: str, test: bool, expected: Any) -> None:
    result = do(fun, test=test)
    assert (result.result, result.comment, result.changes) == expected


def test_configurable() -> None:
    result = do("configurable_test_state", changes=True, result=False, comment="hm", warnings="careful")
    assert (result.result, result.comment, result.changes) == (False, "hm", PRETENDED)
    assert result.warnings == ("careful",)
    assert do("configurable_test_state", changes=False, result=False).result is False
    assert "must be True or False" in do("configurable_test_state", result="Random").comment


def test_notification() -> None:
    assert do("show_notification", text="hello").comment == "hello"
    assert do("show_notification").result is False


def test_check_pillar() -> None:
    good = {
        "present": ["a", "b:c"],
        "string": "b:c",
        "integer": ["a"],
        "boolean": "t",
        "listing": "l",
        "dictionary": "b",
    }
    assert do("check_pillar", **good).result is True
    bad = do("check_pillar", present="x", integer="t", string="a")
    assert bad.comment == (
        'Pillar key "x" is missing.\n'
        'Type of pillar key "t" is not an integer.\n'
        'Type of pillar key "a" is not a string.\n'
    )


@pytest.mark.parametrize("fun", ["set", "context"])
def test_parameters_of_an_sls_are_a_state_without_an_effect(fun: str) -> None:
    plan = find("stateconf", fun, "s").call(LocalMachine(sources_port=MemoryFiles({})), "s::params", port=80)
    assert (plan.changes, plan.comment, plan.result) == ((), "", True)
