"""Slots: what is one, what it is called with, what becomes of it under test=True. Salt's are in tests/oracle."""

from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.engine.slots import filled
from minion.execution import Context, Modules
from minion.machine.machine import LocalMachine


def asked(text: Any) -> list[Any]:
    calls = list[Any]()

    def call(fun: str, args: list[Any], kwargs: dict[str, Any]) -> str:
        calls.append((fun, args, kwargs))
        return "value"

    given = {"a": text}
    got = filled(given, call)
    assert (got is given) is not calls
    return [*calls, got["a"]]


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("__slot__:salt:a.b()", ("a.b", [], {})),
        ("__slot__:salt:a.b(1, two,k=3)", ("a.b", ["1", "two"], {"k": "3"})),
        ("__slot__:salt:a.b('x, y', k=\"p(q)\")", ("a.b", ["x, y"], {"k": "p(q)"})),
    ],
)
def test_calls(text: str, call: Any) -> None:
    assert asked(text) == [call, "value"]


@pytest.mark.parametrize(
    "text", ["__slot__:", "__slot__:salt:", "__slot__:salt:x", "__slot__:salt:f(x)", "__slot__:x:a.b()"]
)
def test_what_cannot_be_read_stays(text: str) -> None:
    assert filled({"a": text}, lambda *_: "called")["a"] == text


def test_mappings_and_lists_are_looked_at_once() -> None:
    slot = "__slot__:salt:a.b()"
    assert asked([slot, {"k": slot, "n": 1}])[2:] == [["value", {"k": "value", "n": 1}]]
    assert asked({"k": slot})[1:] == [{"k": "value"}]


def one(text: str, *, test: bool) -> StateResult:
    files = MemoryFiles({})
    modules = Modules(Context(minion_id="m", make_files=lambda: files))
    engine = StateEngine(LocalMachine(sources_port=files), modules, test=test)
    chunk = Chunk(state="test", fun="show_notification", id="x", name="x", sls="s", arguments={"text": text})
    return run({"k": chunk}, engine, test=test, clock=lambda: 0.0)["k"]


def test_under_test_true_only_functions_that_look_are_called() -> None:
    assert one("__slot__:salt:test.echo(hello)", test=False).comment == "hello"
    unknown = one("__slot__:salt:test.echo(hello)", test=True)
    assert (unknown.result, unknown.changes) == (None, {})
    assert one("__slot__:salt:file.get_user(/)", test=True).comment == "root"


def test_a_function_that_fails_fails_its_state() -> None:
    failed = one("__slot__:salt:test.exception(broken)", test=False)
    assert failed.result is False
    assert failed.comment.startswith("the slot test.exception gave no value: ")
    assert one("__slot__:salt:no.such(x)", test=False).result is False
