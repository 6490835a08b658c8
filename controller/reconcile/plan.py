"""What a push changes for one minion: the semantic difference of two desired documents. Pure.

Called by the loop (which chunks to run), by `saltern diff` and by previews (what to show).

1. Chunks are paired by (state, id, name): added, removed, or changed by field. Where a chunk stands (its order, the
   SLS that it came from) is not a change.
2. A chunk whose fields are equal but whose content digest differs is changed in content: a source file, or a template
   whose result is another.
3. Chunks that a changed one may trigger (watch, onchanges, listen, onfail, prereq) are re-triggered: they must run so
   that they can see whether something happened. So must those that use what a changed one makes: the file that a
   file.accumulated is for, states that read a path which a touched state writes (file.copy, a local source, another
   edit of the same file), and those whose `onlyif` or `unless` asks of it.
4. What is run is all of these and, transitively, what they require, in the order of the document.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from controller.reconcile.inputs import gathers
from controller.reconcile.links import LINK_KINDS, Links, links_of
from highstate.desired import Desired
from highstate.types import Chunk, Value

FindLinks: TypeAlias = Callable[[Mapping[str, Chunk]], Links]

_NOT_SEMANTIC = frozenset({"order", "__sls__", "__env__", "__id__", "__sls_included_from__", "state", "fun", "name"})


class ChangeKind(enum.Enum):
    """How a chunk is touched."""

    ADDED = "added"
    CHANGED = "changed"
    CONTENT = "content"
    REMOVED = "removed"
    RETRIGGERED = "retriggered"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One argument of a chunk; a side that had none is None."""

    name: str
    old: Value
    new: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkChange:
    """One chunk that a push touches."""

    kind: ChangeKind
    key: str
    chunk: Chunk
    """The new one; the old one when removed."""
    fields: tuple[FieldChange, ...] = ()
    because: tuple[str, ...] = ()
    """Keys of the chunks that re-trigger it."""

    @property
    def title(self) -> str:
        """`nginx.conf (file.managed)` as people read it."""
        name = "" if self.chunk.name == self.chunk.id else f" [{self.chunk.name}]"
        return f"{self.chunk.id}{name} ({self.chunk.state}.{self.chunk.fun})"


@dataclass(frozen=True, slots=True, kw_only=True)
class PushPlan:
    """The difference, in the order of the new document (removed chunks last), and what it takes to apply it."""

    changes: tuple[ChunkChange, ...] = ()
    run: tuple[str, ...] = ()
    """Keys to run, in order: added, changed, content, re-triggered and their requirements."""

    @property
    def empty(self) -> bool:
        """Nothing is touched."""
        return not self.changes


def plan(old: Desired | None, new: Desired, links_in: FindLinks = links_of) -> PushPlan:
    """The difference between what was applied and what is desired.

    Args:
        old: what was applied; None for a minion to which nothing was applied yet.
        new: what is desired.
        links_in: finds the links of the chunks of `new`.
    """
    before = _by_identity(old.chunks) if old else {}
    after = _by_identity(new.chunks)
    changes: dict[str, ChunkChange] = {}
    for identity, key in after.items():
        change = _compare(old, before.get(identity), new, key)
        if change is not None:
            changes[key] = change
    removed = [
        ChunkChange(kind=ChangeKind.REMOVED, key=key, chunk=old.chunks[key])
        for identity, key in before.items()
        if old and identity not in after
    ]
    if not changes and not removed:
        return PushPlan()
    links = links_in(new.chunks)
    changes |= _retriggered(changes, links, new.chunks)
    changes |= _without_text_of(removed, changes, new.chunks)
    shown = [changes[key] for key in new.chunks if key in changes]
    return PushPlan(changes=(*shown, *removed), run=links.closure(changes))


