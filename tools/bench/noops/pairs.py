"""A state that has nothing to do and its bare query, measured in turns."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.config.group_rules import options_of
from minion.execution import Context
from minion.execution.state_engine import engine_of
from minion.machine.machine import LocalMachine
from minion.machine.plan import Completed
from tools.bench.figures import Figure

MOST = 1.2
"""Times the bare query that a no-op may cost."""
_SECONDS = float(os.environ.get("SECONDS_EACH", "4"))
_FEWEST, _MOST = 5, 101
_QUICK, _TOGETHER = 10.0, 20
"""States that take less than so many milliseconds are so many in a run, which has a beginning of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOp:
    """A state that is brought to what it wants, and then asked again."""

    fun: str
    name: str = "x"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    opts: Mapping[str, Any] = field(default_factory=dict)
    grains: Mapping[str, Any] = field(default_factory=dict)
    bare: Callable[[], object] | None = None
    """The bare query; None: the slowest program that the state runs, once."""
    bare_of: str = ""


@dataclass(kw_only=True)
class _Recording(LocalMachine):
    """The machine, which notes what is run."""

    ran: list[tuple[Sequence[str] | str, Mapping[str, Any]]] = field(default_factory=list)

    def run(self, argv: Sequence[str] | str, **given: Any) -> Completed:
        """See `Machine`."""
        self.ran.append((argv, given))
        return super().run(argv, **given)


def figure_of(one: NoOp) -> Figure:
    """Bring it to what it wants, then measure."""
    made = _apply(one, LocalMachine)
    if made.result is False:
        raise RuntimeError(f"{one.fun}: {made.comment}")
    noted = _Recording(sources_port=MemoryFiles({}))
    again = _apply(one, lambda **given: vars(noted).update(given) or noted)
    if again.result is not True or again.changes:
        raise RuntimeError(f"{one.fun} has something to do again: {again.comment} {again.changes}")
    bare, bare_of = (one.bare, one.bare_of) if one.bare else _slowest(noted)
    if bare is None:
        raise RuntimeError(f"{one.fun} runs no program, and no bare query is given for it")
    return _measured(one, bare, f"{bare_of}; runs {len(noted.ran)}" if noted.ran else bare_of)


def _measured(one: NoOp, bare: Callable[[], object], bare_of: str) -> Figure:
    took = _timed(bare) + _timed(lambda: _apply(one, LocalMachine))
    times = _TOGETHER if took < 2 * _QUICK else 1
    pairs = max(_FEWEST, min(_MOST, int(_SECONDS * 1000 / took / times)))
    samples: list[float] = []
    limits: list[float] = []
    for number in range(pairs):
        for which in (0, 1) if number % 2 else (1, 0):
            if which:
                limits.append(_timed(lambda: [bare() for _ in range(times)]) / times)
            else:
                samples.append(_timed(lambda: _apply(one, LocalMachine, times)) / times)
    reference = statistics.median(_fastest(limits))
    return Figure(
        metric=f"{one.fun} {_about(one)}".rstrip(),
        unit="ms",
        samples=_fastest(samples),
        reference=reference,
        reference_of=bare_of,
        target=round(MOST * reference, 5),
    )


def _fastest(samples: Sequence[float]) -> list[float]:
    """A quarter of them: what others do on this machine meanwhile is not measured."""
    return sorted(samples)[: len(samples) // 4 + 1]


def _about(one: NoOp) -> str:
    return "" if len(one.name) > 24 or one.name == "x" else one.name


def _apply(one: NoOp, make: Callable[..., LocalMachine], times: int = 1) -> StateResult:
    """Run it so many times in one run; the last result."""
    state, _, fun = one.fun.partition(".")
    chunks = {
        str(number): Chunk(
            state=state,
            fun=fun,
            id=str(number),
            name=one.name,
            sls="bench",
            order=number,
            arguments=dict(one.arguments),
        )
        for number in range(times)
    }
    context = Context(
        minion_id="bench",
        opts={"id": "bench", **one.opts},
        make_grains=lambda: {"id": "bench", **one.grains},
        make_files=lambda: MemoryFiles({"base": {}}),
        options=options_of(dict(one.opts)),
    )
    machine = make(
        sources_port=MemoryFiles({"base": {}}),
        minion_id="bench",
        grains=context.grains,
        opts=context.opts,
        functions=context.functions,
    )
    results = run(chunks, engine_of(context, machine, test=False), test=False, clock=time.time)
    return list(results.values())[-1]


def _timed(work: Callable[[], object]) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _slowest(noted: _Recording) -> tuple[Callable[[], object] | None, str]:
    """What takes longest of all that was run, run once."""
    found: list[tuple[float, Callable[[], object], str]] = []
    for argv, given in noted.ran:
        bare = _once(argv, given)
        name = Path(argv.split()[0] if isinstance(argv, str) else _program(argv)).name
        found.append((min(_timed(bare) for _ in range(2)), bare, name))
    if not found:
        return None, ""
    _, bare, name = max(found, key=lambda each: each[0])
    return bare, name


def _program(argv: Sequence[str]) -> str:
    return argv[argv.index("--") + 1] if argv[0] == "runuser" else argv[0]


def _once(argv: Sequence[str] | str, given: Mapping[str, Any]) -> Callable[[], object]:
    environment = {**os.environ, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **(given.get("env") or {})}
    text = given.get("stdin")
    words = ["/bin/sh", "-c", argv] if isinstance(argv, str) else [str(each) for each in argv]
    if given.get("runas"):
        raise RuntimeError(f"{words[0]} is run as another user: give a bare query")

    def once() -> object:
        return subprocess.run(
            words,
            input=None if text is None else text.encode(),
            stdin=subprocess.DEVNULL if text is None else None,
            env=environment,
            cwd=given.get("cwd") or "/",
            capture_output=True,
            check=False,
            start_new_session=True,  # as the minion's own: the kernel gives time to sessions
        )

    return once
