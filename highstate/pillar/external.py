"""What is laid over a pillar of SLS files: external sources, decrypted keys, options. Called by compile.

Sources and keys are ports; here is only their order and how they are merged, which is Salt's: sources one after
the other, each seeing the pillar so far; then the override; then `decrypt_pillar`. A source that fails is an error of
this minion, where Salt would go on with less.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from highstate.ports import SECRET_SOURCES, CompilePorts, DecryptFailed, SourceFailed
from highstate.redaction import secret_texts
from highstate.render.ciphertext import decrypted
from highstate.render.problems import near
from highstate.traverse import merge, traverse
from highstate.types import Minion, Pos, Problem, Stage, Value

_MISSING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decryption:
    """Which keys of a pillar are decrypted after all is merged (`decrypt_pillar`)."""

    keys: tuple[Value, ...] = ()
    """`a:b`, or `{a:b: renderer}` as in Salt's option."""
    delimiter: str = ":"


@dataclass(slots=True, kw_only=True)
class External:
    """A pillar being added to; what is wrong gathers in `errors`."""

    minion: Minion
    ports: CompilePorts
    strategy: str = "smart"
    merge_lists: bool = False
    errors: list[Problem] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """Sources that were asked, as `ext_pillar.NAME`."""
    decrypted: list[str] = field(default_factory=list)
    """Plain texts that keys of `decrypt_pillar` and `SECRET_SOURCES` gave."""

    def with_sources(self, pillar: Mapping[str, Value], entries: Sequence[Value]) -> dict[str, Value]:
        """The pillar with all that the sources of `ext_pillar` know."""
        merged = dict(pillar)
        for entry in entries:
            if not isinstance(entry, Mapping):
                self._fail(f"an entry of ext_pillar is {entry!r}, not a mapping of a source's name to its arguments")
                continue
            for name, arguments in entry.items():
                merged = self._with_source(merged, str(name), arguments)
        return merged

    def _with_source(self, pillar: dict[str, Value], name: str, arguments: Value) -> dict[str, Value]:
        if name == "git":  # part of the pillar tree already, by gitfs
            return pillar
        self.asked.append(f"ext_pillar.{name}")
        source = self.ports.pillar_sources.get(name)
        if source is None:
            self._fail(f"there is no external pillar {name!r}", near(name, self.ports.pillar_sources))
            return pillar
        try:
            found = source.pillar(self.minion, pillar, arguments)
        except SourceFailed as error:
            self._fail(f"the external pillar {name}: {error}")
            return pillar
        if name in SECRET_SOURCES:
            self.decrypted += secret_texts(found)
        return merge(pillar, copy.deepcopy(dict(found)), strategy=self.strategy, merge_lists=self.merge_lists)

    def with_plain_text(self, pillar: Mapping[str, Value], decryption: Decryption) -> dict[str, Value]:
        """The pillar with the keys of `decrypt_pillar` decrypted."""
        changed = dict(pillar)
        for key, renderer in _keys(decryption.keys):
            if renderer != "gpg":
                self._fail(f"decrypt_pillar names {renderer!r} for {key!r}; there is only gpg")
                continue
            changed = self._decrypted(changed, key, decryption.delimiter)
        return changed

    def _decrypted(self, pillar: dict[str, Value], key: str, delimiter: str) -> dict[str, Value]:
        value = traverse(pillar, key, _MISSING, delimiter=delimiter)
        if value is _MISSING:
            return pillar
        try:
            plain = decrypted(value, self._read, escaped=True)
        except DecryptFailed as error:
            self._fail(f"the pillar key {key!r} cannot be decrypted: {error}")
            return pillar
        whole = copy.deepcopy(pillar)
        parent, _, child = key.rpartition(delimiter)
        holder: Any = traverse(whole, parent, None, delimiter=delimiter) if parent else whole
        if isinstance(holder, list):
            holder[int(child)] = plain
        else:
            holder[child] = plain
        return whole

    def _read(self, message: str) -> str:
        if self.ports.decrypt is None:
            raise DecryptFailed("no keys are set up to decrypt with (option gpg_keydir)")
        self.decrypted.append(self.ports.decrypt.decrypt(message))
        return self.decrypted[-1]

    def _fail(self, message: str, hint: str = "") -> None:
        pos = Pos(file="ext_pillar", stage=Stage.PILLAR)
        self.errors.append(Problem(message=message, pos=pos, hint=hint))


def _keys(given: Sequence[Value]) -> list[tuple[str, str]]:
    """(key, renderer) of each entry."""
    found: list[tuple[str, str]] = []
    for entry in given:
        pairs = entry.items() if isinstance(entry, Mapping) else [(entry, None)]
        found.extend((str(key), str(renderer or "gpg")) for key, renderer in pairs)
    return found
