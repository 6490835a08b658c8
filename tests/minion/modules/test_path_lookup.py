"""Functions of the minion look paths up as real Salt did (tests/golden/traverse.json), and so as templates do."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from extmods.salt_compat.utils.data import traverse_dict_and_list
from minion.execution import Context, Modules

CASES = json.loads(Path(__file__).parents[2].joinpath("golden", "traverse.json").read_text())


def differences(look_up: Any, cases: list[list[Any]]) -> list[Any]:
    found = []
    for case in cases:
        data, path, default = (ast.literal_eval(text) for text in case[:3])
        try:
            outcome = {"found": repr(look_up(data, path, default, case[3]))}
        except (TypeError, IndexError, ValueError) as error:
            outcome = {"raised": type(error).__name__}
        if outcome != case[4]:
            found.append((case, outcome))
    return found


@pytest.mark.parametrize(
    ("fun", "source"),
    [
        ("pillar.get", "make_pillar"),
        ("pillar.item", "make_pillar"),
        ("grains.get", "make_grains"),
        ("grains.item", "make_grains"),
        ("config.get", "make_pillar"),
        ("config.get", "make_grains"),
    ],
)
def test_functions_look_up_as_salt_does(fun: str, source: str) -> None:
    def look_up(data: Any, path: str, default: Any, delimiter: str) -> Any:
        context = Context(minion_id="web1", **{source: lambda: data})
        found = Modules(context).call(fun, (path,), {"default": default, "delimiter": delimiter})
        return found[path] if fun.endswith("item") else found

    mappings = [case for case in CASES if case[0].startswith("{") and case[1].startswith(("'", '"'))]
    assert len(mappings) > 200
    assert differences(look_up, mappings) == []


def test_salts_own_name_of_the_lookup() -> None:
    assert differences(traverse_dict_and_list, CASES) == []
