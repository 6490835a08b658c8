"""One compile for all minions of a class: those whose SLS have the same shapes and differ in values alone.

Steps for a minion, called by `compiler` with what the top file gave it:
1. `find`: the SLS are rendered in the order in which another minion's compile came to them (a memo leads the way, by
   the shape of each). At its end is the class, or nothing.
2. When the second minion of a class comes, what the first one rendered is compiled once more with placeholders for its
   values; what comes out shows which values end where. It is kept if filling it gives exactly what the first's full
   compile gave.
3. This minion and further ones take over all chunks of the class whose values are the same objects, and fill the rest.
Anything unusual (a problem, a value that was looked at or stands in a warning) leaves a class without a plan: its
minions are compiled one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from highstate.compile.assemble import NOTHING, Taken
from highstate.compile.content import StateModules, content_of, gives_no_content
from highstate.compile.content_parts import SourceProblems
from highstate.compile.high import High
from highstate.compile.shapes import Placeholder, shape_of, with_placeholders
from highstate.data_limits import unbounded
from highstate.memo.memo import Memo
from highstate.memo.sources import Read, ReadSources
from highstate.memo.tracked import ReadFiles, Recorder
from highstate.render.context import RenderContext, RenderFailed
from highstate.render.pipeline import render_sls
from highstate.types import Chunk, Compiled, Content, Value

ValueLocation = tuple[int, Value]
"""Number of an SLS in the order of the compile, and an ID in it."""
Data = Mapping[Value, Value]


@dataclass(slots=True, eq=False)
class SharedCompile:
    """Minions of one class; `plan` is made when the second of them comes."""

    first: First | None
    """The one that was compiled in full; None when there is a plan, or can be none as values turned out to matter."""
    plan: SharedPlan | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkPart:
    """The content of a chunk, and the reads on which it stands; None where it must be made each time."""

    content: Content | None
    reads: Mapping[Read, bytes] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPlan:
    """A compiled minion of the class, and where its values ended."""

    compiled: Compiled
    data: tuple[Data, ...]
    """Of each SLS, in order."""
    placeholders: Mapping[int, Mapping[str, Placeholder]]
    """Index of a chunk -> argument -> placeholder."""
    chunks: Mapping[ValueLocation, tuple[int, ...]]
    """Indexes of the chunks that have values from a location."""
    bodies: Mapping[Value, Value]
    """Bodies of the high data with placeholders in them, by ID."""
    ids: Mapping[ValueLocation, tuple[Value, ...]]
    parts: tuple[ChunkPart, ...]
    reads: Mapping[Read, bytes]
    """Of all parts."""


class Walk(Recorder):
    """Records the SLS of a compile and the questions for files between them, for the minions that come after it."""

    def __init__(self, above: Recorder) -> None:
        super().__init__(above.sources)
        self._above = above
        self.data: list[Data] = []

    def record(self, read: Read) -> bytes:
        """Note a read here and in the record of the whole compile."""
        digest = self.reads[read] = self._above.record(read)
        return digest

    def take(self, saltenv: str, path: str, sls: str, data: dict[Value, Value]) -> dict[Value, Value]:
        """Called by `assemble` with each SLS."""
        self.data.append(data)
        self.reads["shape", saltenv, path, sls] = _NOT_YET
        return dict(data)

    def first(self, compiled: Compiled) -> First:
        """What `begin` keeps of it."""
        return First(reads=self.reads, data=tuple(self.data), compiled=compiled)


@dataclass(frozen=True, slots=True)
class First:
    """The compile of the first minion of a class."""

    reads: Mapping[Read, bytes]
    data: tuple[Data, ...]
    """Of each SLS, in order."""
    compiled: Compiled
    """Without pillar and id."""

    def shaped(self) -> dict[Read, bytes]:
        """Its reads with the shapes."""
        data = iter(self.data)
        return {read: shape_of(next(data)).digest if read[0] == "shape" else was for read, was in self.reads.items()}


_NOT_YET = b""


class _Shapes:
    """Answers a memo's questions for shapes by rendering."""

    def __init__(self, contexts: Mapping[str, RenderContext], recorder: Recorder) -> None:
        self._contexts = contexts
        self._recorder = recorder
        self.data: list[Data] = []

    def digest(self, read: Read) -> bytes:
        if read[0] != "shape":
            return self._recorder.record(read)
        _, saltenv, path, sls = read
        try:
            data = render_sls(path, self._contexts[saltenv], sls=sls).data or NOTHING
        except (RenderFailed, RecursionError):
            return b"?"
        if not isinstance(data, dict):
            return b"?"
        self.data.append(data)
        return shape_of(data).digest


