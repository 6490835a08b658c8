"""Single states against what real Salt said of them: tests/golden/states, recorded by tools/oracle/states.py.

Compared are result and comment of the test run, and result, comment and changes of the real run and of a second one:
under test=True Salt often shows fewer changes than it makes, and here the plan shows them all. Where ours differs on
purpose, a case says so in `differs`: `run.comment: why`.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from highstate.run.runner import run
from highstate.types import Chunk
from minion.execution import Context
from minion.execution.loader import Modules
from minion.execution.state_engine import engine_of
from tools.docs.cases.case import with_top
from tools.oracle.states import CASES, laid_out

KEPT = ("SALTERN_GOLDEN", "SALTERN_A", "SALTERN_B")


def _cases():
    for path in sorted(CASES.glob("*.yaml")):
        for case in yaml.safe_load(path.read_text()):
            yield pytest.param(case, id=f"{path.stem}: {case['name']}")


def _needs(case: Mapping[str, Any]) -> str:
    if case["state"] == "file.mknod" and os.geteuid() != 0:
        return "only root makes device nodes"
    if case["state"].startswith("grains.") and Modules(Context(minion_id="web1")).signature("grains.set") is None:
        return "there is no grains.set"
    return ""


def _said(result: Any) -> dict[str, Any]:
    more = {"skip_req": True} if result.skip_req else {}
    return {"result": result.result, "comment": result.comment, "changes": dict(result.changes)} | more


def _plain(value: Any) -> Any:
    """Without what no two runs have in common."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items() if key != "pid"}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, str):
        value = re.sub(r"/\S*/(?:salt|saltern|cache)\S*/files/base/", "{cache}/", value)
        if value.startswith("An exception occurred in this state"):
            value = value.strip().splitlines()[-1].partition(": ")[2]
    return value


@pytest.mark.parametrize("case", list(_cases()))
def test_states_say_what_salt_says(case: Mapping[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = _needs(case)
    if reason:
        pytest.skip(reason)
    for name in KEPT:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    top = tmp_path / "top"
    (tmp_path / "cache").mkdir()
    whole = laid_out(case, top)
    ours = {phase: _said(_once(whole, tmp_path, test=phase == "test")) for phase in ("test", "run", "again")}
    found, wanted = _plain(with_top(ours, str(top), "{top}")), _plain(case["salt"])
    differs = case.get("differs", {})
    for phase in ("test", "run", "again"):
        for key in ("result", "comment", "changes", "skip_req"):
            if f"{phase}.{key}" in differs or (phase, key) == ("test", "changes"):
                continue
            assert found[phase].get(key) == wanted[phase].get(key), f"{phase}.{key}"
    if not differs and found["run"]["result"] is not False and found["test"]["changes"]:
        assert found["test"]["changes"] == found["run"]["changes"]


def _once(case: Mapping[str, Any], folder: Path, *, test: bool) -> Any:
    from highstate.files import MemoryFiles

    grains = {"id": "web1", **case.get("grains", {})}
    tree = {path: text.encode() for path, text in case.get("tree", {}).items()}
    context = Context(
        minion_id="web1",
        opts={"id": "web1"},
        make_grains=lambda: grains,
        make_pillar=lambda: case.get("pillar", {}),
        make_files=lambda: MemoryFiles({"base": tree}),
        backup_dir=str(folder / "cache/file_backup"),
        cachedir=str(folder / "cache"),
        config_dir=str(folder / "etc"),
    )
    state, _, fun = case["state"].partition(".")
    arguments = {key: value for key, value in case["arguments"].items() if key != "name"}
    chunk = Chunk(state=state, fun=fun, id="x", name=case["arguments"].get("name", "x"), sls="s", arguments=arguments)
    return run({"k": chunk}, engine_of(context, context.machine, test=test), test=test, clock=lambda: 0.0)["k"]
