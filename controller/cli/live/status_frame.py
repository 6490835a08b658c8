"""`saltern status --watch` as a screen: how many minions are how, then a line for each, who is not well first."""

from __future__ import annotations

import time
from collections import Counter

from controller.cli import output
from controller.cli.live.fitted_table import cut, fitted_table
from controller.cli.status_rows import HEADS, row_of
from controller.cli.terminal_table import wrap
from controller.schema.minions import MinionStatus, StatusView

_DROPPABLE = (4, 6, 5, 3)
"""Attempted, Seen, Since, Applied."""
_WELL = ("Synced", "Healthy")
_REMOTES = 3
"""With errors, that are told."""


def status_frame(view: StatusView, columns: int, lines: int) -> list[str]:
    """The screen, for `columns` and `lines` of a terminal."""
    head = f"saltern status  {time.strftime('%H:%M:%S')}  {output.counted(len(view.minions), 'minion')}"
    counts = Counter[str](each.sync for each in view.minions), Counter[str](each.health for each in view.minions)
    told = [_counted(each, columns) for each in counts]
    top = [output.styled(cut(head, columns), bold=True), *(line for line in told if line)]
    wrong = [f"remote {each.name}: {output.printable(each.error, kept='')}" for each in view.remotes if each.error]
    bottom = [output.styled(cut(each, columns), fg="red") for each in wrong[:_REMOTES]]
    rows = [row_of(each) for each in sorted(view.minions, key=_order)]
    room = lines - len(top) - len(bottom) - 1
    table = fitted_table(HEADS, rows, (columns, room), style, droppable=_DROPPABLE, noun="minion")
    left = lines - len(top) - 1 - len(table) - len(bottom)
    return [*top, "", *table, *_in_full(view, columns, left), *bottom][:lines]


def _in_full(view: StatusView, columns: int, lines: int) -> list[str]:
    """Messages of minions that are not well, which the table cuts, as far as there is room below it."""
    found = [""]
    for each in sorted(view.minions, key=_order):
        told = wrap(output.printable(f"{each.minion}: {each.message}", kept=""), columns)
        if each.health == _WELL[1] or len(told) < 2:
            continue
        if len(found) + len(told) > lines:
            break
        found += told
    return found if len(found) > 1 else []


def style(cell: str | None, part: str) -> str:
    """The colour of a cell, by the word that it is; None: the name of a column."""
    return output.styled(part, bold=True) if cell is None else output.styled(part, fg=output.COLOURS.get(cell))


def _counted(counts: Counter[str], columns: int) -> str:
    words = [(f"{count} {word}", word) for word, count in counts.most_common()]
    whole = "  ".join(text for text, _ in words)
    if len(whole) > columns:
        return cut(whole, columns)
    return "  ".join(output.styled(text, fg=output.COLOURS.get(word)) for text, word in words)


def _order(minion: MinionStatus) -> tuple[bool, bool, str]:
    """Whoever is not well first, then who is not in sync."""
    return minion.health == _WELL[1], minion.sync == _WELL[0], minion.minion
