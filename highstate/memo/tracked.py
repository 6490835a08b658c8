"""Recorded reads: what a template, top file or pillar looked at, so that its result can be taken again.

`ReadSources` are one minion's inputs; a `Recorder` notes each read of them with a digest of what was seen;
a `TrackedMapping` is the mapping handed to templates in place of grains, pillar and opts. A view is no dict on purpose:
C code that takes a dict's insides (json, dict()) would read past the record. Used by render, pillar and top;
nothing here decides what to do with the record: that is `memo`.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import marshal
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from highstate.ports import NO_PORTS, CompilePorts, DecryptFailed, Fact, SecretFailed, question
from highstate.targeting.match import id_matches
from highstate.types import Files, Minion, Value

Read: TypeAlias = tuple[Any, ...]
"""What was read: ("value", root, path) whole; ("peek", root, path), whole unless it is a mapping;
("keys", root, path); ("has", root, path, key); ("id", matcher, pattern); ("file", saltenv, path);
("mode", saltenv, path); ("list", saltenv, prefix); ("fact", function, question); ("secret", path) or ("secrets", path);
("plain", ciphertext).
Which kind a read is must never follow from its own answer."""

_MISSING = object()
_A_MAPPING = b"\0mapping"
_unique = itertools.count()
_SCALARS = frozenset((str, int, float, bool, type(None)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSources:
    """All that a compile for one minion may read. The values must not change while this is in use."""

    minion_id: str
    roots: Mapping[str, Mapping[str, Value]]
    """"grains", "pillar" and "opts"."""
    files: Files
    ports: CompilePorts = NO_PORTS
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
                return _MISSING
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
            case ("keys", root, path):
                value = self.at(root, path)
                return digest_value(list(value)) if isinstance(value, (dict, Mapping)) else b"-"
            case ("has", root, path, key):
                value = self.at(root, path)
                return b"1" if isinstance(value, (dict, Mapping)) and key in value else b"0"
            case ("id", matcher, pattern):
                return b"1" if id_matches(matcher, pattern, self.minion_id) else b"0"
            case ("file", saltenv, path):
                return (self.files.oid(path, saltenv) or "").encode()
            case ("mode", saltenv, path):
                return str(self.files.mode(path, saltenv)).encode()
            case ("list", saltenv, prefix):
                return digest_value(list(self.files.list(prefix, saltenv)))
            case ("fact", fun, asked):
                fact = self.fact(fun, asked)
                return b"" if fact is None else digest_value([fact.value, fact.error])
            case ("secret", path):
                try:
                    return digest_value(dict(self.secret(path)))
                except SecretFailed as failed:
                    return digest_value(str(failed))
            case ("secrets", path):
                try:
                    return digest_value(list(self.listed_secrets(path)))
                except SecretFailed as failed:
                    return digest_value(str(failed))
            case ("plain", ciphertext):
                try:
                    return digest_value(self.plain(ciphertext))
                except DecryptFailed as failed:
                    return digest_value([str(failed)])
            case _:
                raise ValueError(f"no such read: {read!r}")


class Recorder:
    """Notes the reads of one render, in the order in which they first happen.

    That order matters: the first read of a template is always the same, and each next one follows from
    the answers so far. `Memo` builds on it.
    """

    def __init__(self, sources: ReadSources) -> None:
        self.sources = sources
        self.reads: dict[Read, bytes] = {}
        self.live: dict[str, None] = {}
        """Functions of the live machine that were called: the result holds for this moment alone."""
        self._views: dict[str, TrackedMapping] = {}

    def record(self, read: Read) -> bytes:
        """Note a read; returns its digest."""
        found = self.reads.get(read)
        if found is None:
            found = self.reads[read] = self.sources.digest(read)
        return found

    def absorb(self, reads: Mapping[Read, bytes], live: Mapping[str, None] | None = None) -> None:
        """Note all the reads of a part, rendered or taken from a memo."""
        for read, digest in reads.items():
            self.reads.setdefault(read, digest)
        self.live.update(live or {})

    def view(self, root: str) -> TrackedMapping:
        """The recording view of grains, pillar or opts; the same one each time."""
        if root not in self._views:
            self._views[root] = TrackedMapping(self, root, (), self.sources.roots[root])
        return self._views[root]

    def matches_id(self, matcher: str, pattern: str) -> bool:
        """Whether the minion's id matches; records the answer and not the id, so that minions can share it."""
        return self.record(("id", matcher, pattern)) == b"1"

    def fact(self, fun: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Fact | None:
        """What the live machine answers, None when there is no answer."""
        asked = question(args, kwargs)
        self.record(("fact", fun, asked))
        return self.sources.fact(fun, asked)

    def secret(self, path: str) -> Mapping[str, Value]:
        """A secret of the vault; SecretFailed when it cannot be had."""
        self.record(("secret", path))
        return self.sources.secret(path)

    def listed_secrets(self, path: str) -> Sequence[str]:
        """Names below a path of the vault; SecretFailed when it cannot be had."""
        self.record(("secrets", path))
        return self.sources.listed_secrets(path)

    def plain(self, ciphertext: str) -> str:
        """What an encrypted message says; DecryptFailed when it cannot be read."""
        self.record(("plain", ciphertext))
        return self.sources.plain(ciphertext)

    @property
    def volatile(self) -> tuple[str, ...]:
        """Functions of the live machine that the result stands on, called here or answered by facts."""
        asked = (read[1] for read, digest in self.reads.items() if read[0] == "fact" and digest)
        return tuple(dict.fromkeys([*asked, *self.live]))

    @property
    def grains(self) -> Mapping[str, Value]:
        """Grains as a recording view (with `pillar` and `matches_id`: a subject for `highstate.targeting.match`)."""
        return self.view("grains")

    @property
    def pillar(self) -> Mapping[str, Value]:
        """Pillar as a recording view."""
        return self.view("pillar")

    def oid(self, path: str, saltenv: str) -> str | None:
        """Content id of a file, None when there is none."""
        return self.record(("file", saltenv, path)).decode() or None

    def read_file(self, path: str, saltenv: str) -> bytes:
        """Content of a file; FileNotFoundError when there is none."""
        self.record(("file", saltenv, path))
        return self.sources.files.read(path, saltenv)

    def file_mode(self, path: str, saltenv: str) -> int | None:
        """Permission bits of a file, None when there is none."""
        self.record(("mode", saltenv, path))
        return self.sources.files.mode(path, saltenv)

    def list_files(self, prefix: str, saltenv: str) -> Sequence[str]:
        """Paths below a folder."""
        self.record(("list", saltenv, prefix))
        return self.sources.files.list(prefix, saltenv)


class ReadFiles:
    """The files of a recorder's minion as `Files`; whatever is asked of them is recorded."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    @property
    def digest(self) -> str:
        """Names the whole tree; it is not recorded, so no result may follow from it."""
        return self._recorder.sources.files.digest

    def saltenvs(self) -> Sequence[str]:
        """Names of the environments; not recorded: part of the key of whoever memoises."""
        return self._recorder.sources.files.saltenvs()

    def read(self, path: str, saltenv: str = "base") -> bytes:
        """Content of a file; FileNotFoundError when there is none."""
        return self._recorder.read_file(path, saltenv)

    def oid(self, path: str, saltenv: str = "base") -> str | None:
        """Content id of a file, None when there is none."""
        return self._recorder.oid(path, saltenv)

    def mode(self, path: str, saltenv: str = "base") -> int | None:
        """Permission bits of a file, None when there is none."""
        return self._recorder.file_mode(path, saltenv)

    def list(self, prefix: str = "", saltenv: str = "base") -> Sequence[str]:
        """Paths below a folder."""
        return self._recorder.list_files(prefix, saltenv)


class TrackedMapping(MutableMapping[Any, Any]):
    """A mapping of grains, pillar or opts that records what is read of it.

    Lists and sets are handed out as copies and recorded whole. When a template changes the view, or looks at
    all of it, it gets a copy of its own: nothing that one render does is seen by another.
    """

    __slots__ = ("__children", "__data", "__own", "__path", "__recorder", "__root")

    def __init__(self, recorder: Recorder, root: str, path: tuple[Any, ...], data: Mapping[Any, Any]) -> None:
        self.__recorder = recorder
        self.__root = root
        self.__path = path
        self.__data = data
        self.__own: dict[Any, Any] | None = None
        self.__children: dict[Any, Any] = {}

    def __getitem__(self, key: Any) -> Any:
        if self.__own is not None:
            return self.__own[key]
        if key in self.__children:
            return self.__children[key]
        path = (*self.__path, key)
        self.__recorder.record(("peek", self.__root, path))
        value = self.__data.get(key, _MISSING)
        if value is _MISSING:
            raise KeyError(key)
        child: Any
        if isinstance(value, (dict, Mapping)):
            child = TrackedMapping(self.__recorder, self.__root, path, value)
        else:
            child = fresh(value) if isinstance(value, (list, set)) else value
        self.__children[key] = child
        return child

    def __contains__(self, key: object) -> bool:
        if self.__own is not None:
            return key in self.__own
        found = key in self.__data
        self.__recorder.record(("has", self.__root, self.__path, key))
        return found

    def __iter__(self) -> Iterator[Any]:
        if self.__own is not None:
            return iter(self.__own)
        self.__recorder.record(("keys", self.__root, self.__path))
        return iter(list(self.__data))

    def __len__(self) -> int:
        if self.__own is not None:
            return len(self.__own)
        self.__recorder.record(("keys", self.__root, self.__path))
        return len(self.__data)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.__whole()[key] = value

    def __delitem__(self, key: Any) -> None:
        del self.__whole()[key]

    def items(self) -> Any:
        """As of a dict; records the whole."""
        return self.__whole().items()

    def values(self) -> Any:
        """As of a dict; records the whole."""
        return self.__whole().values()

    def copy(self) -> dict[Any, Any]:
        """A shallow copy; records the whole."""
        return dict(self.__whole())

    def __eq__(self, other: object) -> bool:
        return bool(plain(self) == plain(other))

    __hash__ = None  # type: ignore[assignment]  # as a dict: it can change

    def __repr__(self) -> str:
        return repr(plain(self))

    def __copy__(self) -> dict[Any, Any]:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[Any, Any]:
        whole: dict[Any, Any] = plain(self)
        return whole

    def __whole(self) -> dict[Any, Any]:
        """The mapping as this render's own: from here on nothing more needs to be recorded."""
        if self.__own is None:
            self.__recorder.record(("value", self.__root, self.__path))
            self.__own = {
                key: self.__children[key] if key in self.__children else fresh(value)
                for key, value in self.__data.items()
            }
        return self.__own

    def _plain(self) -> Value:
        """All of it as plain data, recorded whole; the render's own version of it, if it changed anything."""
        if self.__own is None and not self.__children:
            self.__recorder.record(("value", self.__root, self.__path))
            return _unfolded(self.__data if type(self.__data) is dict else dict(self.__data))
        return {key: plain(inner) for key, inner in self.__whole().items()}

    def _place(self) -> tuple[str, tuple[Any, ...]]:
        """Root and path, for messages (templates cannot reach names that start with an underscore)."""
        return self.__root, self.__path


def place_of(view: TrackedMapping) -> str:
    """Where a view is, as people write it: `pillar['nginx']['sites']`."""
    root, path = view._place()
    return root + "".join(f"[{key!r}]" for key in path)


def plain(value: Value) -> Value:
    """`value` with all views in it turned to plain data (and so recorded whole)."""
    if type(value) in _SCALARS:
        return value
    if type(value) is TrackedMapping:
        return value._plain()
    if isinstance(value, (dict, TrackedMapping)):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if type(value) is tuple:
        return tuple(plain(inner) for inner in value)
    return value


def _unfolded(value: Value) -> Value:
    """A deep copy of data without views; aliases inside become values of their own."""
    try:
        return marshal.loads(marshal.dumps(value, 2))  # noqa: S302  (bytes made in this very line)
    except ValueError:
        return plain(copy.deepcopy(value))


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
    if value is _MISSING:
        return b""
    try:
        # Version 2 has no back references: equal values give equal bytes whatever they share.
        packed = marshal.dumps(value, 2)
    except ValueError:
        # Not plain data: equal to nothing, so that a memo never takes it.
        return b"?%d" % next(_unique)
    return packed if len(packed) <= 24 else hashlib.blake2b(packed, digest_size=16).digest()
