"""The part of a terminal that is drawn again and again, and the keys that are pressed meanwhile.

Used by `controller.cli.live.watching` and `saltern rollout watch`. Drawn by rich, which knows terminals.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Sequence
from shutil import get_terminal_size
from types import TracebackType
from typing import Any

from controller.cli import output

Draw = Callable[[int, int], Sequence[str]]
"""(columns, lines) of the terminal -> the lines that are shown, with colours."""


def is_live() -> bool:
    """Whether stdout can be drawn on: a terminal that knows how to move its cursor."""
    return sys.stdout.isatty() and os.environ.get("TERM") not in (None, "", "dumb")


class LiveScreen:
    """Draws until it is left, and is woken by keys, by another size of the terminal, and from threads.

    Args:
        whole: whether the screen is another one meanwhile, as in `top`; else the lines stay when it is left.
    """

    def __init__(self, *, whole: bool) -> None:
        from rich.console import Console
        from rich.live import Live

        console = Console(no_color=not output.coloured(), highlight=False)
        self._live = Live(console=console, screen=whole, auto_refresh=False, vertical_overflow="crop")
        self._draw: Draw = lambda columns, lines: ()
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> LiveScreen:
        self._stack.callback(os.close, self._woken)
        self._stack.callback(os.close, self._wake)
        self._stack.enter_context(self._resizes())
        self._stack.enter_context(_single_keys())
        self._stack.enter_context(self._live)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    def wake(self) -> None:
        """End a `wait` that goes on. From any thread, while the screen is open."""
        with contextlib.suppress(OSError):  # full: it is woken already
            os.write(self._wake, b"w")

    def show(self, draw: Draw) -> None:
        """Show this from now on, also after the terminal has another size."""
        self._draw = draw
        self._redraw()

    def _redraw(self) -> None:
        from rich.text import Text

        columns, lines = get_terminal_size()
        shown = "\n".join(list(self._draw(columns, lines))[:lines])
        self._live.update(Text.from_ansi(shown, no_wrap=True, overflow="crop", end=""), refresh=True)

    def wait(self, seconds: float) -> str:
        """The key that was pressed, or `wake`; empty after so many seconds."""
        readable, _, _ = select.select([self._woken, *_keyboard()], [], [], max(seconds, 0.0))
        if self._woken in readable:
            told = os.read(self._woken, 1000)
            if b"r" in told:
                self._redraw()
            if b"w" in told:
                return "wake"
        if len(readable) > (self._woken in readable):
            return os.read(sys.stdin.fileno(), 1).decode("ascii", "replace")
        return ""

    @contextlib.contextmanager
    def _resizes(self) -> Iterator[None]:
        def resized(*_: Any) -> None:
            with contextlib.suppress(OSError):
                os.write(self._wake, b"r")

        before = signal.signal(signal.SIGWINCH, resized)
        try:
            yield
        finally:
            signal.signal(signal.SIGWINCH, before)


def _keyboard() -> list[int]:
    return [sys.stdin.fileno()] if sys.stdin.isatty() else []


@contextlib.contextmanager
def _single_keys() -> Iterator[None]:
    """Get keys as they are pressed, and show none; Ctrl-C and Ctrl-Z mean what they mean."""
    if not sys.stdin.isatty():
        yield
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
