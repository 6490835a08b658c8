"""Recorded reads: what a template, top file or pillar looked at, so that its result can be reused.

A `Recorder` notes each read of a minion's inputs (`sources`) with a digest of what was seen; a `TrackedMapping` is the
mapping handed to templates in place of grains, pillar and opts. It is no dict on purpose: C code that takes a dict's
insides (json, dict()) would read past the record. Used by render, pillar and top; `memo` decides what to do with the
record.
"""

from __future__ import annotations

import copy
import marshal
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from highstate.memo.handed_out import packed
from highstate.memo.sources import ABSENT, Read, ReadSources, fresh
from highstate.ports import Fact, question
from highstate.types import Value

_SCALARS = frozenset((str, int, float, bool, type(None)))


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
        self._untouched: dict[str, TrackedMapping] = {}

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

    def tracked(self, root: str) -> TrackedMapping:
        """The recording view of grains, pillar or opts that templates see and may change; the same one each time."""
        if root not in self._views:
            data = self.sources.handed_out.left.get(root, self.sources.roots[root])
            self._views[root] = TrackedMapping(self, root, (), data)
        return self._views[root]

    def untouched(self, root: str) -> TrackedMapping:
        """Another one, that of functions: what a template does to its variable `pillar` is none of theirs (Salt)."""
        if root not in self._untouched:
            self._untouched[root] = TrackedMapping(self, root, (), self.sources.roots[root])
        return self._untouched[root]

    def changed(self) -> dict[str, Mapping[Any, Any]]:
        """Grains, pillar or opts as the template has left them, where it changed them."""
        return {root: plain(view) for root, view in self._views.items() if view._changed()}

    def matches_id(self, kind: str, pattern: str) -> bool:
        """Whether the minion's id matches; records the answer and not the id, so that minions can share it."""
        return self.record(("id", kind, pattern)) == b"1"

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
        return self.tracked("grains")

    @property
    def pillar(self) -> Mapping[str, Value]:
        """Pillar as a recording view."""
        return self.tracked("pillar")

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

    def links(self, prefix: str, saltenv: str) -> Mapping[str, str]:
        """Path -> target of the symlinks below a folder."""
        self.record(("links", saltenv, prefix))
        return self.sources.files.links(prefix, saltenv)


class ReadFiles:
    """The files of a recorder's minion as `Files`; whatever is asked of them is recorded."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    @property
    def digest(self) -> str:
        """Names the whole tree; it is not recorded, so no result may follow from it."""
        return self._recorder.sources.files.digest

    def saltenvs(self) -> Sequence[str]:
        """Names of the environments; not recorded: part of the key of the memo."""
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

    def links(self, prefix: str = "", saltenv: str = "base") -> Mapping[str, str]:
        """Path -> target of the symlinks below a folder."""
        return self._recorder.links(prefix, saltenv)


class TrackedMapping(MutableMapping[Any, Any]):
    """A mapping of grains, pillar or opts that records what is read of it.

    Lists and sets are handed out as copies and recorded whole. When a template changes the view, or looks at
    all of it, it gets a copy of its own: nothing that one render does is seen by another compile (`Recorder.changed`).
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
        value = self.__data.get(key, ABSENT)
        if value is ABSENT:
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

    def _changed(self) -> bool:
        """Whether a template has changed something of it."""
        if self.__own is None:
            return any(_differs(child, self.__data[key]) for key, child in self.__children.items())
        if self.__own.keys() != self.__data.keys():
            return True
        return any(_differs(value, self.__data[key]) for key, value in self.__own.items())

    def _place(self) -> tuple[str, tuple[Any, ...]]:
        """Root and path, for messages (templates cannot reach names that start with an underscore)."""
        return self.__root, self.__path


def _differs(value: Any, given: Any) -> bool:
    if type(value) is TrackedMapping:
        return value._changed()
    whole = plain(value)
    return value is not given and bool(whole != given) and packed(whole) != packed(given)  # a NaN equals no other


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
