"""What two trees say of the sources of a file: the difference of their text, before anything is rendered. Pure.

Called by `comparison` for states whose content changes, so that a preview shows it without asking the minion. Whose
text is equal, and whose rendering is another, is told by the test run alone.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field

from highstate.types import Chunk, Files

_MOST_BYTES = 64 * 1024
"""Of a file that is compared."""
_MOST_LINES = 2_000
"""The same: lines are compared in quadratic time."""
_MOST_SHOWN = 400
"""Lines of a difference."""


@dataclass(frozen=True, slots=True)
class SourceDifferences:
    """The files of the base and of the head."""

    before: Files
    after: Files
    _known: dict[tuple[str, str], str] = field(default_factory=dict)
    """(path, saltenv) -> the difference: many minions have the same files."""

    def of(self, chunk: Chunk) -> tuple[str, ...]:
        """A text for each source of the state that differs, in the form of `diff -u`."""
        return tuple(text for path in _sources(chunk) if (text := self._of_file(path, chunk.saltenv)))

    def _of_file(self, path: str, saltenv: str) -> str:
        found = self._known.get((path, saltenv))
        if found is None:
            found = self._known[path, saltenv] = self._compared(path, saltenv)
        return found

    def _compared(self, path: str, saltenv: str) -> str:
        old, new = _lines(self.before, path, saltenv), _lines(self.after, path, saltenv)
        if old is None or new is None or old == new:
            return ""
        lines = list(difflib.unified_diff(old, new, f"salt://{path}", f"salt://{path}", lineterm="", n=2))
        more = len(lines) - _MOST_SHOWN
        return "\n".join([*lines[:_MOST_SHOWN], *([f"({more} more lines)"] if more > 0 else [])])


def _sources(chunk: Chunk) -> Iterator[str]:
    given = chunk.arguments.get("source")
    for one in given if isinstance(given, list | tuple) else [given]:
        if isinstance(one, str) and one.startswith("salt://") and not one.startswith("salt://|"):
            yield one.removeprefix("salt://").partition("?")[0]


def _lines(files: Files, path: str, saltenv: str) -> list[str] | None:
    """The lines of a text; None of what is none, or too large to be compared."""
    if files.oid(path, saltenv) is None:
        return []
    content = files.read(path, saltenv)
    if len(content) > _MOST_BYTES or content.count(b"\n") > _MOST_LINES:
        return None
    try:
        return content.decode().splitlines()
    except UnicodeDecodeError:
        return None