def _by_identity(chunks: Mapping[str, Chunk]) -> dict[tuple[str, str, str, int], str]:
    """(state, id, name, which of its equals) -> key."""
    found: dict[tuple[str, str, str, int], str] = {}
    for key, chunk in chunks.items():
        count = 0
        while (chunk.state, chunk.id, chunk.name, count) in found:
            count += 1
        found[chunk.state, chunk.id, chunk.name, count] = key
    return found


def _compare(old: Desired | None, old_key: str | None, new: Desired, key: str) -> ChunkChange | None:
    chunk = new.chunks[key]
    if old is None or old_key is None:
        return ChunkChange(kind=ChangeKind.ADDED, key=key, chunk=chunk)
    fields = () if old.chunks[old_key] is chunk else _fields(old.chunks[old_key], chunk)
    if fields:
        return ChunkChange(kind=ChangeKind.CHANGED, key=key, chunk=chunk, fields=fields)
    if old.contents.get(old_key) != new.contents.get(key):
        return ChunkChange(kind=ChangeKind.CONTENT, key=key, chunk=chunk)
    return None


def _fields(old: Chunk, new: Chunk) -> tuple[FieldChange, ...]:
    changes = [FieldChange(name="fun", old=old.fun, new=new.fun)] if old.fun != new.fun else []
    names = [*new.arguments, *(name for name in old.arguments if name not in new.arguments)]
    for name in names:
        before, after = old.arguments.get(name), new.arguments.get(name)
        if name not in _NOT_SEMANTIC and (before != after or (name in old.arguments) != (name in new.arguments)):
            changes.append(FieldChange(name=name, old=before, new=after))
    return tuple(changes)


def own_arguments(chunk: Chunk) -> dict[str, Value]:
    """What a state is told to make: its arguments but requisites, and where it stands."""
    return {
        name: value
        for name, value in chunk.arguments.items()
        if name not in _NOT_SEMANTIC and name not in LINK_KINDS and not name.startswith("__")
    }


def _without_text_of(
    removed: Iterable[ChunkChange], changes: Mapping[str, ChunkChange], chunks: Mapping[str, Chunk]
) -> dict[str, ChunkChange]:
    """Files that lose the text of a file.accumulated that is not there any more."""
    lost = {str(one.chunk.arguments.get("filename")): one.key for one in removed if gathers(one.chunk)}
    return {
        key: ChunkChange(kind=ChangeKind.RETRIGGERED, key=key, chunk=chunk, because=(lost[chunk.name],))
        for key, chunk in chunks.items()
        if chunk.state == "file" and chunk.name in lost and key not in changes and not gathers(chunk)
    }


def _retriggered(
    changes: Mapping[str, ChunkChange], links: Links, chunks: Mapping[str, Chunk]
) -> dict[str, ChunkChange]:
    """Chunks that are themselves equal, but listen to a touched one; transitively, as a trigger is itself a change."""
    because: dict[str, list[str]] = {}
    waiting = list(changes)
    while waiting:
        touched = waiting.pop()
        for key in links.listeners.get(touched, ()):
            if key not in changes and key not in because:
                waiting.append(key)
            if key not in changes and touched not in because.setdefault(key, []):
                because[key].append(touched)
    return {
        key: ChunkChange(kind=ChangeKind.RETRIGGERED, key=key, chunk=chunks[key], because=tuple(causes))
        for key, causes in because.items()
    }


def with_needs(keys: Iterable[str], desired: Desired) -> tuple[str, ...]:
    """These chunks and all that they need before them, in running order."""
    return links_of(desired.chunks).closure(keys)


def with_triggered(keys: Iterable[str], desired: Desired) -> tuple[str, ...]:
    """These chunks, those that a change of them may trigger, and all that they need before them, in running order."""
    links = links_of(desired.chunks)
    touched = {key: ChunkChange(kind=ChangeKind.CONTENT, key=key, chunk=desired.chunks[key]) for key in keys}
    return links.closure({**touched, **_retriggered(touched, links, desired.chunks)})
