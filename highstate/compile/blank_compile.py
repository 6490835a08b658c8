"""One compile with blanks, filled in for every minion that differs in the values of the blanks alone.

Steps for a minion, called by `compiler`:
1. `find`: a memo leads to the plan whose reads give the same here; of a blank that is any text that may be filled in.
2. `filled`: the texts of this minion take the place of the marks, chunk by chunk. None where a value would make a
   number of a scalar, or two texts the same: that minion is compiled as all were before.
3. When a minion took more than a few renders, `learn` compares what was read of it with what was read of the first of
   its kind, and compiles it once more with blanks for the texts that differ. The plan is kept only if filling it in
   gives exactly what the minion's own compile gave.
Law (property-tested): filled in = compiled afresh. Source: docs/adr/0026-blanks.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from highstate.compile.assemble import Taken
from highstate.compile.blank_shapes import ComparedTexts, Placed, compared_texts
from highstate.compile.content import StateModules, content_of, gives_no_content
from highstate.compile.content_parts import SourceProblems
from highstate.compile.high import High
from highstate.compile.shared_compile import ChunkPart, filled_arguments, part_of, with_values
from highstate.memo.blank_plans import find_plan, learn_plan, texts_of
from highstate.memo.blank_recorder import BlankInputs
from highstate.memo.blanks import (
    BlankRefused,
    Filled,
    Leaf,
    NotAlike,
    fill,
    form_of,
    has_blanks,
    may_have_blanks,
)
from highstate.memo.memo import Memo
from highstate.memo.sources import Read, ReadSources
from highstate.memo.tracked import ReadFiles, Recorder
from highstate.render.context import RenderContext
from highstate.render.yaml.blank_scalars import BlankScalars
from highstate.types import Chunk, Compiled, Content, Value

Contexts = Mapping[str, RenderContext]


@dataclass(frozen=True, slots=True)
class _BlankChunk:
    """A chunk with blanks."""

    index: int
    chunk: Chunk
    id: Filled | None
    name: Filled | None
    arguments: tuple[tuple[str, Filled], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlankPlan:
    """A compile with blanks."""

    leaves: tuple[Leaf, ...]
    compiled: Compiled
    """With marks in the place of the blanks."""
    chunks: tuple[_BlankChunk, ...]
    blank_keys: bool
    """Whether there are blanks in keys below the IDs of the high data."""
    compared: ComparedTexts
    scalars: BlankScalars
    parts: tuple[ChunkPart, ...]
    reads: Mapping[Read, bytes]
    """Of all parts."""
    watched: tuple[int, ...]
    """Indexes of the chunks that have content, or may have some with other values."""


def find(key: tuple[Hashable, ...], memo: Memo, contexts: Contexts, recorder: Recorder) -> Compiled | None:
    """A minion's compile, filled in; None when it has to be compiled."""
    hit = find_plan(key, memo, recorder.sources)
    if hit is None:
        return None
    made = filled(hit.result, contexts, recorder)
    if made is not None:
        recorder.absorb(hit.reads)
    return made


def filled(plan: BlankPlan, contexts: Contexts, recorder: Recorder) -> Compiled | None:
    """The plan with the texts of a minion; None when it has to be compiled."""
    texts = texts_of(plan.leaves, recorder.sources)
    try:
        plan.compared.check(texts)
        plan.scalars.check(texts)
        chunks = list(plan.compiled.lowstate)
        for blank in plan.chunks:
            chunks[blank.index] = _filled_chunk(blank, texts)
        if plan.compared.tags and len({chunk.tag for chunk in chunks}) < len(chunks):
            return None
        highstate = FilledHighstate(plan, texts)
        if plan.blank_keys:
            len(dict(highstate))  # which finds keys that are the same now
        contents = _contents(plan, chunks, contexts, recorder)
    except NotAlike:
        return None
    if contents is None:
        return None
    like = plan.compiled.lowstate
    return replace(plan.compiled, lowstate=tuple(chunks), highstate=highstate, contents=contents, like=like)


def _filled_chunk(blank: _BlankChunk, texts: Sequence[str]) -> Chunk:
    chunk = blank.chunk
    arguments = dict(chunk.arguments)
    for key, form in blank.arguments:
        arguments[key] = form(texts)
    return Chunk(
        state=chunk.state,
        fun=chunk.fun,
        id=chunk.id if blank.id is None else str(blank.id(texts)),
        name=chunk.name if blank.name is None else str(blank.name(texts)),
        sls=chunk.sls,
        saltenv=chunk.saltenv,
        order=chunk.order,
        arguments=arguments,
        pos=chunk.pos,
    )


class FilledHighstate(Mapping[Any, Value]):
    """The high data of a minion, filled in when somebody asks for it, which is seldom."""

    __slots__ = ("_filled", "_plan", "_texts")

    def __init__(self, plan: BlankPlan, texts: Sequence[str]) -> None:
        self._plan = plan
        self._texts = texts
        self._filled: dict[Value, Value] | None = None

    def _whole(self) -> dict[Value, Value]:
        if self._filled is None:
            items = self._plan.compiled.highstate.items()
            self._filled = {fill(id_, self._texts): fill(body, self._texts) for id_, body in items}
        return self._filled

    def __getitem__(self, id_: Any) -> Value:
        return self._whole()[id_]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._plan.compiled.highstate)

    def __repr__(self) -> str:
        return repr(self._whole())


