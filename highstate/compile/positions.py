"""Where things were written: from an ID, a state or a requisite back to file, line and the text around it.

Every stage of the compile that finds something wrong asks a `SourceLocation` for the `Problem`. It reads what the
render stage recorded; it never parses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from highstate.render import problems
from highstate.types import Files, Pos, Problem, Stage, Value

_ITEMS = 200
"""So many items of a list are looked at for a key."""


class LineIndex(Protocol):
    """What the render stage knows of lines (`highstate.render.LineMap`)."""

    def find(self, *keys: Value) -> int:
        """Rendered line of a path of keys; 0 when it is not known."""

    def template_line(self, line: int) -> int:
        """Line of the template that gave a rendered line; 0 when it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A rendered SLS file."""

    file: str
    sls: str
    saltenv: str
    include_chain: tuple[str, ...] = ()
    lines: LineIndex | None = None
    text: str = ""
    """The rendered text, for excerpts where the line of the template is not known."""
    files: Files | None = None


@dataclass(slots=True)
class SourceLocation:
    """A part of an SLS file: the whole, an ID in it, or an entry of its `extend`."""

    source_file: SourceFile
    keys: tuple[Value, ...] = ()
    """Path of mapping keys down to this part."""
    written_keys: dict[str, str] = field(default_factory=dict)
    """State -> the key as the author wrote it (`pkg` -> `pkg.installed`)."""

    @property
    def sls(self) -> str:
        """Name of the SLS."""
        return self.source_file.sls

    @property
    def saltenv(self) -> str:
        """Its environment."""
        return self.source_file.saltenv

    @property
    def file(self) -> str:
        """Path of its template."""
        return self.source_file.file

    def pos(self, *keys: Value) -> Pos:
        """Position of a path of keys below this part, or of the nearest thing around it whose line is known."""
        source_file, line = self.source_file, self._line(*keys)
        return Pos(
            file=source_file.file,
            saltenv=source_file.saltenv,
            line=line,
            template_line=source_file.lines.template_line(line) if source_file.lines is not None and line else 0,
            stage=Stage.COMPILE,
            include_chain=source_file.include_chain,
        )

    def problem(self, message: str, *keys: Value, hint: str = "") -> Problem:
        """An error about this part, with its position and the lines around it, of the template where they are known."""
        source_file, pos = self.source_file, self.pos(*keys)
        shown = source_excerpt(source_file.files, pos) if source_file.files is not None else ""
        return Problem(message=message, pos=pos, excerpt=shown or _excerpt(source_file.text, pos.line), hint=hint)

    def below(self, *keys: Value) -> SourceLocation:
        """The part of this one under a path of keys."""
        return SourceLocation(self.source_file, (*self.keys, *(self._key(key) for key in keys)))

    def _key(self, key: Value) -> Value:
        return self.written_keys.get(key, key) if isinstance(key, str) else key

    def _line(self, *keys: Value) -> int:
        """Line of the deepest part of the path that is known; list items on the way need not be named."""
        lines = self.source_file.lines
        if lines is None:
            return 0
        if not keys and len(self.keys) == 1:  # an ID: most of all questions
            return lines.find(self.keys[0])
        path: tuple[Value, ...] = ()
        for key in (*self.keys, *(self._key(key) for key in keys)):
            deeper = _step(lines, path, key)
            if not deeper:
                break
            path = deeper
        return lines.find(*path) if path else 0


def _step(lines: LineIndex, path: tuple[Value, ...], key: Value) -> tuple[Value, ...]:
    if lines.find(*path, key):
        return (*path, key)
    for index in range(_ITEMS):
        if not lines.find(*path, index):
            break
        if lines.find(*path, index, key):
            return (*path, index, key)
    return ()


def source_excerpt(files: Files, pos: Pos) -> str:
    """The lines of a template around a position; empty when its line in the template is not known."""
    if not pos.template_line:
        return ""
    return _excerpt(files.read(pos.file, pos.saltenv).decode(errors="replace"), pos.template_line)


def near(name: str, names: Iterable[Value]) -> str:
    """`did you mean 'a' or 'b'?`, empty when nothing comes near."""
    return problems.near(name, sorted({known for known in names if isinstance(known, str) and known != name}))


def _excerpt(text: str, line: int) -> str:
    rows = text.splitlines()
    if not 1 <= line <= len(rows):
        return ""
    row = rows[line - 1]
    return problems.excerpt(text, line, len(row) - len(row.lstrip()) + 1)
