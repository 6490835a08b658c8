"""What a report consists of, before it is Markdown, HTML or text: blocks of lines.

In a line, `str` is our own wording and `Quoted` is what comes from outside; renderers escape the one by the other, so
that nothing from outside can be forgotten. Pure data; made by `sections`, shown by `markdown`, `html` and `text`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Quoted:
    """Text that others wrote."""

    text: str
    most: int = 160
    """Characters that are shown where the room is bounded."""


@dataclass(frozen=True, slots=True)
class Strong:
    """Our own words, emphasised."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """Our own words, leading to an address of the controller."""

    label: str
    url: str


Piece: TypeAlias = str | Quoted | Strong | Link
ReportLine: TypeAlias = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """Of the page (1) or of a part (2)."""

    line: ReportLine
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One line, wrapped where it is shown."""

    line: ReportLine


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list."""

    lines: tuple[ReportLine, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of as many cells as there are heads."""

    heads: tuple[str, ...]
    rows: tuple[tuple[ReportLine, ...], ...]


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Lines of a file or of a program, shown as they are."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that are shown when a reader asks for them."""

    title: ReportLine
    blocks: tuple[ReportBlock, ...]


ReportBlock: TypeAlias = Heading | Paragraph | Bullets | Table | CodeBlock | Fold
