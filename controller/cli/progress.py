"""The line on a terminal that says how far runs are, above which answers scroll by.

Made by verbs that wait for minions. It stands on stderr. Where that is no terminal there is none, or, for who asks for
it, a line for each step of a minion.
"""

from __future__ import annotations

import os
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
        self._total = self._returned = 0

    def begin(self, minions: int) -> None:
        """So many minions are waited for."""
        self._total, self._returned = minions, 0
        self._draw()

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
        self._returned += 1
        self.clear()
        yield
        self._draw()

    def clear(self) -> None:
        """Leave the line empty."""
        if self._drawn:
            click.echo(_CLEAR, nl=False, err=True)
        self._drawn = False

    def _draw(self) -> None:
        several = 1 < self._total > self._returned
        if self.shown and self._redrawn and (self._running or several):
            whole = f"{output.bar(self._returned, self._total)} {self._returned}/{self._total}" if several else ""
            line = _line(whole, list(self._running.values()), get_terminal_size().columns)
            click.echo(_CLEAR + line, nl=False, err=True)
            self._drawn = True


@contextmanager
def progress_line(*, shown: bool | None = None) -> Iterator[ProgressLine]:
    """A line for as long as a verb waits; `shown`: whether there is one, None: on a terminal."""
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    line = ProgressLine(terminal if shown is None else shown, redrawn=terminal)
    try:
        yield line
    finally:
        line.clear()


def _line(whole: str, running: list[CallProgress], width: int) -> str:
    """How many have returned, the minion that spoke last, and how many more there are."""
    newest = _text(running[-1]) if running else ""
    more = f"(+{len(running) - 1} more running)" if len(running) > 1 else ""
    return "  ".join(part for part in (whole, newest, more) if part)[: max(width - 1, 10)]


def _text(item: CallProgress) -> str:
    return output.printable(f"{item.minion}: {item.text}  {item.seconds:.0f} s").replace("\n", " ")
