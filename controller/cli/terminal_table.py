"""Tables for a terminal: a line for each row where that fits, else its last cells on lines of their own. Pure.

Called by `output.table`. Knows no colours: each cell is given to `style` with the text that is to be shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from rich.cells import cell_len, set_cell_size

Style = Callable[[str | None, str], str]
"""(the whole cell or None for names of columns, the part of it that is shown) -> that part with its colour."""

_GAP = 2
_INDENT = 4
"""Of the lines that belong to a row."""
_LEAST = 28
"""Columns of the terminal in which the last cell is still wrapped beside the others."""


def lines_of(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int, style: Style) -> Iterator[str]:
    """The lines of a table, header first.

    Args:
        heads: names of the columns.
        rows: as many cells each.
        width: of the terminal, in columns.
        style: gives cells their colours.
    """
    widths = [max(cell_len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    widths[0] = min(widths[0], width)
    kept = len(heads)
    while kept > 1 and sum(widths[:kept]) + _GAP * (kept - 1) > width:
        kept -= 1
    left = width - sum(widths[:kept]) - _GAP * kept
    if kept == len(heads) - 1 and left >= _LEAST:  # the last column alone is too wide: it is wrapped where it stands
        widths[-1], kept = left, len(heads)
    for number, row in enumerate((heads, *rows)):
        shown = style if number else _of_heads(style)
        yield from _row(row, widths[:kept], width, shown)
        if number == 0:
            yield "─" * min(width, sum(widths[:kept]) + _GAP * (kept - 1))


def _of_heads(style: Style) -> Style:
    return lambda _, part: style(None, part)


def _row(row: Sequence[str], widths: Sequence[int], width: int, style: Style) -> Iterator[str]:
    wrapped = [wrap(cell, room) for cell, room in zip(row, widths, strict=False)]
    for line in range(max(map(len, wrapped))):
        parts = [cell[line] if line < len(cell) else "" for cell in wrapped]
        padded = [
            style(whole, part) + " " * (room - cell_len(part))
            for whole, part, room in zip(row, parts, widths, strict=False)
        ]
        yield (" " * _GAP).join(padded).rstrip()
    for part in _joined([cell for cell in row[len(widths) :] if cell], width - _INDENT):
        yield " " * _INDENT + style(part, part)


def _joined(cells: Sequence[str], width: int) -> Iterator[str]:
    """As many cells on a line as fit."""
    line = ""
    for part in (part for cell in cells for part in wrap(cell, width)):
        if line and cell_len(line) + _GAP + cell_len(part) > width:
            yield line
            line = part
        else:
            line = f"{line}{' ' * _GAP}{part}" if line else part
    if line:
        yield line


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns: broken at blanks, else behind `:`, `/` or `,`, else anywhere."""
    lines, line = [], ""
    for piece in re.findall(r"\s+|[^\s:/,]+[:/,]?|[:/,]", text):
        if line and cell_len(line) + cell_len(piece.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        if not line and piece.isspace():
            continue
        while cell_len(piece) > width:
            room = len(set_cell_size(piece, width).rstrip()) or 1
            lines.append(piece[:room])
            piece = piece[room:]
        line += piece
    return [*lines, line.rstrip()] if line or not lines else lines
