"""One minion's inputs, and the digest of what each read of them gives.

`tracked.Recorder` records reads, `Memo` asks for their digests again. Equal digests mean that a template cannot tell
the difference. The values must not change while their sources are in use.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import marshal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from highstate.memo.blanks import TextPiece, answer, fillable
from highstate.memo.handed_out import HandedOut
from highstate.ports import NO_PORTS, CompilePorts, DecryptFailed, Fact, SecretFailed
from highstate.targeting.match import id_matches
from highstate.types import Files, Minion, Value
from matching.matcher import tree_matcher

Read: TypeAlias = tuple[Any, ...]
"""What was read: ("value", root, path) whole; ("peek", root, path), whole unless it is a mapping;
("keys", root, path); ("has", root, path, key); ("id", matcher, pattern); ("file", saltenv, path);
("blank", root, path), any text that may be filled in, or whole; ("blanks", root, path, places), whole but for such
texts at these places in it; ("asked", pieces, question, arguments), what a text of such values answers;
("mode", saltenv, path); ("list", saltenv, prefix); ("links", saltenv, prefix); ("fact", function, question);
("saltenv", name); ("secret", path) or ("secrets", path); ("plain", ciphertext).
Which kind a read is must never follow from its own answer."""

ABSENT = object()
_A_MAPPING = b"\0mapping"
_A_BLANK = b"\0blank"
_unique = itertools.count()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSources:
    """All that a compile for one minion may read. The values must not change while this is in use."""

    minion_id: str
    roots: Mapping[str, Mapping[str, Value]]
    """"grains", "pillar" and "opts"."""
    files: Files
    ports: CompilePorts = NO_PORTS
    handed_out: HandedOut = field(default_factory=HandedOut, repr=False, compare=False)
    shaping: list[bytes] = field(default_factory=list, repr=False, compare=False)
    """Digest of the options that shape every render, once it is known."""
    _digests: dict[Read, bytes] = field(default_factory=dict, repr=False, compare=False)
    _facts: dict[tuple[str, str], Fact | None] = field(default_factory=dict, repr=False, compare=False)

    def digest(self, read: Read) -> bytes:
        """What `read` gives here. Equal digests mean that a template cannot tell the difference."""
        found = self._digests.get(read)
        if found is None:
            found = self._digests[read] = self._look(read)
        return found

    def at(self, root: str, path: Sequence[Value]) -> Value:
        """The value at a path through mappings, or the private mark of a missing one."""
        value: Value = self.roots[root]
        for key in path:
            if not isinstance(value, (dict, Mapping)) or key not in value:
                return ABSENT
            value = value[key]
        return value

    def fact(self, fun: str, asked: str) -> Fact | None:
        """What the live machine answers to a `question`, asked once; None when there is no answer."""
        if (fun, asked) not in self._facts:
            args, kwargs = json.loads(asked)
            port = self.ports.facts
            self._facts[fun, asked] = None if port is None else port.answer(fun, args, kwargs)
        return self._facts[fun, asked]

    def secret(self, path: str) -> Mapping[str, Value]:
        """A secret of the vault; SecretFailed when there is none, or no vault."""
        if self.ports.secrets is None:
            raise SecretFailed("no vault is set up (option vault)")
        return self.ports.secrets.read_secret(path, Minion(id=self.minion_id, grains=self.roots["grains"]))

    def listed_secrets(self, path: str) -> Sequence[str]:
        """Names below a path of the vault; SecretFailed as `secret`."""
        if self.ports.secrets is None:
            raise SecretFailed("no vault is set up (option vault)")
        return self.ports.secrets.list_secrets(path, Minion(id=self.minion_id, grains=self.roots["grains"]))

    def plain(self, ciphertext: str) -> str:
        """What a message says that was encrypted for the controller; DecryptFailed without keys, or the right one."""
        if self.ports.decrypt is None:
            raise DecryptFailed("no keys are set up to decrypt with (option gpg_keydir)")
        return self.ports.decrypt.decrypt(ciphertext)

    def _look(self, read: Read) -> bytes:
        match read:
            case ("value", root, path):
                return digest_value(self.at(root, path))
            case ("peek", root, path):
                value = self.at(root, path)
                return _A_MAPPING if isinstance(value, (dict, Mapping)) else digest_value(value)
            case ("blank", root, path):
                value = self.at(root, path)
                return _A_BLANK if fillable(value) else digest_value(value)
            case ("blanks", root, path, places):
                return digest_value(_blanked(self.at(root, path), places))
            case ("asked", pieces, question, arguments):
                return self._answer(pieces, question, arguments)
            case ("keys", root, path):
                value = self.at(root, path)
                return digest_value(list(value)) if isinstance(value, (dict, Mapping)) else b"-"
            case ("has", root, path, key):
                value = self.at(root, path)
                return b"1" if isinstance(value, (dict, Mapping)) and key in value else b"0"
            case ("id", kind, pattern):
                return b"1" if id_matches(kind, pattern, self.minion_id, tree_matcher()) else b"0"
            case ("file", saltenv, path):
                return (self.files.oid(path, saltenv) or "").encode()
            case ("mode", saltenv, path):
                return str(self.files.mode(path, saltenv)).encode()
            case ("saltenv", name):
                return str(name in self.files.saltenvs()).encode()
            case ("list", saltenv, prefix):
                return digest_value(list(self.files.list(prefix, saltenv)))
            case ("links", saltenv, prefix):
                return digest_value(dict(self.files.links(prefix, saltenv)))
            case _:
                return self._look_at_port(read)

    def text_of(self, pieces: tuple[TextPiece, ...]) -> str:
        """The text that the pieces are here; ValueError where one is no text."""
        parts = [piece if isinstance(piece, str) else deep_value(self.roots[piece[0]], piece[1]) for piece in pieces]
        if not all(isinstance(part, str) for part in parts):
            raise ValueError
        return "".join(parts)

    def _answer(self, pieces: tuple[TextPiece, ...], question: str, arguments: tuple[Value, ...]) -> bytes:
        try:
            return digest_value([answer(self.text_of(pieces), question, arguments)])
        except Exception as error:
            return type(error).__name__.encode()

    def _look_at_port(self, read: Read) -> bytes:
        match read:
            case ("fact", fun, asked):
                fact = self.fact(fun, asked)
                return b"" if fact is None else digest_value([fact.value, fact.error])
            case ("secret", path):
                return _digest_or_failure(lambda: dict(self.secret(path)))
            case ("secrets", path):
                return _digest_or_failure(lambda: list(self.listed_secrets(path)))
            case ("plain", ciphertext):
                try:
                    return digest_value(self.plain(ciphertext))
                except DecryptFailed as failed:
                    return digest_value([str(failed)])
            case _:
                raise ValueError(f"no such read: {read!r}")


def deep_value(value: Value, path: Sequence[Value]) -> Value:
    """The value at a path through mappings and lists, or the private mark of a missing one."""
    for step in path:
        if isinstance(value, (dict, Mapping)):
            if step not in value:
                return ABSENT
        elif not (isinstance(value, list) and isinstance(step, int) and step < len(value)):
            return ABSENT
        value = value[step]
    return value


def with_places(
    value: Value, places: Sequence[tuple[Any, ...]], put: Callable[[tuple[Any, ...], Value], Value]
) -> Value:
    """A copy of the value with something else at these places, as far as they are in it; the rest is shared."""
    made: Value = value
    copied: set[tuple[Any, ...]] = set()
    for place in places:
        if deep_value(value, place) is ABSENT:
            continue
        if not place:
            return put((), value)
        if () not in copied:
            made = copy.copy(made) if isinstance(made, list) else dict(made)
            copied.add(())
        holder = made
        for at in range(1, len(place)):
            inner = holder[place[at - 1]]
            if place[:at] not in copied:
                inner = copy.copy(inner) if isinstance(inner, list) else dict(inner)
                holder[place[at - 1]] = inner
                copied.add(place[:at])
            holder = inner
        holder[place[-1]] = put(place, holder[place[-1]])
    return made


_BLANK = ("\0blank",)
"""No text, so that no value is equal to it."""


def _blanked(value: Value, places: Sequence[tuple[Any, ...]]) -> Value:
    return with_places(value, places, lambda _, inner: _BLANK if fillable(inner) else inner)


def _digest_or_failure(secret: Callable[[], Value]) -> bytes:
    try:
        return digest_value(secret())
    except SecretFailed as failed:
        return digest_value(str(failed))


def fresh(value: Value) -> Value:
    """A deep copy of plain data; aliases inside stay aliases."""
    if value is None or isinstance(value, str | int | float):
        return value
    try:
        return marshal.loads(marshal.dumps(value))  # noqa: S302  (bytes made in this very line)
    except ValueError:  # something that only Python's own copy understands
        return copy.deepcopy(value)


def digest_value(value: Value) -> bytes:
    """A digest that tells types (1, True, 1.0) and the order of keys apart."""
    if value is ABSENT:
        return b""
    try:
        # Version 2 has no back references: equal values give equal bytes whatever they share.
        packed = marshal.dumps(value, 2)
    except ValueError:
        # Not plain data: equal to nothing, so that a memo never takes it.
        return b"?%d" % next(_unique)
    return packed if len(packed) <= 24 else hashlib.blake2b(packed, digest_size=16).digest()
