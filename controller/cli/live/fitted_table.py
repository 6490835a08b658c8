"""Tables that fit into a part of a terminal: a line for each row, and how many rows are left out. Pure.

Called by what is drawn again and again. Where it is narrow, columns are left out and the last one is cut.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from controller.cli.output import counted, printable
from controller.cli.terminal_table import Style

_GAP = 2
_LEAST = 16
"""Columns of the terminal that the last cell has before others are left out."""
_LEAST_FIRST = 10
"""That the first cell has, a name, which is cut so that what is told of it can be seen."""


def fitted_table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    room: tuple[int, int],
    style: Style,
    *,
    droppable: Sequence[int] = (),
    noun: str = "row",
) -> list[str]:
    """The lines of a table, header first.

    Args:
        heads: names of the columns.
        rows: as many cells each; texts of anybody.
        room: columns and lines of the terminal that there are for it; at least the header and one line are made.
        style: gives cells their colours.
        droppable: places of columns that are left out where it is narrow, the first of them first.
        noun: what a row is, for "and 3 more rows".
    """
    width, lines = max(room[0], 1), max(room[1], 2)
    shown = rows if len(rows) < lines else rows[: lines - 2]
    table = [tuple(heads), *(tuple(printable(cell, kept="") for cell in row) for row in shown)]
    kept = _kept_columns(table, width, droppable)
    table = [tuple(row[column] for column in kept) for row in table]
    widths = [max(cell_len(row[place]) for row in table) for place in range(len(kept))]
    others = sum(widths[1:-1]) + min(widths[-1], _LEAST) + _GAP * (len(kept) - 1) if len(kept) > 1 else 0
    widths[0] = min(widths[0], max(width - others, _LEAST_FIRST), width)
    used = sum(widths[:-1]) + _GAP * (len(kept) - 1)
    if len(kept) > 1:
        widths[-1] = min(widths[-1], max(width - used, 0))
    found = [_line(row, widths, width, style, head=number == 0) for number, row in enumerate(table)]
    if len(shown) < len(rows):
        found.append(style("", cut(f"and {counted(len(rows) - len(shown), f'more {noun}')}", width)))
    return found


def _kept_columns(table: Sequence[Sequence[str]], width: int, droppable: Sequence[int]) -> list[int]:
    """Those that are shown: others are left out until the last one has some room."""
    kept, left = list(range(len(table[0]))), list(droppable)
    while left:
        used = sum(max(cell_len(row[column]) for row in table) + _GAP for column in kept[:-1])
        if used + min(_LEAST, max(cell_len(row[kept[-1]]) for row in table)) <= width:
            break
        kept.remove(left.pop(0))
    return kept


def _line(row: Sequence[str], widths: Sequence[int], width: int, style: Style, *, head: bool) -> str:
    parts, used = [], 0
    for cell, size in zip(row, widths, strict=True):
        room = min(size, width - used)
        if room <= 0:
            break
        shown = cut(cell, room)
        parts.append(style(None if head else cell, shown) + " " * (room - cell_len(shown)))
        used += room + _GAP
    return (" " * _GAP).join(parts).rstrip()


def cut(text: str, width: int) -> str:
    """The text in at most so many columns of a terminal, with an ellipsis where something is missing."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 1 else set_cell_size(text, max(width, 0))
