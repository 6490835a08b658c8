"""What test=True says of a run, held against what the run does: for the cases of `tools.docs.state_cases`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.execution import Context
from minion.execution.state_engine import engine_of
from minion.grains import collect
from minion.machine.machine import LocalMachine
from tools.docs.cases.case import Case
from tools.docs.states_table import placed, run_hooks, served, values

Low = tuple[str, str, dict[str, Any]]
"""Function, name and arguments of a state."""

NOT_KNOWN = "What it would do is not known"
TO_COME = "if created in this state run"


def foretold_and_done(machine: LocalMachine, *states: Low) -> list[tuple[StateResult, StateResult]]:
    """What test=True says of each state of a run, and what comes of it."""
    chunks = {}
    for number, (full, name, arguments) in enumerate(states):
        state, _, fun = full.partition(".")
        chunks[str(number)] = Chunk(
            state=state, fun=fun, id=f"state {number}", name=name, sls="s", order=number, arguments=arguments
        )
    foretold = run(chunks, StateEngine(machine, test=True), test=True, clock=time.time)
    done = run(chunks, StateEngine(machine), test=False, clock=time.time)
    return [(foretold[key], done[key]) for key in chunks]


def assert_foretold(machine: LocalMachine, *states: Low, not_known: frozenset[int] = frozenset()) -> None:
    """Hold that a run does what test=True says of it; the states of these numbers are said to be not known."""
    found = foretold_and_done(machine, *states)
    for number, ((full, name, _), (foretold, done)) in enumerate(zip(states, found, strict=True)):
        said = f"{full} {name}: predicted {foretold}, done {done}"
        if number in not_known:
            assert foretold.result is None, said
            assert foretold.comment.startswith(NOT_KNOWN), said
            continue
        expected = False if done.result is False else None if done.changes else True
        assert (foretold.result, foretold.changes) == (expected, done.changes), said


def differences(case: Case) -> list[str]:
    """What is wrong with the prediction of a run that has the case's state twice; empty when nothing is.

    A prediction that says that it is not known is right, but for that of the first state.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="saltern-case-")))
        url = stack.enter_context(served()) if "{url}" in f"{case.name} {case.arguments}" else ""
        case = placed(case, {"{top}": str(folder / "top"), "{url}": url, **values()})
        stack.enter_context(run_hooks(case, folder / "top"))
        foretold = _results(case, folder, test=True)
        done = _results(case, folder, test=False)
    return [
        f"{key}: predicted {foretold[key].result} {foretold[key].comment!r} {dict(foretold[key].changes)}, "
        f"done {done[key].result} {done[key].comment!r} {dict(done[key].changes)}"
        for key in ("first", "second")
        if not _is_right(case, foretold[key], done[key], first=key == "first")
    ]


def _is_right(case: Case, foretold: StateResult, done: StateResult, *, first: bool) -> bool:
    if foretold.result is None and foretold.comment.startswith(NOT_KNOWN):
        return not first
    if done.result is False:
        return foretold.result is False or case.acts_always
    if case.acts_always:
        return foretold.result is not False
    same = all(done.changes.get(key) == value for key, value in foretold.changes.items())
    return (foretold.result is None) == bool(done.changes) and same


def _results(case: Case, folder: Path, *, test: bool) -> Mapping[str, StateResult]:
    (folder / "cache").mkdir(exist_ok=True)
    grains = {**collect(), "id": "case", **case.grains}
    context = Context(
        minion_id="case",
        opts={"id": "case", "config_dir": str(folder), "conf_file": str(folder / "minion")},
        make_grains=lambda: grains,
        make_pillar=lambda: case.pillar,
        make_files=lambda: MemoryFiles({"base": {path: text.encode() for path, text in case.tree.items()}}),
        backup_dir=str(folder / "cache/file_backup"),
        cachedir=str(folder / "cache"),
        config_dir=str(folder / "etc"),
        fire=lambda tag, data: "",
    )
    state, _, fun = case.fun.partition(".")
    chunks = {
        key: Chunk(state=state, fun=fun, id=key, name=case.name, sls="case", arguments=dict(case.arguments))
        for key in ("first", "second")
    }
    return run(chunks, engine_of(context, context.machine, test=test), test=test, clock=time.time)
