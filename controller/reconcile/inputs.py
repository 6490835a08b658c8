"""What a state reads of what other states make, without a requisite that says so. Pure; called by `plan`.

A state reads the paths in its arguments, the file that it edits, and what its `onlyif` and `unless` ask of: paths, and
names of packages, services, users and groups. What a command reads beside that is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from highstate.run.requisites import KINDS
from highstate.types import Chunk, Value

_NO_INPUTS = frozenset((*KINDS, "listen", "listen_any", "order", "state", "fun", "name"))
"""Arguments whose texts are no paths that a state reads."""

_WRITERS = frozenset({"archive", "file", "git", "ini"})
"""State modules that make files at the paths that they name."""

_ACT_EACH_TIME = frozenset({"cmd", "event", "module", "test"})
"""State modules whose functions do not read files to decide what is to be done: a path in a command is no input."""

_NAMED = frozenset({"group", "pkg", "service", "user"})
"""State modules of what conditions ask by name (`id web`, `systemctl is-active nginx`)."""

_CONDITIONS = ("onlyif", "unless")

BINDING = frozenset((*_CONDITIONS, "filename", "pkgs", "target"))
"""Arguments in which more than paths is looked for."""

_PATH = re.compile(r"""(?<![\w.@-])/[^\s'"<>|&;`$()*?{}\\\[\],:=]+""")
_FEWEST_PARTS = 2
"""Of a path in a command that says what it makes: `/etc` says nothing."""
_WORD = re.compile(r"[\w.@+-]+")


class Written(NamedTuple):
    """Keys of states by what they make."""

    paths: dict[str, list[str]]
    """By path."""
    named: dict[str, list[str]]
    """By what a condition may name: a path that a command has in its text, a package, a service."""


def writers(chunks: Mapping[str, Chunk]) -> Written:
    """What the states make."""
    paths: dict[str, list[str]] = {}
    named: dict[str, list[str]] = {}
    for key, chunk in chunks.items():
        if chunk.state in _WRITERS and not gathers(chunk):
            for path in (chunk.name, chunk.arguments.get("target")):
                if isinstance(path, str) and len(path) > 1 and path.startswith("/"):
                    paths.setdefault(path.rstrip("/"), []).append(key)
        for name in _names(chunk):
            named.setdefault(name, []).append(key)
    return Written(paths, named)


def gatherers(chunks: Mapping[str, Chunk]) -> dict[str, list[str]]:
    """Path -> keys of the file.accumulated that gather text for it."""
    found: dict[str, list[str]] = {}
    for key, chunk in chunks.items():
        if gathers(chunk):
            found.setdefault(str(chunk.arguments.get("filename")), []).append(key)
    return found


def gathers(chunk: Chunk) -> bool:
    """Whether it is a file.accumulated."""
    return (chunk.state, chunk.fun) == ("file", "accumulated")


def collected(chunk: Chunk, gathered: Mapping[str, list[str]]) -> list[str]:
    """Keys of the states that gather text for this one."""
    return gathered.get(chunk.name, []) if chunk.state == "file" and not gathers(chunk) else []


def used(key: str, chunk: Chunk, written: Written) -> Iterator[str]:
    """Keys of the states that make what this one reads."""
    paths = _paths(chunk)
    found = [target for path in paths for target in written.paths.get(path, ())]
    if chunk.state in _WRITERS:
        found += _before(key, written.paths.get(chunk.name.rstrip("/"), ()))
    for text in _conditions(chunk):
        asked = [above for path in _PATH.findall(text) for above in _upwards(path)]
        found += [target for path in asked for target in (*written.paths.get(path, ()), *written.named.get(path, ()))]
        found += [target for word in _WORD.findall(text) for target in written.named.get(word, ())]
    return (target for target in dict.fromkeys(found) if target != key)


def _before(key: str, writing: Sequence[str]) -> Sequence[str]:
    """The states that write the same path before this one does."""
    return writing[: writing.index(key)] if key in writing else ()


def _names(chunk: Chunk) -> Iterator[str]:
    if chunk.state == "cmd":
        yield from (path for path in dict.fromkeys(_PATH.findall(chunk.name)) if path.count("/") >= _FEWEST_PARTS)
    elif chunk.state in _NAMED:
        several = chunk.arguments.get("pkgs")
        yield chunk.name
        yield from (str(name) for name in (several if isinstance(several, list) else ()))


def _conditions(chunk: Chunk) -> Iterator[str]:
    for kind in _CONDITIONS:
        if kind in chunk.arguments:
            yield from _texts(chunk.arguments[kind])


def _paths(chunk: Chunk) -> Iterator[str]:
    """Paths of the machine that the arguments name, and the folders above them."""
    for name, value in chunk.arguments.items():
        for text in paths_in(chunk, name, value):
            yield from _upwards(text.removeprefix("file://"))


def paths_in(chunk: Chunk, name: str, value: Value) -> Iterator[str]:
    """Texts in an argument of a state that are paths of the machine, which it may read."""
    if chunk.state in _ACT_EACH_TIME or name in _NO_INPUTS or name in _CONDITIONS or name.startswith("__"):
        return
    for text in _texts(value):
        if text.startswith(("/", "file:///")) and "\n" not in text:
            yield text


def _upwards(path: str) -> Iterator[str]:
    """A path, and the folders above it."""
    path = path.rstrip("/")
    while path.startswith("/") and len(path) > 1:
        yield path
        path = path.rpartition("/")[0]


def _texts(value: Value) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
