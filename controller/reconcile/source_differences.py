"""What two documents say of the source files of a state: the difference of their text, before anything is rendered.

Called by `status` and by `controller.preview.comparison`, in a thread, for states whose content changes, so that a
difference is shown without asking the minion. Whose text is equal, and whose rendering is another, is told by a test
run alone. It reads files through what it is given, and no more of them than the bounds below.
"""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from controller.reconcile.plan import ChangeKind, ChunkChange
from gitfs.tree.snapshot import BlobStart
from highstate.content_arguments import ContentSource, urls_in
from highstate.desired import Desired
from highstate.patterns import is_part
from highstate.types import ABSENT, Chunk, Value
from matching.linear_regex import PatternRefused

_MOST_BYTES = 64 * 1024
"""Of a file that is compared."""
_MOST_LINES = 2_000
"""The same: lines are compared in quadratic time."""
_MOST_SHOWN = 400
"""Lines of a difference."""
_MOST_FILES = 20
"""Files of a state that are shown."""
_MOST_DIFFERENCES = 500
"""Files that are compared for one question."""

_OTHER_ARGUMENTS = frozenset({"context", "defaults", "contents", "content", "text", "dataset", "data", "comment"})
"""Arguments that hold text and values: a salt:// URL in them is no source."""
_ONE_OF_SEVERAL = frozenset({("file", "managed"), ("cmd", "script")})
"""State functions of whose sources the first that is there counts."""


ReadBlob: TypeAlias = Callable[[str, int], BlobStart | None]
"""Content by its id, and at most so many bytes of it; None when it is not at hand any more."""


@dataclass(frozen=True, slots=True)
class _Version:
    """A source as one of the documents has it."""

    path: str
    oid: str


@dataclass(frozen=True, slots=True)
class SourceDifferences:
    """The differences that are shown in one answer."""

    read: ReadBlob
    _known: dict[tuple[_Version | None, _Version | None], str] = field(default_factory=dict)
    """(old, new) -> the difference: many minions have the same files."""

    def between(self, old: Desired | None, new: Desired) -> Callable[[ChunkChange], tuple[str, ...]]:
        """What gives a text for each source of a changed state that differs, in the form of `diff -u`."""
        return partial(self._of, old.files if old else {}, new.files)

    def _of(
        self, before: Mapping[str, Mapping[str, str]], after: Mapping[str, Mapping[str, str]], change: ChunkChange
    ) -> tuple[str, ...]:
        chunk = change.chunk
        before = {} if change.kind is ChangeKind.ADDED else before
        after = {} if change.kind is ChangeKind.REMOVED else after
        old_arguments = {**chunk.arguments, **{each.name: each.old for each in change.fields}}
        old, new = _sources(chunk, old_arguments, before), _sources(chunk, chunk.arguments, after)
        pairs = [(old.get(place), new.get(place)) for place in dict.fromkeys((*old, *new))]
        different = [pair for pair in pairs if _oid(pair[0]) != _oid(pair[1])]
        texts = tuple(self._difference(*pair) for pair in different[:_MOST_FILES])
        more = len(different) - _MOST_FILES
        return (*texts, f"({more} more files differ)") if more > 0 else texts

    def _difference(self, old: _Version | None, new: _Version | None) -> str:
        found = self._known.get((old, new))
        if found is None:
            if len(self._known) >= _MOST_DIFFERENCES:
                return f"{_name(new or old)} differs (not compared: too many files differ)"
            found = self._known[old, new] = self._compared(old, new)
        return found

    def _compared(self, old: _Version | None, new: _Version | None) -> str:
        starts = [BlobStart(0, b"") if one is None else self.read(one.oid, _MOST_BYTES) for one in (old, new)]
        before, after = starts
        name = _name(new or old)
        if before is None or after is None:
            which = "old" if before is None else "new"
            return f"{name} differs (its {which} content is not at hand any more)"
        sizes = f"{before.size} -> {after.size} bytes"
        if b"\0" in before.data or b"\0" in after.data:
            return f"Binary file {name} differs ({sizes})"
        lines = [_lines(start) for start in (before, after)]
        if lines[0] is None or lines[1] is None:
            return f"{name} differs ({sizes}; too large to be compared here)"
        return _unified(lines[0], lines[1], "/dev/null" if old is None else _name(old), _name(new) if new else "")


def text_difference(old: str, new: str, old_name: str, new_name: str) -> str:
    """Two texts in the form of `diff -u`, or a remark where that is too much; names as in its head."""
    lines = old.splitlines(), new.splitlines()
    if max(map(len, lines)) > _MOST_LINES or max(len(old), len(new)) > _MOST_BYTES:
        return f"{len(old)} -> {len(new)} characters; too large to be compared here"
    return _unified(*lines, old_name, new_name)


def _unified(old: list[str], new: list[str], old_name: str, new_name: str) -> str:
    lines = list(difflib.unified_diff(old, new, old_name, new_name or "/dev/null", lineterm="", n=2))
    more = len(lines) - _MOST_SHOWN
    shown = [*lines[:_MOST_SHOWN], *([f"({more} more lines)"] if more > 0 else [])]
    return "\n".join(shown) or f"{new_name or old_name} differs in its line ends alone"


def _lines(start: BlobStart) -> list[str] | None:
    """The lines of a text; None of one that is too large to be compared. What is not UTF-8 is shown as `\\xNN`."""
    if start.size > _MOST_BYTES or start.data.count(b"\n") > _MOST_LINES:
        return None
    return start.data.decode(errors="backslashreplace").splitlines()


def _name(version: _Version | None) -> str:
    return f"salt://{version.path}" if version else ""


def _oid(version: _Version | None) -> str:
    return version.oid if version else ""


def _sources(
    chunk: Chunk, arguments: Mapping[str, Value], files: Mapping[str, Mapping[str, str]]
) -> dict[tuple[int, str], _Version]:
    """(number of the source, path below it) -> the file, of all files that the arguments name in a document."""
    found: dict[tuple[int, str], _Version] = {}
    for number, url in enumerate(_urls(chunk, arguments)):
        source = ContentSource.parse(url, chunk.saltenv)
        if source is None:
            continue
        below = dict(_files_at(source, files, arguments))
        found |= {(number, inner): version for inner, version in below.items()}
        if below and (chunk.state, chunk.fun) in _ONE_OF_SEVERAL:
            return {(0, inner): version for inner, version in below.items()}
    return found


def _urls(chunk: Chunk, arguments: Mapping[str, Value]) -> Iterable[str]:
    named = {"source": arguments.get("source", chunk.name)} if chunk.fun == "script" else {}
    return dict.fromkeys(
        urls_in({name: value for name, value in {**arguments, **named}.items() if name not in _OTHER_ARGUMENTS})
    )


def _files_at(
    source: ContentSource, files: Mapping[str, Mapping[str, str]], arguments: Mapping[str, Value]
) -> Iterator[tuple[str, _Version]]:
    """(path below the source, file): the source itself, or what of its folder the patterns select."""
    tree = files.get(source.saltenv, {})
    if (oid := tree.get(source.path, ABSENT)) != ABSENT:
        yield "", _Version(source.path, oid)
        return
    folder = source.path.rstrip("/") + "/"
    wanted, unwanted = arguments.get("include_pat"), arguments.get("exclude_pat")
    with contextlib.suppress(re.error, PatternRefused):
        for path, oid in tree.items():
            inner = path[len(folder) :]
            if path.startswith(folder) and oid != ABSENT and is_part(inner, wanted, unwanted):
                yield inner, _Version(path, oid)
