"""Running states: what a state costs besides its work, files that are right already, and the start of a call.

`SALT_VENV=DIR` names a virtualenv with Salt, which runs the same states in the same run; without one the limits stand
alone. The memory of an idle agent is among the figures of `path`.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from highstate.files import MemoryFiles
from highstate.run.ports import RunHooks
from highstate.run.runner import run
from highstate.types import Chunk
from minion.execution import Context
from minion.execution.state_engine import engine_of
from tools.bench.figures import Figure

STATES = 1000
SALTERN = (str(Path(sys.executable).parent / "saltern"),)
SALT = Path(os.environ["SALT_VENV"]) / "bin/salt-call" if "SALT_VENV" in os.environ else None
FEW, MANY = 100, STATES
"""Sizes of Salt's runs, whose difference is the cost of states alone."""


def measure() -> Iterator[Figure]:
    """All figures of running states."""
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder:
        path = Path(folder)
        yield from _nothing_to_do(path)
        yield from _right_files(path)
        yield _start(path)


def _nothing_to_do(folder: Path) -> Iterator[Figure]:
    chunks = [_chunk("nop", f"n{number}", "test") for number in range(STATES)]
    samples = [_run(chunks) for _ in range(7)]
    yield Figure(metric=f"{STATES} no-op states", unit="ms", samples=samples, target=50.0)
    salt = _salt_each(folder, "test.nop", [f"n{number}" for number in range(MANY)])
    yield _share("overhead of a no-op state", samples, salt)


def _right_files(folder: Path) -> Iterator[Figure]:
    names = [str(folder / f"file{number}") for number in range(STATES)]
    for name in names:
        Path(name).write_text("a line of text\n" * 20)
    chunks = [_chunk("managed", name, "file", contents="a line of text\n" * 20) for name in names]
    samples = [_run(chunks) for _ in range(5)]
    bare = min(_bare(names) for _ in range(5)) / STATES
    yield Figure(
        metric="file.managed that is right",
        unit="ms",
        samples=[sample / STATES for sample in samples],
        reference=bare,
        reference_of="stat, read and hash",
        target=round(3 * bare, 5),
    )
    if SALT is not None:
        salt = _salt_each(folder, "file.managed", names[:MANY], contents="a line of text\n" * 20)
        yield _share("file.managed that is right, beside Salt", samples, salt)


def _share(metric: str, samples: Sequence[float], salt: float | None) -> Figure:
    """A figure for each state; the target is a tenth of Salt's."""
    each = [sample / STATES for sample in samples]
    beside: dict[str, Any] = {}
    if salt is not None:
        beside = {"reference": salt, "reference_of": "Salt", "target": round(salt / 10, 5)}
    return Figure(metric=metric, unit="ms", samples=each, **beside)


def _start(folder: Path) -> Figure:
    call = [*SALTERN, "call", "--local", "-c", str(folder), "test.ping"]
    samples = [_seconds(call) for _ in range(12)][1:]
    beside: dict[str, Any] = {}
    if SALT is not None:
        beside = {"reference": _seconds(_salt_call(folder, "test.ping")), "reference_of": "salt-call"}
    return Figure(metric="saltern call --local test.ping", unit="s", samples=samples, target=0.15, **beside)


def _chunk(fun: str, name: str, state: str, **arguments: Any) -> Chunk:
    return Chunk(state=state, fun=fun, id=name, name=name, sls="bench", arguments=arguments)


def _run(chunks: Sequence[Chunk]) -> float:
    """Milliseconds of a run that must change nothing."""
    context = Context(minion_id="bench", make_files=lambda: MemoryFiles({"base": {}}))
    engine = engine_of(context, context.machine, test=False)
    keyed = {chunk.tag: chunk for chunk in chunks}
    began = time.perf_counter()
    results = run(keyed, engine, test=False, clock=time.time, hooks=RunHooks())
    took = (time.perf_counter() - began) * 1000
    wrong = [result for result in results.values() if result.result is not True or result.changes]
    if wrong:
        raise RuntimeError(f"not a run without changes: {wrong[0]}")
    return took


def _bare(names: Sequence[str]) -> float:
    began = time.perf_counter()
    for name in names:
        path = Path(name)
        path.lstat()
        hashlib.sha256(path.read_bytes()).digest()
    return (time.perf_counter() - began) * 1000


def _salt_each(folder: Path, function: str, names: Sequence[str], **arguments: Any) -> float | None:
    """Milliseconds that Salt takes for one more state."""
    if SALT is None:
        return None
    place = folder / function  # its own: Salt goes on with a list of files for some seconds
    place.mkdir()
    given = [{key: value} for key, value in arguments.items()]
    for count in (FEW, MANY):
        states = {name: {function: given} for name in names[:count]}
        (place / f"n{count}.sls").write_text("#!json\n" + json.dumps(states))
    few, many = (
        min(_seconds(_salt_call(place, "state.sls", f"n{count}", "--file-root", str(place))) for _ in range(3))
        for count in (FEW, MANY)
    )
    return (many - few) * 1000 / (MANY - FEW)


def _salt_call(folder: Path, *words: str) -> list[str]:
    places = ["-c", str(folder), "--cachedir", str(folder / "cache"), "--log-file", str(folder / "log")]
    return [str(SALT), "--local", "--retcode-passthrough", *places, "--out", "quiet", *words]


def _seconds(command: Sequence[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit("run `make bench ONLY=states`")
