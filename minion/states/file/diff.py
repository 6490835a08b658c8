"""The `diff` of a file's change, as Salt shows it, within bounds.

Called by whatever changes the content of files. Pure.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

LARGEST = 512 * 1024
"""Bytes of a content that is still compared line by line; a diff of more is long to make and longer to read."""

MOST_LINES = 5000

_TEXT = bytes(range(32, 127)) + b"\n\r\t\f\b"
"""Letters that nearly all of a text of one byte a letter consists of (salt.utils.files, is_text)."""

HIDDEN = "<show_changes=False>"


def diff(old: bytes, new: bytes) -> str:
    """A unified diff, or a line that says what was replaced by what."""
    if _is_binary(old) or _is_binary(new):
        kinds = ["binary" if _is_binary(one) else "text" for one in (old, new)]
        return "Replace binary file" if kinds == ["binary"] * 2 else f"Replace {kinds[0]} file with {kinds[1]} file"
    if max(len(old), len(new)) > LARGEST or max(old.count(b"\n"), new.count(b"\n")) > MOST_LINES:
        return too_large(len(old), len(new))
    return unified(old, new)


def unified(old: bytes, new: bytes) -> str:
    """A unified diff of two texts; of what is no text, a line."""
    if _is_binary(new):
        return "New file"
    import difflib

    return "".join(difflib.unified_diff(_lines(old), _lines(new)))


class IgnoredDifferences(NamedTuple):
    """Differences of a content that what watches the file is not told of.

    White space at the ends of lines and comments are ignored wherever the lines are, as in Salt.
    """

    ordering: bool = False
    whitespace: bool = False
    comment_characters: tuple[str, ...] = ()

    def any(self) -> bool:
        """Whether there are such differences at all."""
        return self.ordering or self.whitespace or bool(self.comment_characters)

    def cover(self, old: bytes, new: bytes) -> bool:
        """Whether these contents differ in nothing else."""
        if old == new:
            return True
        return not (_is_binary(old) or _is_binary(new)) and self._compared(old) == self._compared(new)

    def _compared(self, data: bytes) -> Counter[str]:
        """The lines without what is ignored, in any order; those of which nothing is left do not count."""
        *lines, last = _decoded(data).split("\n")
        return Counter(left for line in (*(f"{line}\n" for line in lines), last) if (left := self._left_of(line)))

    def _left_of(self, line: str) -> str:
        for character in self.comment_characters:
            line = line.partition(character)[0]
        return line.strip() if self.whitespace else line


def too_large(old: int, new: int) -> str:
    """What stands in place of a diff of contents with these sizes."""
    return f"Files too large for a diff: {old} bytes are replaced by {new}"


def _is_binary(data: bytes) -> bool:
    if b"\0" in data[:8192]:
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        start = data[:512]
        return len(start.translate(None, _TEXT)) > 0.3 * len(start)
    return False


def _lines(data: bytes) -> list[str]:
    """Lines with their ends; a last one without gets the mark that diff(1) gives it, so that the change shows."""
    lines = _decoded(data).split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([f"{last}\n\\ No newline at end of file\n"] if last else [])


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")
