"""What templates write on both sides of a change, rendered in the compile worker of previews, and compared here.

Steps for some minions, called by `comparison` in its thread:
1. `note`: which states of a minion differ in content, with their pillar on both sides.
2. `questions`: what has to be rendered for that. What is known by the digest of its content is not asked again, so
   that a template that writes the same on all minions is rendered once.
3. `answered`: the answers; a text counts where its digest is that of the document, whatever the worker says.
4. `shown`: the resources of a minion with the difference of the texts, and the pillar keys that were read for them.

A text is redacted before it is compared: what stands on several lines is not found in a difference.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from controller.compilation.compile_messages import CompiledMinion, RenderedFile, RenderedState, RenderQuestion
from controller.preview.contents.pillar_keys import KeyPath, differing_keys
from controller.reconcile.plan import ChangeKind, ChunkChange
from controller.reconcile.source_differences import text_difference
from controller.schema.reports import FileDiff, PillarKey, ResourceChange
from highstate.desired import Desired
from highstate.redaction import Redaction
from highstate.types import Chunk, Value

_MOST_CHARACTERS = 16 * 1024 * 1024
"""Of the texts that are kept for other minions."""
_MOST_DIFFERENCES = 2_000
"""That are kept for other minions."""
_MOST_PILLAR = 5
"""Keys of the pillar that are named for one state."""
_MOST_FILES = 20
"""Files of one state that are shown."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One side of one state."""

    key: str
    chunk: Chunk
    digest: str
    """Of its content in the document; empty where it has none."""
    known_as: tuple[object, ...]
    """By which the answer is found again, also for other minions."""


@dataclass(frozen=True, slots=True)
class _Changed:
    """A state of a minion that is looked at; `place`: among its resources."""

    place: int
    old: _Part | None
    new: _Part | None


@dataclass(frozen=True, slots=True)
class _Noted:
    """What is rendered of one minion."""

    pillars: tuple[Mapping[str, Value], Mapping[str, Value]]
    keys: tuple[KeyPath, ...]
    """Of the pillar; those that differ."""
    changed: tuple[_Changed, ...]


