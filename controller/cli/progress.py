"""The line on a terminal that says how far runs are, above which answers scroll by.

Made by verbs that wait for minions. It stands on stderr. Where that is no terminal there is none, or, for who asks for
it, a line for each step of a minion.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import get_terminal_size

import click

from controller.cli import output
from controller.schema.runs import CallProgress

_CLEAR = "\r\x1b[K"


class ProgressLine:
    """What stands in the last line.

    Args:
        shown: whether it is told at all.
        redrawn: whether the line is written over; False: each text is a line of its own, for files and pipes.
    """

    def __init__(self, shown: bool, *, redrawn: bool = True) -> None:
        self.shown = shown
        self._redrawn = redrawn
        self._running: dict[str, CallProgress] = {}
        self._drawn = False

    def update(self, item: CallProgress) -> None:
        """A minion says how far it is."""
        self._running.pop(item.minion, None)
        self._running[item.minion] = item
        if self.shown and not self._redrawn:
            click.echo(_text(item), err=True)
        self._draw()

    @contextmanager
    def aside(self, minion: str) -> Iterator[None]:
        """Out of the way while the answer of a minion is printed; that one runs no more."""
        self._running.pop(minion, None)
        self.clear()
        yield
        self._draw()

    def clear(self) -> None:
        """Leave the line empty."""
        if self._drawn:
            click.echo(_CLEAR, nl=False, err=True)
        self._drawn = False

    def _draw(self) -> None:
        if self.shown and self._redrawn and self._running:
            click.echo(_CLEAR + _line(list(self._running.values()), get_terminal_size().columns), nl=False, err=True)
            self._drawn = True


@contextmanager
def progress_line(*, shown: bool | None = None) -> Iterator[ProgressLine]:
    """A line for as long as a verb waits; `shown`: whether there is one, None: on a terminal."""
    terminal = sys.stderr.isatty()
    line = ProgressLine(terminal if shown is None else shown, redrawn=terminal)
    try:
        yield line
    finally:
        line.clear()


def _line(running: list[CallProgress], width: int) -> str:
    """The minion that spoke last, and how many more there are."""
    newest = running[-1]
    more = f"  (+{len(running) - 1} more running)" if len(running) > 1 else ""
    return (_text(newest) + more)[: max(width - 1, 10)]


def _text(item: CallProgress) -> str:
    return output.printable(f"{item.minion}: {item.text}  {item.seconds:.0f} s").replace("\n", " ")
