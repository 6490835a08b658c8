"""Lookups by path answer as real Salt did: tests/golden/traverse.json, recorded by `python -m tools.oracle.paths`."""

import ast
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.functions.call import FunctionCall
from highstate.functions.catalog import BUILT_IN
from highstate.memo.sources import ReadSources
from highstate.memo.tracked import Recorder, plain
from highstate.render.filters.text import FILTERS
from highstate.salt_yaml import read_word
from highstate.traverse import traverse

CASES = json.loads(Path(__file__).parents[1].joinpath("golden", "traverse.json").read_text())


def answer(look_up: Callable[..., Any], case: list[Any]) -> dict[str, str]:
    """What `look_up(data, path, default, delimiter)` makes of a case."""
    data, path, default = (ast.literal_eval(text) for text in case[:3])
    try:
        return {"found": repr(plain(look_up(data, path, default, case[3])))}
    except (TypeError, IndexError, ValueError) as error:
        return {"raised": type(error).__name__}


def function_call(root: str, data: Mapping[Any, Any]) -> FunctionCall:
    roots = {name: data if name == root else {} for name in ("grains", "pillar", "opts")}
    sources = ReadSources(minion_id="web1", roots=roots, files=MemoryFiles({}))
    return FunctionCall(recorder=Recorder(sources), saltenv="base", render=lambda *_: None)


@pytest.mark.parametrize("entry", [lambda *given: traverse(*given[:3], delimiter=given[3]), FILTERS["traverse"]])
def test_a_lookup_answers_what_salt_answers(entry: Callable[..., Any]) -> None:
    assert [case for case in CASES if answer(entry, case) != case[4]] == []


@pytest.mark.parametrize(
    ("fun", "root"),
    [
        ("pillar.get", "pillar"),
        ("pillar.item", "pillar"),
        ("grains.get", "grains"),
        ("grains.item", "grains"),
        ("config.get", "opts"),
        ("config.get", "grains"),
        ("config.get", "pillar"),
    ],
)
def test_functions_of_templates_look_up_as_salt_does(fun: str, root: str) -> None:
    def look_up(data: Any, path: str, default: Any, delimiter: str) -> Any:
        found = BUILT_IN[fun](function_call(root, data), path, default=default, delimiter=delimiter)
        return found[path] if fun.endswith("item") else found

    mappings = [case for case in CASES if case[0].startswith("{") and case[1].startswith(("'", '"'))]
    assert len(mappings) > 200
    assert [case for case in mappings if answer(look_up, case) != case[4]] == []


def test_config_get_looks_into_the_masters_options_in_pillar() -> None:
    data = {"master": {"a": {"b": 1}, 5: "five"}}
    config_get = BUILT_IN["config.get"]
    assert config_get(function_call("pillar", data), "a:b") == 1
    assert config_get(function_call("pillar", data), 5) == "five"


def test_a_null_in_pillar_is_no_missing_value() -> None:
    call = function_call("pillar", {"a": None})
    assert BUILT_IN["pillar.get"](call, "a", {"b": 1}, merge=True) is None
    assert BUILT_IN["pillar.get"](call, "a", [1], merge=True) is None
    assert BUILT_IN["pillar.get"](call, "b", {"b": 1}, merge=True) == {"b": 1}


def test_a_word_of_too_many_brackets_stays_a_word() -> None:
    assert read_word("[" * 50_000) == "[" * 50_000
