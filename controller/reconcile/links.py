"""Which states of a document are bound to one another: by requisites, and as one reads what the other makes. Pure.

Called by `plan` and by previews. What binds a state is a small part of it (`_binding_part`), and links are found in
these parts alone. So documents of minions of a class, which differ in texts of files and in other values, have the same
links, and `LinkFinder` finds them once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import msgspec
from cachetools import LRUCache

from controller.reconcile.inputs import BINDING, collected, gatherers, paths_in, used, writers
from highstate.run.requisites import KINDS, Index, items
from highstate.types import Chunk, Value

LINK_KINDS = (*KINDS, "listen", "listen_any")
"""Names of the arguments that are requisites."""

_TRIGGERS = frozenset({"watch", "watch_any", "onchanges", "onchanges_any", "onfail", "onfail_any", "onfail_all"})
_TRIGGERS |= {"listen", "prereq", "uses", "collects"}

_WHOLE = frozenset((*LINK_KINDS, *BINDING, "__sls_included_from__"))
"""Arguments that bind a state by all that they are; of the others, the paths in them do."""

_DOCUMENTS = 32
"""Of which a finder keeps the links: minions that are alike come one after the other."""
_CHUNKS = 16_000
"""Of which a finder keeps what binds them, or twice those of a larger document."""
_CHARACTERS = 16 * 1024 * 1024
"""Of texts in these."""


@dataclass(frozen=True, slots=True)
class StateLink:
    """A requisite: `source` has it, `target` is what it names.

    Two kinds are no requisites. `uses`: `source` reads what `target` makes (`controller.reconcile.inputs`). `collects`:
    `source` writes the file for which `target` (file.accumulated) gathers text.
    """

    kind: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Links:
    """The links of one document."""

    keys: tuple[str, ...]
    """Of its chunks, in running order."""
    followers: Mapping[str, Sequence[str]]
    """Key -> keys of the chunks that have a requisite on it or read what it makes."""
    listeners: Mapping[str, Sequence[str]]
    """Key -> those of them that see whether it changes something."""
    needs: Mapping[str, Sequence[str]]
    """Key -> keys of the chunks that run with it."""

    def closure(self, keys: Iterable[str]) -> tuple[str, ...]:
        """These chunks and all that they need before them, in running order."""
        run: set[str] = set()
        waiting = list(keys)
        while waiting:
            key = waiting.pop()
            if key not in run:
                run.add(key)
                waiting.extend(self.needs.get(key, ()))
        return tuple([key for key in self.keys if key in run])

    def followers_among(self, keys: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Key -> keys of the chunks that have a requisite on it or read what it makes; all among `keys`."""
        among = set(keys)
        found = {key: [each for each in some if each in among] for key, some in self.followers.items() if key in among}
        return {key: tuple(some) for key, some in found.items() if some}


def links_of(chunks: Mapping[str, Chunk]) -> Links:
    """The links of the chunks of a document, by their keys."""
    return _links_of({key: _binding_part(chunk) for key, chunk in chunks.items()})


@dataclass(slots=True)
class LinkFinder:
    """Finds the links of documents, and those of documents that are alike once. For one thread at a time."""

    _parts: dict[int, tuple[Chunk, Chunk, int]] = field(default_factory=dict)
    """Chunk, by its identity -> it, what binds it, and the number of that."""
    _numbers: dict[bytes, tuple[Chunk, int]] = field(default_factory=dict)
    """What binds a chunk, packed -> it, and its number."""
    _characters: int = 0
    """Of the texts in the chunks that are held."""
    _next: Iterator[int] = field(default_factory=count)
    _known: LRUCache[tuple[tuple[str, ...], tuple[int, ...]], Links] = field(
        default_factory=lambda: LRUCache(_DOCUMENTS)
    )

    def links_of(self, chunks: Mapping[str, Chunk]) -> Links:
        """See `links_of`; the chunks are values that msgpack can say."""
        if len(self._parts) > max(_CHUNKS, 2 * len(chunks)) or self._characters > _CHARACTERS:
            self._parts.clear()
            self._numbers.clear()
            self._characters = 0
        parts = [self._part(chunk) for chunk in chunks.values()]
        known_as = tuple(chunks), tuple([number for _, _, number in parts])
        found = self._known.get(known_as)
        if found is None:
            found = _links_of({key: part for key, (_, part, _) in zip(chunks, parts, strict=True)})
            self._known[known_as] = found
        return found

    def _part(self, chunk: Chunk) -> tuple[Chunk, Chunk, int]:
        found = self._parts.get(id(chunk))
        if found is None:
            part = _binding_part(chunk)
            packed = msgspec.msgpack.encode((part.state, part.fun, part.id, part.name, part.sls, part.arguments))
            known = self._numbers.get(packed)
            if known is None:
                known = self._numbers[packed] = (part, next(self._next))
            found = self._parts[id(chunk)] = (chunk, *known)
            self._characters += sum(len(value) for value in chunk.arguments.values() if isinstance(value, str))
        return found


def _binding_part(chunk: Chunk) -> Chunk:
    """The chunk with those arguments alone in which links are found."""
    arguments: dict[str, Value] = {}
    for name, value in chunk.arguments.items():
        if name in _WHOLE:
            arguments[name] = value
        elif paths := list(paths_in(chunk, name, value)):
            arguments[name] = paths
    return replace(chunk, arguments=arguments, saltenv="", order=0, pos=None)


def _links_of(parts: Mapping[str, Chunk]) -> Links:
    followers: dict[str, dict[str, None]] = {}
    listeners: dict[str, list[str]] = {}
    needs: dict[str, list[str]] = {}
    for link in _links(parts):
        if link.source != link.target:
            followers.setdefault(link.target, {})[link.source] = None
        if link.kind in _TRIGGERS:
            listeners.setdefault(link.target, []).append(link.source)
        # A chunk with a prereq runs before its target, which it needs in the same run all the same.
        if link.kind != "uses":  # what is touched runs anyway, and the file of another is there
            needs.setdefault(link.source, []).append(link.target)
    return Links(tuple(parts), {key: tuple(some) for key, some in followers.items()}, listeners, needs)


def _links(parts: Mapping[str, Chunk]) -> Iterator[StateLink]:
    index = Index(parts)
    for key, part in parts.items():
        # Each chunk is asked for twenty kinds, and few have one.
        for kind in [kind for kind in LINK_KINDS if kind in part.arguments]:
            for item in items(part, kind):
                for target in index.find(item, key):
                    yield StateLink(kind, key, target)
    written, gathered = writers(parts), gatherers(parts)
    for key, part in parts.items():
        for target in collected(part, gathered):
            yield StateLink("collects", key, target)
        for target in used(key, part, written):
            yield StateLink("uses", key, target)