def find(
    key: Hashable, memo: Memo, contexts: Mapping[str, RenderContext], recorder: Recorder
) -> tuple[SharedCompile, Sequence[Data]] | None:
    """The class of a minion and its SLS, in order; None when nobody like it was compiled yet."""
    shapes = _Shapes(contexts, recorder)
    alone = memo.find(("first", key), shapes)
    if alone is None:
        return None
    if alone.result is not None:  # it has company now
        memo.store(key, alone.result.shaped(), SharedCompile(first=alone.result))
        memo.store(("first", key), {}, None)
    hit = memo.find(key, shapes)
    return None if hit is None else (hit.result, tuple(shapes.data))


def begin(key: Hashable, memo: Memo, first: First, sources: ReadSources) -> None:
    """Keep a compile whose class is new. The shapes of the very first are left for when another minion comes."""
    if memo.find(("first", key), sources) is None:
        memo.store(("first", key), {}, first)
    else:
        memo.store(key, first.shaped(), SharedCompile(first=first))


@dataclass(slots=True)
class _Placing:
    """Gives an assembly, in the place of the SLS of one minion, those of the first with placeholders for its values."""

    first: Sequence[Data]
    like: Sequence[Data]
    _step: int = 0
    _same: bool = True
    _placeholders: list[Placeholder] = field(default_factory=list)

    def take(self, saltenv: str, path: str, sls: str, rendered: dict[Value, Value]) -> dict[Value, Value]:
        """Called with each SLS of the one, which are to be those of `like`, in order."""
        step = self._step
        if step >= min(len(self.like), len(self.first)) or rendered is not self.like[step]:
            self._same = False
            return rendered
        self._step += 1
        made, found = with_placeholders(self.first[step], step)
        self._placeholders += found
        return made

    @property
    def usable(self) -> bool:
        """Whether nothing but the shape of the SLS decided about what came out."""
        complete = self._same and self._step == len(self.like) == len(self.first)
        return complete and not any(placeholder.looked for placeholder in self._placeholders)


def planned(
    first: First,
    like: Sequence[Data],
    contexts: Mapping[str, RenderContext],
    assembled: Callable[[Taken], High],
    lowered: Callable[[High], tuple[Chunk, ...]],
) -> SharedPlan | None:
    """The plan of the class of a minion that was compiled in full; None when there can be none.

    Args:
        first: that minion.
        like: SLS of another one, of the same shapes.
        contexts: of the other one.
        assembled: makes high data of the SLS that a function gives in the place of those of the other one.
        lowered: makes chunks of high data.
    """
    compiled = first.compiled
    tags = {chunk.tag for chunk in compiled.lowstate}
    if not compiled.ok or len(tags) < len(compiled.lowstate):
        return None
    taking = _Placing(first.data, like)
    high = assembled(taking.take)
    highstate = high.as_salt()
    chunks = lowered(high)
    if high.problems or tuple(high.warnings) != compiled.warnings or not taking.usable:
        return None
    filled = tuple(replace(chunk, arguments=filled_arguments(chunk.arguments)) for chunk in chunks)
    whole = {id_: with_values(body) for id_, body in highstate.items()}
    if filled != compiled.lowstate or whole != compiled.highstate:
        return None
    in_chunks = {index: found for index, chunk in enumerate(chunks) if (found := _placeholders_in(chunk.arguments))}
    bodies = {
        id_: body
        for id_, body in highstate.items()
        if isinstance(body, dict) and next(_placeholders_of(body), None) is not None
    }
    problems = SourceProblems()
    parts = tuple(part_of(chunk, contexts, problems) for chunk in compiled.lowstate)
    if problems.any:  # the files are others than when the first was compiled
        return None
    return SharedPlan(
        compiled=compiled,
        data=first.data,
        placeholders=in_chunks,
        chunks=_by_location(
            (placeholder.location, index) for index, found in in_chunks.items() for placeholder in found.values()
        ),
        bodies=bodies,
        ids=_by_location(
            (placeholder.location, id_) for id_, body in bodies.items() for placeholder in _placeholders_of(body)
        ),
        parts=parts,
        reads={read: was for part in parts for read, was in (part.reads or {}).items()},
    )