@dataclass(slots=True)
class RenderedTexts:
    """The texts of one preview; for one thread at a time.

    Args:
        most: states that are rendered on each side.
    """

    most: int = 2_000
    left_out: set[str] = field(default_factory=set)
    """Minions of which something is not rendered, as there is too much."""
    _asked: list[int] = field(default_factory=lambda: [0, 0])
    """Of them, on each side."""
    _noted: dict[str, _Noted] = field(default_factory=dict)
    _known: OrderedDict[tuple[object, ...], RenderedState] = field(default_factory=OrderedDict)
    _characters: int = 0
    _differences: dict[bytes, str] = field(default_factory=dict)

    def note(self, minion: str, changes: Sequence[ChunkChange], old: Desired | None, new: Desired) -> None:
        """A minion's changes, in the order of its resources."""
        keys = differing_keys(old.pillar, new.pillar) if old is not None else ()
        found = [
            one for place, change in enumerate(changes) if (one := _changed(place, change, old, new, keys)) is not None
        ]
        if found:
            self._noted[minion] = _Noted((old.pillar if old else {}, new.pillar), keys, tuple(found))

    @property
    def noted(self) -> Iterable[str]:
        """Minions of which something is rendered."""
        return self._noted.keys()

    def questions(self) -> tuple[dict[str, RenderQuestion], dict[str, RenderQuestion]]:
        """Minion -> what is rendered of the base, and of the head."""
        asked: set[tuple[object, ...]] = set()
        sides: tuple[dict[str, RenderQuestion], dict[str, RenderQuestion]] = {}, {}
        for minion, noted in self._noted.items():
            for number, side in enumerate(sides):
                parts = [one.old if number == 0 else one.new for one in noted.changed]
                chunks = {part.key: part.chunk for part in self._new(minion, parts, asked, number)}
                if chunks:
                    side[minion] = RenderQuestion(pillar=noted.pillars[number], chunks=chunks, pillar_keys=noted.keys)
        return sides

    def _new(
        self, minion: str, parts: Iterable[_Part | None], asked: set[tuple[object, ...]], side: int
    ) -> Iterator[_Part]:
        """Those that nobody has asked for yet."""
        for part in parts:
            if part is None or part.known_as in self._known or part.known_as in asked:
                continue
            if self._asked[side] >= self.most:
                self.left_out.add(minion)
                return
            self._asked[side] += 1
            asked.add(part.known_as)
            yield part

    def answered(self, before: Sequence[CompiledMinion], after: Sequence[CompiledMinion]) -> None:
        """What a worker has rendered."""
        for answers, side in ((before, "old"), (after, "new")):
            for answer in answers:
                noted = self._noted.get(answer.minion_id)
                parts = [getattr(one, side) for one in noted.changed] if noted else []
                by_key = {part.key: part for part in parts if part is not None}
                for state in answer.rendered:
                    if (part := by_key.get(state.key)) is not None:
                        self._keep(part, state)

    def _keep(self, part: _Part, state: RenderedState) -> None:
        if state.digest != part.digest:
            state = structs.replace(state, files=())  # of another tree than the document
        if part.known_as not in self._known:
            self._characters += _characters(state)
        self._known[part.known_as] = state

    def shown(
        self, minion: str, resources: tuple[ResourceChange, ...], redaction: Redaction
    ) -> tuple[ResourceChange, ...]:
        """The minion's resources with what was rendered."""
        noted, found = self._noted.get(minion), list(resources)
        for one in noted.changed if noted else ():
            found[one.place] = self._shown(found[one.place], one, redaction)
        return tuple(found)

    def settle(self) -> None:
        """These minions are done: their pillars are not needed any more, nor all of the texts."""
        self._noted.clear()
        while self._characters > _MOST_CHARACTERS:
            _, state = self._known.popitem(last=False)
            self._characters -= _characters(state)
        if len(self._differences) > _MOST_DIFFERENCES:
            self._differences.clear()

    def _shown(self, resource: ResourceChange, one: _Changed, redaction: Redaction) -> ResourceChange:
        old, new = (self._known.get(part.known_as) if part else None for part in (one.old, one.new))
        read = dict.fromkeys((*(new.pillar if new else ()), *(old.pillar if old else ())))
        pillar = tuple(PillarKey(path=redaction.text(path)) for path in list(read)[:_MOST_PILLAR])
        resource = structs.replace(resource, pillar=pillar)
        texts = [bool(part and part.digest) for part in (one.old, one.new)]
        if not any(texts) or (all(texts) and one.old and one.new and one.old.digest == one.new.digest):
            return resource
        if any(part and part.digest and found is None for part, found in ((one.old, old), (one.new, new))):
            return resource
        return structs.replace(resource, files=self._files(resource, old, new, redaction))

    def _files(
        self, resource: ResourceChange, old: RenderedState | None, new: RenderedState | None, redaction: Redaction
    ) -> tuple[FileDiff, ...]:
        before, after = ({file.name: file for file in state.files} if state else {} for state in (old, new))
        of_sources = {each.path: each for each in resource.files if each.path.startswith("salt://")}
        found: list[FileDiff] = []
        there_alone: list[FileDiff] = []
        for name in dict.fromkeys((*after, *before)):
            pair = before.get(name), after.get(name)
            sources = [redaction.text(f"salt://{file.source}") for file in pair if file and file.source]
            source = next((of_sources.pop(each) for each in dict.fromkeys(sources) if each in of_sources), None)
            path = redaction.text(name)
            if any(file is not None and file.size < 0 for file in pair):
                note = _on_the_machine(pair)
                there_alone.append(FileDiff(path=path, note=note))
                found += [structs.replace(source, note=note)] if source is not None else []
            else:
                found += self._compared(path, pair, redaction)
        found += of_sources.values()
        found = found or there_alone or list(resource.files)
        more = len(found) - _MOST_FILES
        return (*found[:_MOST_FILES], *([FileDiff(path="", note=f"{more} more files differ")] if more > 0 else []))

    def _compared(
        self, path: str, pair: tuple[RenderedFile | None, RenderedFile | None], redaction: Redaction
    ) -> Sequence[FileDiff]:
        if any(file is not None and file.text is None for file in pair):
            sizes = " -> ".join(str(file.size if file else 0) for file in pair)
            return [FileDiff(path=path, note=f"{sizes} characters; too large to be compared here")]
        old, new = (redaction.text(file.text or "") if file else "" for file in pair)
        if old == new and None not in pair:
            return []
        old_path, new_path = (path if file else "/dev/null" for file in pair)
        told = "\0".join((old_path, new_path, str(len(old)), old, new)).encode(errors="surrogatepass")
        digest = hashlib.blake2b(told, digest_size=16).digest()
        if digest not in self._differences:
            self._differences[digest] = text_difference(old, new, old_path, new_path)
        text, source = self._differences[digest], next((file.source for file in reversed(pair) if file), "")
        source = redaction.text(source)
        is_text = text.startswith("--- ")
        return [FileDiff(path=path, source=source, text=text if is_text else "", note="" if is_text else text)]


def _on_the_machine(pair: Iterable[RenderedFile | None]) -> str:
    needed = dict.fromkeys(fun for file in pair if file for fun in file.live)
    return "rendered on the machine" + (f": it needs {', '.join(needed)}" if needed else "")


def _characters(state: RenderedState) -> int:
    return sum(len(file.text or "") for file in state.files)


def _changed(
    place: int, change: ChunkChange, old: Desired | None, new: Desired, keys: tuple[KeyPath, ...]
) -> _Changed | None:
    """What is rendered of a change; None where nothing has to be."""
    if change.kind is ChangeKind.RETRIGGERED:
        return None
    before = _part("old", change, old, keys) if change.kind is not ChangeKind.ADDED else None
    after = _part("new", change, new, keys) if change.kind is not ChangeKind.REMOVED else None
    digests = [part.digest for part in (before, after) if part is not None]
    same = len(digests) == 2 and digests[0] == digests[1]
    return _Changed(place, before, after) if keys or (any(digests) and not same) else None


def _part(side: str, change: ChunkChange, desired: Desired | None, keys: tuple[KeyPath, ...]) -> _Part | None:
    chunk = desired.chunks.get(change.key) if desired is not None else None
    if chunk is None or desired is None:
        return None
    digest = desired.contents.get(change.key, "")
    known_as = (change.key, digest, keys) if digest else (side, chunk.saltenv, chunk.sls, keys)
    return _Part(change.key, chunk, digest, known_as)
