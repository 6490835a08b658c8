"""Execution functions answer as real Salt did: tests/golden/modules, recorded by `python -m tools.oracle.modules`."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from highstate.compile import CompileOptions
from highstate.files import MemoryFiles
from highstate.types import Minion
from minion.execution import CallFailed, Context, Modules
from minion.execution.lowstate_sources import RootsCompiler

GOLDENS = sorted(Path(__file__).parents[2].joinpath("golden", "modules").glob("*.yaml"))


def cases() -> list[Any]:
    return [
        pytest.param(case, id=f"{path.stem}: {case['name']}")
        for path in GOLDENS
        for case in yaml.safe_load(path.read_text())
    ]


@pytest.mark.parametrize("case", cases())
def test_answers_are_salts(case: dict[str, Any], tmp_path: Path) -> None:
    from minion.grains import collect

    folder = tmp_path / "tmp"
    folder.mkdir()
    for name, text in case.get("files", {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    tree = MemoryFiles({"base": {name: text.encode() for name, text in case.get("tree", {}).items()}})
    minion = Minion(id="web1", grains={"id": "web1"})
    modules = Modules(
        Context(
            minion_id="web1",
            make_files=lambda: tree,
            make_compiler=lambda: RootsCompiler(
                files=tree, pillar_files=MemoryFiles({}), minion=minion, language=CompileOptions()
            ),
            opts={"root_dir": str(tmp_path / "root"), "conf_file": str(tmp_path / "etc/minion")},
            make_grains=lambda: collect({}),
            make_pillar=lambda: {"a": {"b": 1}},
            cachedir=str(tmp_path / "cache"),
            config_dir=str(tmp_path / "etc"),
        )
    )
    wrong = []
    for call in case["calls"]:
        said = f"{call['fun']} {call.get('args', '')} {call.get('kwargs', '')}"
        args, kwargs = (
            swap(call.get("args", []), "{tmp}", str(folder)),
            swap(call.get("kwargs", {}), "{tmp}", str(folder)),
        )
        try:
            value = swap(modules.call(call["fun"], args, kwargs), str(folder), "{tmp}")
        except CallFailed as error:
            if "error" not in call and "deviates" not in call:
                wrong.append(f"{said}: failed with {error}, where Salt gives {call['value']!r}")
            continue
        if "deviates" in call:
            continue
        if "error" in call:
            wrong.append(f"{said}: {value!r}, where Salt fails: {call['error']}")
        elif (shape(value) != shape(call["value"])) if call.get("like") else value != call["value"]:
            wrong.append(f"{said}:\n    {value!r}\n    {call['value']!r} is Salt's")
    assert not wrong, "\n".join(wrong)


def swap(value: Any, old: str, new: str) -> Any:
    """The value as YAML has it, with one text for another wherever it stands."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, bytes):
        return repr(value)
    if isinstance(value, dict):
        return {swap(key, old, new): swap(inner, old, new) for key, inner in value.items()}
    return [swap(inner, old, new) for inner in value] if isinstance(value, list | tuple) else value


def shape(value: Any) -> Any:
    """Kinds of values and names of keys; of a list, or of a mapping with names of the machine, those of the first."""
    if isinstance(value, dict):
        if all(isinstance(inner, dict) for inner in value.values()):
            return {"*": shape(next(iter(value.values()), None))}
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