def _contents(
    plan: BlankPlan, chunks: Sequence[Chunk], contexts: Contexts, recorder: Recorder
) -> dict[str, Content] | None:
    """What the chunks read of the tree; None where something is wrong with it."""
    contents: dict[str, Content] = {}
    found = SourceProblems()
    modules: StateModules = {}
    other = {read for read, was in plan.reads.items() if recorder.record(read) != was}
    for index in range(len(plan.parts)) if other else plan.watched:
        part, chunk = plan.parts[index], chunks[index]
        content = part.content
        was = plan.compiled.lowstate[index]
        if (
            part.reads is None
            or not other.isdisjoint(part.reads)
            or (chunk is not was and not (content is None and _without_content(was, chunk)))
        ):
            content = content_of(chunk, contexts, found, modules)
        if content is not None:
            contents[chunk.tag] = content
    return None if found.any else contents


def _without_content(was: Chunk, chunk: Chunk) -> bool:
    """Whether a chunk has no content, as it had none with marks."""
    if was.name is not chunk.name and not gives_no_content("name", was.name, chunk.name):
        return False
    new = chunk.arguments
    return all(new[key] is old or gives_no_content(key, old, new[key]) for key, old in was.arguments.items())


@dataclass(frozen=True, slots=True)
class Compiling:
    """How `compiler` goes from contexts to high data, and from there to chunks."""

    assembled: Callable[[Contexts, Taken], High]
    lowered: Callable[[High], tuple[Chunk, ...]]


def learn(
    key: tuple[Hashable, ...],
    memo: Memo,
    compiled: Compiled,
    contexts: Contexts,
    recorder: Recorder,
    compiling: Compiling,
    costs: tuple[float, float],
) -> None:
    """Make a plan of what a minion's compile shows, if there can be one; `costs`: of it, and of one in full."""
    learn_plan(
        key,
        memo,
        recorder,
        lambda blanks, reads: _plan(blanks, contexts, reads, compiling, compiled.matches),
        lambda plan: _is_right(plan, compiled, contexts, recorder.sources),
        cost=costs[0],
        whole=costs[1],
    )


def _is_right(plan: BlankPlan, compiled: Compiled, contexts: Contexts, sources: ReadSources) -> bool:
    made = filled(plan, contexts, Recorder(sources))
    if made is None:
        return False
    return all(
        repr(getattr(made, name)) == repr(getattr(compiled, name))
        for name in ("lowstate", "highstate", "contents", "warnings", "errors", "matches")
    )


def _plan(
    blanks: BlankInputs,
    contexts: Contexts,
    reads: Recorder,
    compiling: Compiling,
    matches: Mapping[str, tuple[str, ...]],
) -> BlankPlan:
    """The compile with blanks; BlankRefused when there can be none."""
    files = ReadFiles(reads)
    with_blanks = {env: replace(context, blanks=blanks, reads=reads, files=files) for env, context in contexts.items()}
    placed = Placed()
    steps = iter(range(1_000_000))

    def take(saltenv: str, path: str, sls: str, data: dict[Value, Value]) -> dict[Value, Value]:
        placed.compared.add(sls)
        return placed.place(data, next(steps))

    high = compiling.assembled(with_blanks, take)
    shown = {id_: with_values(body) for id_, body in high.as_salt().items()}
    lowered = compiling.lowered(high)
    if high.problems or any(placeholder.looked for placeholder in placed.placeholders):
        raise BlankRefused
    chunks = tuple(replace(chunk, arguments=filled_arguments(chunk.arguments)) for chunk in lowered)
    if any(has_blanks(repr(warning)) for warning in high.warnings):
        raise BlankRefused
    problems = SourceProblems()
    texts = texts_of(blanks.leaves, blanks.real)
    found = [_blank_chunk(index, chunk) for index, chunk in enumerate(chunks)]
    whole = (chunk if one is None else _filled_chunk(one, texts) for chunk, one in zip(chunks, found, strict=True))
    parts = tuple(part_of(chunk, contexts, problems) for chunk in whole)
    if problems.any:
        raise BlankRefused
    compiled = Compiled(minion_id="", lowstate=chunks, highstate=shown, matches=matches, warnings=tuple(high.warnings))
    blanks_in_chunks = tuple(one for one in found if one is not None)
    changing = {one.index for one in blanks_in_chunks}
    return BlankPlan(
        leaves=blanks.leaves,
        compiled=compiled,
        chunks=blanks_in_chunks,
        blank_keys=any(map(_has_blank_keys, filter(may_have_blanks, shown.values()))),
        compared=compared_texts(placed, chunks),
        scalars=BlankScalars.of(blanks.scalars),
        parts=parts,
        reads={read: was for part in parts for read, was in (part.reads or {}).items()},
        watched=tuple(
            index
            for index, part in enumerate(parts)
            if index in changing or part.content is not None or part.reads is None
        ),
    )


def _has_blank_keys(value: Value) -> bool:
    if isinstance(value, dict):
        return any(isinstance(key, str) and has_blanks(key) for key in value) or any(
            map(_has_blank_keys, value.values())
        )
    return isinstance(value, list | tuple) and any(map(_has_blank_keys, value))


def _blank_chunk(index: int, chunk: Chunk) -> _BlankChunk | None:
    id_, name = form_of(chunk.id), form_of(chunk.name)
    if id_ is None and name is None and not may_have_blanks(chunk.arguments):
        return None
    arguments = tuple((key, form) for key, value in chunk.arguments.items() if (form := form_of(value)) is not None)
    if id_ is None and name is None and not arguments:
        return None
    return _BlankChunk(index, chunk, id_, name, arguments)
