"""Which files each minion's document was made of, and so whom a push concerns.

Filled with the answers of the compiler and asked by whoever makes a revision live. A minion whose document stands on
anything but its grains and files (facts, secrets) is concerned by every push. It reads trees and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from sys import intern
from typing import TypeAlias

import msgspec

from controller.compilation.compile_messages import CompiledMinion, FileRead
from highstate.files import parts_of
from highstate.memo.sources import digest_value
from highstate.tops.heard_tops import HeardTops
from highstate.types import Files

_TRIES = 3
_DECODER = msgspec.msgpack.Decoder(list[FileRead])
_Kind: TypeAlias = tuple[str, str, str]
"""Tree (see `FileRead`), kind, saltenv."""
_Asked: TypeAlias = tuple[_Kind, str]
"""A kind of read, and the path."""


@dataclass(slots=True)
class DependencyIndex:
    """What minions' documents stand on. `shaping` is all that shapes a compile besides trees and grains."""

    _shaping: Hashable = None
    _parts: dict[bytes, int] = field(default_factory=dict)
    """By digest. A minion's reads come in parts (pillar, top file, states), which many minions share."""
    _of_minion: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _minions: dict[int, set[str]] = field(default_factory=dict)
    _answers: dict[_Kind, dict[str, dict[str, set[int]]]] = field(default_factory=dict)
    """Kind of read -> path -> digest of what was seen -> parts that saw it."""
    _reads: dict[int, tuple[tuple[_Asked, str], ...]] = field(default_factory=dict)
    _keys: dict[int, bytes] = field(default_factory=dict)
    _next: int = 0
    _version: int = 0
    """Rises with each change."""

    def note(self, answers: Iterable[CompiledMinion], shaping: Hashable) -> None:
        """These minions were compiled, and what came out is kept: the next push is compared with it.

        One that did not compile stays concerned by every push: what it lacked may not lie in a tree.
        """
        self._version += 1
        if shaping != self._shaping:
            self.forget()
            self._shaping = shaping
        for answer in answers:
            self._drop(answer.minion_id)
            if answer.ok and answer.reads:
                self._add(answer.minion_id, answer.reads)

    def restore(self, reads: Mapping[str, Sequence[bytes]], shaping: Hashable) -> None:
        """Take what documents stand on (`CompiledMinion.reads`) that were made before this controller started."""
        self._version += 1
        self.forget()
        self._shaping = shaping
        for minion, parts in reads.items():
            self._add(minion, parts)

    def keep(self, minions: Collection[str]) -> None:
        """Forget all others."""
        self._version += 1
        for minion in self._of_minion.keys() - minions:
            self._drop(minion)

    def forget(self) -> None:
        """Everyone is concerned by the next push."""
        self._version += 1
        for table in (self._parts, self._of_minion, self._minions, self._answers, self._reads, self._keys):
            table.clear()

    def affected(
        self, files: Files, pillar: Files, ids: Iterable[str], shaping: Hashable, heard: HeardTops | None = None
    ) -> set[str]:
        """The minions among `ids` whose documents may be others with these trees; all that are not known are.

        `heard`: whose top files count, of which `shaping` has to be made, too; None: all.
        """
        asked = set(ids)
        if shaping != self._shaping:
            return asked
        found = asked - self._of_minion.keys()
        trees = {"files": files, **parts_of(pillar)}
        for (tree, kind, saltenv), paths in self._answers.items():
            answer = _answering(trees[tree], kind, saltenv) if tree in trees else _other
            for path, seen in paths.items():
                if heard is not None and heard.skips(tree, kind, saltenv, path):
                    continue
                now = answer(path)
                if now in seen and len(seen) == 1:  # nearly all: a push changes few files
                    continue
                for digest, parts in seen.items():
                    if digest != now:
                        found.update(*(self._minions[part] for part in parts))
        return found & asked

    def affected_now(
        self, files: Files, pillar: Files, ids: Iterable[str], shaping: Hashable, heard: HeardTops | None = None
    ) -> set[str]:
        """As `affected`, in a thread while others may change this; all of `ids` where they do so all the time."""
        asked = set(ids)
        for _ in range(_TRIES):
            version = self._version
            try:
                found = self.affected(files, pillar, asked, shaping, heard)
            except (KeyError, RuntimeError):  # a table changed while it was read
                continue
            if version == self._version:
                return found
        return asked

    def shared_parts(self, minion: str) -> tuple[int, ...]:
        """What stands for the reads that this minion's document has in common with others."""
        parts = self._of_minion.get(minion, ())
        return tuple(sorted(part for part in parts if len(self._minions.get(part, ())) > 1))

    def _add(self, minion: str, reads: Sequence[bytes]) -> None:
        parts = tuple(dict.fromkeys(self._part(packed) for packed in reads))  # two of its parts may be alike
        self._of_minion[minion] = parts
        for part in parts:
            self._minions[part].add(minion)

    def _part(self, packed: bytes) -> int:
        key = part_key(packed)
        part = self._parts.get(key)
        if part is not None:
            return part
        self._next += 1
        part = self._parts[key] = self._next
        self._keys[part], self._minions[part] = key, set()
        reads = self._reads[part] = tuple((_asked(read), read.digest) for read in _DECODER.decode(packed))
        for (kind, path), digest in reads:
            self._answers.setdefault(kind, {}).setdefault(path, {}).setdefault(digest, set()).add(part)
        return part

    def _drop(self, minion: str) -> None:
        for part in self._of_minion.pop(minion, ()):
            self._minions[part].discard(minion)
            if not self._minions[part]:
                self._drop_part(part)

    def _drop_part(self, part: int) -> None:
        del self._minions[part], self._parts[self._keys.pop(part)]
        for (kind, path), digest in self._reads.pop(part):
            seen = self._answers[kind][path]
            seen[digest].discard(part)
            if not seen[digest]:
                del seen[digest]
            if not seen:
                del self._answers[kind][path]


def part_key(packed: bytes) -> bytes:
    """Names a part of what minions have read."""
    return blake2b(packed, digest_size=16).digest()


def _other(_: str) -> str:
    """What a tree gives that is not there: nothing that was ever seen."""
    return "-"


def _answering(tree: Files, kind: str, saltenv: str) -> Callable[[str], str]:
    """What a tree gives now for reads of a kind, as digests by path."""
    if kind == "file":
        return lambda path: tree.oid(path, saltenv) or ""
    if kind == "saltenv":
        return lambda _: str(saltenv in tree.saltenvs())
    if kind == "mode":
        return lambda path: str(tree.mode(path, saltenv))
    if kind == "links":
        return lambda path: digest_value(dict(tree.links(path, saltenv))).hex()
    return lambda path: digest_value(list(tree.list(path, saltenv))).hex()


def _asked(read: FileRead) -> _Asked:
    # Most are the same few words, and each read was decoded with words of its own.
    return (intern(read.tree), intern(read.kind), intern(read.saltenv)), read.path
