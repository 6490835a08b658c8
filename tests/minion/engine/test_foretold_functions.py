"""Conditions that name an execution function, under test=True: it sees what earlier states of the run would make."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk
from minion.execution import Context
from minion.execution.state_engine import engine_of

TREE = {"base": {"t": b"{{ grains.get('role', 'none') }}\n"}}


def results(top: Path, *, test: bool, states: list[tuple[str, str, dict[str, Any]]]) -> list[tuple[Any, str, Any]]:
    (top / "etc").mkdir(exist_ok=True)
    context = Context(
        minion_id="m",
        make_files=lambda: MemoryFiles(TREE),
        make_grains=lambda: {"id": "m"},
        config_dir=str(top / "etc"),
    )
    chunks = {}
    for number, (full, name, arguments) in enumerate(states):
        state, _, fun = full.partition(".")
        chunks[str(number)] = Chunk(state=state, fun=fun, id=str(number), name=name, sls="s", arguments=arguments)
    found = run(chunks, engine_of(context, context.machine, test=test), test=test, clock=time.time)
    return [(one.result is False, one.comment if not one.changes else "", one.changes) for one in found.values()]


def _placed(value: Any, top: Path) -> Any:
    if isinstance(value, list):
        return [_placed(one, top) for one in value]
    return value.replace("{top}", str(top)) if isinstance(value, str) else value


@pytest.mark.parametrize(
    "condition",
    [
        {"fun": "grains.get", "key": "role"},
        {"fun": "match.grain", "tgt": "role:web"},
        {"fun": "file.access", "path": "/", "mode": "f"},
        {"fun": "user.info", "name": "nobody"},
        {"fun": "file.file_exists", "path": "{top}/new"},
        {"fun": "file.directory_exists", "path": "{top}/folder/"},
        {"fun": "file.is_link", "args": ["{top}/new"]},
    ],
    ids=lambda one: one["fun"],
)
@pytest.mark.parametrize("kind", ["onlyif", "unless"])
def test_functions_see_what_the_run_would_make(tmp_path: Path, condition: dict[str, Any], kind: str) -> None:
    asks = {key: _placed(value, tmp_path) for key, value in condition.items()}
    states: list[tuple[str, str, dict[str, Any]]] = [
        ("file.managed", str(tmp_path / "new"), {"contents": "x"}),
        ("file.directory", str(tmp_path / "folder"), {}),
        ("grains.present", "role", {"value": "web"}),
        ("grains.present", "role", {"value": "web"}),
        ("file.managed", str(tmp_path / "made"), {"contents": "x", kind: [asks]}),
        ("file.managed", str(tmp_path / "rendered"), {"source": "salt://t", "template": "jinja"}),
        ("grains.append", "roles", {"value": "a"}),
        ("grains.list_present", "roles", {"value": ["a", "b"]}),
        ("grains.list_present", "roles", {"value": ["a", "b"]}),
        ("grains.present", "deep:er", {"value": 1}),
        ("grains.absent", "role", {"destructive": True}),
        ("grains.exists", "role", {}),
        ("schedule.present", "nightly", {"function": "test.ping", "seconds": 9}),
        ("schedule.disabled", "nightly", {}),
        ("schedule.present", "nightly", {"function": "test.ping", "seconds": 9}),
        ("schedule.absent", "nightly", {}),
        ("schedule.absent", "nightly", {}),
    ]
    foretold = results(tmp_path, test=True, states=states)
    done = results(tmp_path, test=False, states=states)
    for number, (one, other) in enumerate(zip(foretold, done, strict=True)):
        assert one == other, states[number]