def filled(
    plan: SharedPlan, data: Sequence[Data], contexts: Mapping[str, RenderContext], recorder: Recorder
) -> Compiled | None:
    """The plan's minion with another one's values; None when that one has to be compiled in full."""
    fresh = _Fresh(plan, data)
    if any(unbounded(data[step]) for step in fresh.nested_steps()):
        return None
    chunks = list(plan.compiled.lowstate)
    for location in fresh.locations:
        for index in plan.chunks.get(location, ()):
            if chunks[index] is plan.compiled.lowstate[index]:
                arguments = {**chunks[index].arguments}
                arguments |= {key: fresh.value(placeholder) for key, placeholder in plan.placeholders[index].items()}
                chunks[index] = replace(chunks[index], arguments=arguments)
    contents: dict[str, Content] = {}
    found = SourceProblems()
    modules: StateModules = {}
    other = {read for read, was in plan.reads.items() if recorder.record(read) != was}
    for index, (chunk, part) in enumerate(zip(chunks, plan.parts, strict=True)):
        content = part.content
        if (
            part.reads is None
            or not other.isdisjoint(part.reads)
            or (chunk is not plan.compiled.lowstate[index] and not _without_content(plan, index, chunk))
        ):
            content = content_of(chunk, contexts, found, modules)
        if content is not None:
            contents[chunk.tag] = content
    if found.any:
        return None
    highstate = dict(plan.compiled.highstate)
    for location in fresh.locations:
        for id_ in plan.ids.get(location, ()):
            highstate[id_] = with_values(plan.bodies[id_], fresh)
    return replace(
        plan.compiled, lowstate=tuple(chunks), highstate=highstate, contents=contents, like=plan.compiled.lowstate
    )


def _without_content(plan: SharedPlan, index: int, chunk: Chunk) -> bool:
    """Whether a chunk with other values than the plan's has no content, as that of the plan."""
    was = plan.compiled.lowstate[index].arguments
    return plan.parts[index].content is None and all(
        gives_no_content(name, was[name], chunk.arguments[name]) for name in plan.placeholders[index]
    )


@dataclass(slots=True)
class _Fresh:
    """Where a minion's SLS are others than the plan's."""

    plan: SharedPlan
    data: Sequence[Data]
    steps: list[int] = field(default_factory=list)
    locations: list[ValueLocation] = field(default_factory=list)
    _values: dict[int, Mapping[Value, tuple[Value, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for step, (was, now) in enumerate(zip(self.plan.data, self.data, strict=True)):
            if was is not now:
                self.steps.append(step)
                self._values[step] = shape_of(now).values
                self.locations += [(step, id_) for id_, declaration in now.items() if declaration is not was[id_]]

    def nested_steps(self) -> set[int]:
        """Those with mappings or lists among the values: others have as many values as the plan's, and no deeper."""
        nested = (dict, list, tuple)
        return {step for step, id_ in self.locations if any(isinstance(v, nested) for v in self._of(step, id_))}

    def _of(self, step: int, id_: Value) -> tuple[Value, ...]:
        return self._values[step].get(id_, ())

    def value(self, placeholder: Placeholder) -> Value:
        """The value of this minion for a placeholder."""
        step, id_ = placeholder.location
        return self._values[step][id_][placeholder.number] if step in self._values else placeholder.value


def part_of(chunk: Chunk, contexts: Mapping[str, RenderContext], found: SourceProblems) -> ChunkPart:
    """The content of a chunk with what it stands on; what is wrong with its sources is added to `found`."""
    reads = Recorder(next(iter(contexts.values())).sources)
    recording = {env: context.recording(reads, ReadFiles(reads)) for env, context in contexts.items()}
    content = content_of(chunk, recording, found)
    return ChunkPart(content=content, reads=None if reads.live else reads.reads)


def filled_arguments(arguments: Mapping[str, Value]) -> dict[str, Value]:
    """Arguments with values for their placeholders."""
    return {key: value.value if isinstance(value, Placeholder) else value for key, value in arguments.items()}


def with_values(body: Value, fresh: _Fresh | None = None) -> Value:
    """A body of the high data with values for its placeholders."""
    if not isinstance(body, dict):
        return body
    return {
        state: [_argument(argument, fresh) for argument in run] if isinstance(run, list) else run
        for state, run in body.items()
    }


def _argument(argument: Value, fresh: _Fresh | None) -> Value:
    if not isinstance(argument, dict):
        return argument
    return {
        key: (fresh.value(value) if fresh else value.value) if isinstance(value, Placeholder) else value
        for key, value in argument.items()
    }


def _placeholders_in(arguments: Mapping[str, Value]) -> dict[str, Placeholder]:
    return {key: value for key, value in arguments.items() if isinstance(value, Placeholder)}


def _placeholders_of(body: Mapping[Value, Value]) -> Iterator[Placeholder]:
    for run in body.values():
        for argument in run if isinstance(run, list) else ():
            if isinstance(argument, dict):
                yield from _placeholders_in(argument).values()


def _by_location(pairs: Iterator[tuple[ValueLocation, Any]]) -> dict[ValueLocation, tuple[Any, ...]]:
    found: dict[ValueLocation, dict[Any, None]] = {}
    for location, what in pairs:
        found.setdefault(location, {})[what] = None
    return {location: tuple(whats) for location, whats in found.items()}
