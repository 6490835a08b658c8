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

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

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
    bodies: tuple[tuple[Value, Filled | None, Filled | None], ...]
    """ID in the high data, and what fills in it and its body."""
    compared: ComparedTexts
    scalars: BlankScalars
    parts: tuple[ChunkPart, ...]
    reads: Mapping[Read, bytes]
    """Of all parts."""


def find(key: tuple[Hashable, ...], memo: Memo, contexts: Contexts, recorder: Recorder) -> Compiled | None:
    """A minion's compile, filled in; None when it has to be compiled."""
    known = find_plan(key, memo, recorder.sources)
    if known is None:
        return None
    hit, history = known
    made = filled(hit.result, contexts, recorder)
    if made is not None:
        recorder.absorb(hit.reads)
        history.used += 1
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
        if plan.compared.forms and len({chunk.tag for chunk in chunks}) < len(chunks):
            return None
        contents = _contents(plan, chunks, contexts, recorder)
        if contents is None:
            return None
        highstate = _filled_highstate(plan, texts)
    except NotAlike:
        return None
    return replace(
        plan.compiled,
        lowstate=tuple(chunks),
        highstate=highstate,
        contents=contents,
        like=plan.compiled.lowstate,
    )


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


def _filled_highstate(plan: BlankPlan, texts: Sequence[str]) -> dict[str, Value]:
    if any(id_form is not None for _, id_form, _ in plan.bodies):
        blank = {id_: (id_form, form) for id_, id_form, form in plan.bodies}
        nothing = None, None
        return {
            (id_ if blank.get(id_, nothing)[0] is None else fill(id_, texts)): (
                body if blank.get(id_, nothing)[1] is None else fill(body, texts)
            )
            for id_, body in plan.compiled.highstate.items()
        }
    highstate = dict(plan.compiled.highstate)
    for id_, _, form in plan.bodies:
        if form is not None:
            highstate[id_] = form(texts)
    return highstate


def _contents(
    plan: BlankPlan, chunks: Sequence[Chunk], contexts: Contexts, recorder: Recorder
) -> dict[str, Content] | None:
    """What the chunks read of the tree; None where something is wrong with it."""
    contents: dict[str, Content] = {}
    found = SourceProblems()
    modules: StateModules = {}
    other = {read for read, was in plan.reads.items() if recorder.record(read) != was}
    for index, part in enumerate(plan.parts):
        chunk, content = chunks[index], part.content
        changed = chunk is not plan.compiled.lowstate[index]
        if (
            part.reads is None
            or not other.isdisjoint(part.reads)
            or (changed and not (content is None and _without_content(plan.compiled.lowstate[index], chunk)))
        ):
            content = content_of(chunk, contexts, found, modules)
        if content is not None:
            contents[chunk.tag] = content
    return None if found.any else contents


def _without_content(was: Chunk, chunk: Chunk) -> bool:
    """Whether a chunk has no content, as it had none with marks."""
    return (was.name is chunk.name or gives_no_content("name", was.name, chunk.name)) and all(
        gives_no_content(key, old, chunk.arguments[key]) for key, old in was.arguments.items()
    )


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
) -> None:
    """Make a plan of what a minion's compile shows, if there can be one."""
    learn_plan(
        key,
        memo,
        recorder,
        lambda blanks, reads: _plan(blanks, contexts, reads, compiling, compiled.matches),
        lambda plan: _is_right(plan, compiled, contexts, recorder.sources),
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
    with_blanks = {
        env: replace(context, memo=None, blanks=blanks, reads=reads, files=files) for env, context in contexts.items()
    }
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
    parts = tuple(part_of(_whole(chunk, texts), contexts, problems) for chunk in chunks)
    if problems.any:
        raise BlankRefused
    compiled = Compiled(minion_id="", lowstate=chunks, highstate=shown, matches=matches, warnings=tuple(high.warnings))
    bodies = ((id_, form_of(id_), form_of(body)) for id_, body in shown.items())
    return BlankPlan(
        leaves=blanks.leaves,
        compiled=compiled,
        chunks=tuple(blank for index, chunk in enumerate(chunks) if (blank := _blank_chunk(index, chunk)) is not None),
        bodies=tuple(body for body in bodies if body[1] is not None or body[2] is not None),
        compared=compared_texts(placed, chunks),
        scalars=BlankScalars.of(blanks.scalars),
        parts=parts,
        reads={read: was for part in parts for read, was in (part.reads or {}).items()},
    )


def _whole(chunk: Chunk, texts: Sequence[str]) -> Chunk:
    """A chunk as the minion has it of which the plan is made."""
    blank = _blank_chunk(0, chunk)
    return chunk if blank is None else _filled_chunk(blank, texts)


def _blank_chunk(index: int, chunk: Chunk) -> _BlankChunk | None:
    id_, name = form_of(chunk.id), form_of(chunk.name)
    arguments = tuple((key, form) for key, value in chunk.arguments.items() if (form := form_of(value)) is not None)
    if id_ is None and name is None and not arguments:
        return None
    return _BlankChunk(index, chunk, id_, name, arguments)
