"""Jobs for real Salt and for us, and whether both say the same. Used by `tools/oracle/__main__.py` and tests/oracle.

`Salt` is the process of `tools/oracle/salt_process.py` in the virtualenv that has Salt; `ours` compiles the same job
here. Trees are folders, which this reads and writes, below the scratch folder that the caller names.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from highstate.compile import CompileOptions
from highstate.compile.compiler import Compilation
from highstate.compile.order import MOD_WATCH
from highstate.files import MemoryFiles
from highstate.functions.catalog import BUILT_IN
from highstate.functions.live import LIVE_MODULES
from highstate.memo.memo import Memo
from highstate.pillar.pillar import PillarResult
from highstate.ports import CompilePorts, Fact
from highstate.tops.top import TopResult
from highstate.types import Chunk, Minion, Pos, Problem

Trees = Mapping[str, Mapping[str, bytes]]
"""saltenv -> path -> content."""
FACTS = Path(__file__).resolve().parents[2] / "tests" / "oracle" / "facts.yaml"
_INSIDE = Path(__file__).with_name("salt_process.py")
_FIELDS = frozenset(one.name for one in fields(CompileOptions))


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is compiled for whom. Its runs share a pillar; each is a list of SLS, or nothing for the top file."""

    name: str
    minion: str
    grains: Mapping[str, Any]
    files: Trees = field(repr=False)
    pillar: Trees = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)
    override: Mapping[str, Any] = field(default_factory=dict)
    runs: tuple[tuple[str, ...], ...] = ((),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The low chunks in Salt's shape, or the errors in their place."""

    low: tuple[Mapping[str, Any], ...] = ()
    errors: tuple[str, ...] = ()
    seconds: float = 0.0


class Salt:
    """Real Salt, in a process of its own, for as long as the `with` lasts."""

    def __init__(self, venv: Path) -> None:
        self._venv = venv
        self._scratch = tempfile.TemporaryDirectory(prefix="oracle")
        self._folder = Path(self._scratch.name)
        self._written: dict[int, tuple[Trees, dict[str, list[str]]]] = {}
        self._process = subprocess.Popen(
            [venv / "bin" / "python", _INSIDE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": "0"},  # the order of some requisites of Salt hangs on it
        )
        self._send(
            {
                "folder": str(self._folder),
                "live": sorted(LIVE_MODULES),
                "pure": sorted(BUILT_IN),
                "facts": recorded_facts(),
                "watched": sorted(MOD_WATCH),
            }
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._scratch.cleanup()

    def has(self, package: str) -> bool:
        """Whether its virtualenv has a package that a renderer wants; Salt takes the renderer for unknown without."""
        return any(self._venv.glob(f"lib/python*/site-packages/{package}"))

    def ask(self, job: Job) -> Iterator[Answer]:
        """Salt's answers, one a run. It works while the caller does: take them when ours are ready."""
        roots = {"file_roots": self._roots(job.files), "pillar_roots": self._roots(job.pillar)}
        cache = {"cachedir": str(self._folder / "cache" / str(len(self._written)))}
        told = ("minion", "grains", "settings", "override", "runs")
        self._send({**{key: getattr(job, key) for key in told}, **roots, **cache})
        return (self._read(job) for _ in job.runs)

    def _send(self, data: Any) -> None:
        assert self._process.stdin is not None  # noqa: S101  (it was asked for)
        self._process.stdin.write(json.dumps(data) + "\n")
        self._process.stdin.flush()

    def _read(self, job: Job) -> Answer:
        assert self._process.stdout is not None  # noqa: S101  (it was asked for)
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"Salt's process ended in the middle of {job.name}")
        answer = json.loads(line)
        errors = tuple(map(str, answer.get("errors", ())))
        return Answer(low=tuple(answer.get("low", ())), errors=errors, seconds=answer["seconds"])

    def _roots(self, trees: Trees) -> dict[str, list[str]]:
        """The folders of a tree, written once for all jobs that share it."""
        if id(trees) not in self._written:
            top = self._folder / "trees" / str(len(self._written))
            self._written[id(trees)] = trees, {env: [write_tree(top / env, files)] for env, files in trees.items()}
        return self._written[id(trees)][1]


def write_tree(folder: Path, files: Mapping[str, bytes]) -> str:
    """Write files into a new folder."""
    folder.mkdir(parents=True)
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return str(folder)


def read_tree(folder: Path) -> dict[str, bytes]:
    """The files of a folder, those of git left out."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and ".git" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def ours(job: Job, memo: Memo | None = None) -> Iterator[Answer]:
    """Our answers, one a run."""
    given = {key: tuple(v) if isinstance(v, list) else v for key, v in job.settings.items() if key in _FIELDS}
    settings = CompileOptions(**given)
    compilation = Compilation(
        files=MemoryFiles(job.files),
        pillar_files=MemoryFiles(job.pillar),
        minion=Minion(id=job.minion, grains={**job.grains, "id": job.minion}),
        settings=settings,
        memo=memo,
        ports=CompilePorts(facts=_AnyArguments(recorded_facts())),
    )
    pillar = compilation.pillar(job.override)
    for sls in job.runs:
        started = time.perf_counter()
        problems, chunks = _run(compilation, sls, pillar)
        low = json.loads(json.dumps([chunk.as_salt() for chunk in chunks], default=str))
        yield Answer(low=tuple(low), errors=tuple(map(str, problems)), seconds=time.perf_counter() - started)


def _run(
    compilation: Compilation, sls: tuple[str, ...], pillar: PillarResult
) -> tuple[Sequence[Problem], Sequence[Chunk]]:
    if pillar.errors:
        return pillar.errors, ()
    place = Pos(file="state.apply")
    given = TopResult(matches={"base": sls}, locations={("base", name): place for name in sls})
    top = given if sls else compilation.top(pillar.pillar)
    if top.errors:
        return top.errors, ()
    high = compilation.high(top, pillar.pillar)
    chunks = compilation.low(high)
    return high.problems, chunks


class _AnyArguments:
    """Facts that hold whatever a function is called with."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._answers = answers

    def answer(self, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Fact | None:
        """See `highstate.ports.Facts`."""
        if fun == "sys.list_functions":
            return Fact(value=list(args)) if args[0] in self._answers else None
        return Fact(value=self._answers[fun]) if fun in self._answers else None


def recorded_facts() -> dict[str, Any]:
    """What both sides answer for the live machine: function -> answer."""
    facts: dict[str, Any] = yaml.safe_load(FACTS.read_text())
    return facts


def difference(mine: Answer, salts: Answer) -> str:
    """What is not the same in two answers, empty when all is. Of errors only that there are some is compared."""
    if mine.errors or salts.errors:
        if mine.errors and salts.errors:
            return ""
        return f"ours: {_shown(mine)}\n    Salt: {_shown(salts)}"
    theirs = tuple(map(_with_saltenv, salts.low))
    return "" if mine.low == theirs else _first_chunk(mine.low, theirs)


def _with_saltenv(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    """A chunk of Salt's; one whose `__env__` is no text, since `env` was meant, is one of base here."""
    return chunk if isinstance(chunk.get("__env__"), str) else {**chunk, "__env__": "base"}


def _first_chunk(mine: Sequence[Any], salts: Sequence[Any]) -> str:
    for index, (one, other) in enumerate(zip(mine, salts, strict=False)):
        if one != other:
            keys = sorted({*one, *other}, key=str)
            if any(one.get(key) != other.get(key) for key in ("__id__", "state", "fun", "name")):
                keys = ["state", "fun", "__id__", "name", "order"]
            else:
                keys = ["__id__", *(key for key in keys if one.get(key, ...) != other.get(key, ...))]
            mine_shown, salts_shown = ({key: chunk.get(key) for key in keys} for chunk in (one, other))
            return f"chunk {index}: ours {_text(mine_shown)}\n    Salt {_text(salts_shown)}"
    return f"ours has {len(mine)} chunks, Salt {len(salts)}"


def _shown(answer: Answer) -> str:
    return " | ".join(answer.errors)[:900] if answer.errors else f"no error, {_text(answer.low)[:200]}"


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)[:1500]
