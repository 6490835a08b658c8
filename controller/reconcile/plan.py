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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from controller.reconcile.inputs import collected, gatherers, gathers, used, writers
from highstate.desired import Desired
from highstate.run.requisites import KINDS, Index, items
from highstate.types import Chunk, Value

_NOT_SEMANTIC = frozenset({"order", "__sls__", "__env__", "__id__", "__sls_included_from__", "state", "fun", "name"})

_LINKS = (*KINDS, "listen", "listen_any")

_TRIGGERS = frozenset({"watch", "watch_any", "onchanges", "onchanges_any", "onfail", "onfail_any", "onfail_all"})
_TRIGGERS |= {"listen", "prereq", "uses", "collects"}


@dataclass(frozen=True, slots=True)
class StateLink:
    """A requisite: `source` has it, `target` is what it names.

    Two kinds are no requisites. `uses`: `source` reads what `target` makes (`controller.reconcile.inputs`). `collects`:
    `source` writes the file for which `target` (file.accumulated) gathers text.
    """

    kind: str
    source: str
    target: str


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
    links: Sequence[StateLink] = field(default=(), repr=False, compare=False)
    """Of the new document; none when nothing is touched."""

    @property
    def empty(self) -> bool:
        """Nothing is touched."""
        return not self.changes


def plan(old: Desired | None, new: Desired, *, links: Sequence[StateLink] = ()) -> PushPlan:
    """The difference between what was applied and what is desired.

    Args:
        old: what was applied; None for a minion to which nothing was applied yet.
        new: what is desired.
        links: those of another plan to `new`, so that they need not be found again.
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
    links = links or tuple(_links(new.chunks))
    changes |= _retriggered(changes, links, new.chunks)
    changes |= _without_text_of(removed, changes, new.chunks)
    shown = [changes[key] for key in new.chunks if key in changes]
    return PushPlan(changes=(*shown, *removed), run=_closure(changes, links, new.chunks), links=links)


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
        if name not in _NOT_SEMANTIC and name not in _LINKS and not name.startswith("__")
    }


def _links(chunks: Mapping[str, Chunk]) -> Iterator[StateLink]:
    index = Index(chunks)
    for key, chunk in chunks.items():
        # Each chunk is asked for twenty kinds, and few have one.
        for kind in [kind for kind in _LINKS if kind in chunk.arguments]:
            for item in items(chunk, kind):
                for target in index.find(item, key):
                    yield StateLink(kind, key, target)
    written, gathered = writers(chunks), gatherers(chunks)
    for key, chunk in chunks.items():
        for target in collected(chunk, gathered):
            yield StateLink("collects", key, target)
        for target in used(key, chunk, written):
            yield StateLink("uses", key, target)


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
    changes: Mapping[str, ChunkChange], links: Iterable[StateLink], chunks: Mapping[str, Chunk]
) -> dict[str, ChunkChange]:
    """Chunks that are themselves equal, but listen to a touched one; transitively, as a trigger is itself a change."""
    listeners: dict[str, list[str]] = {}
    for link in links:
        if link.kind in _TRIGGERS:
            listeners.setdefault(link.target, []).append(link.source)
    because: dict[str, list[str]] = {}
    waiting = list(changes)
    while waiting:
        touched = waiting.pop()
        for key in listeners.get(touched, ()):
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
    return _closure(keys, list(_links(desired.chunks)), desired.chunks)


def with_triggered(keys: Iterable[str], desired: Desired) -> tuple[str, ...]:
    """These chunks, those that a change of them may trigger, and all that they need before them, in running order."""
    links = list(_links(desired.chunks))
    touched = {key: ChunkChange(kind=ChangeKind.CONTENT, key=key, chunk=desired.chunks[key]) for key in keys}
    return _closure({**touched, **_retriggered(touched, links, desired.chunks)}, links, desired.chunks)


def followers(chunks: Mapping[str, Chunk], keys: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Key -> keys of the chunks that have a requisite on it or read what it writes, among `keys`."""
    return followers_among(_links(chunks), keys)


def followers_among(links: Iterable[StateLink], keys: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The same, by the links of a plan."""
    among, found = set(keys), dict[str, dict[str, None]]()
    for link in links:
        if link.source in among and link.target in among and link.source != link.target:
            found.setdefault(link.target, {})[link.source] = None
    return {key: tuple(some) for key, some in found.items()}


def _closure(changes: Iterable[str], links: Iterable[StateLink], chunks: Mapping[str, Chunk]) -> tuple[str, ...]:
    """The touched chunks and all that they need before them, in running order."""
    needs: dict[str, list[str]] = {}
    for link in links:
        # A chunk with a prereq runs before its target, which it needs in the same run all the same.
        if link.kind != "uses":  # what is touched runs anyway, and the file of another is there
            needs.setdefault(link.source, []).append(link.target)
    run: set[str] = set()
    waiting = list(changes)
    while waiting:
        key = waiting.pop()
        if key not in run:
            run.add(key)
            waiting.extend(needs.get(key, ()))
    return tuple(key for key in chunks if key in run)
