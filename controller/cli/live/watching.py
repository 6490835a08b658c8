"""Asks the controller again and again, and shows what it answers: drawn over on a terminal, else once a change.

Called by `saltern status --watch` and `saltern top`. It asks when something happened (`event_feed`) and after an
interval, and waits the longer the more an answer costs, so that who watches does not keep the controller busy.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import click
import msgspec

from controller.cli import output
from controller.cli.client import Client
from controller.cli.failure import UNREACHABLE, Failure
from controller.cli.live.event_feed import RETRY_SECONDS, EventFeed
from controller.cli.live.fitted_table import cut
from controller.cli.live.live_screen import LiveScreen

_View = TypeVar("_View", bound=msgspec.Struct)

SOONEST_SECONDS = 0.5
"""From one question to the next, whatever happens."""
COST = 9
"""So many times as long as an answer took, nothing is asked after it: a tenth of the controller at most."""
QUIT = ("q", "Q", "\x04")


Frame = Callable[[_View, int, int], list[str]]
"""(an answer, columns, lines of the terminal) -> at most so many lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedView(Generic[_View]):
    """What is watched.

    Args:
        config_dir: whose controller it is.
        seconds: the longest from one question to the next.
        ask: asks it.
    """

    config_dir: Path
    seconds: float
    ask: Callable[[Client], _View]


def watch_screen(watch: WatchedView[_View], frame: Frame[_View]) -> None:
    """Draw until `q` or Ctrl-C. A controller that is gone is told, and tried again. Failure: there is none at first."""
    with Client(watch.config_dir) as client:
        view = watch.ask(client)
    with LiveScreen(whole=True) as screen, EventFeed(watch.config_dir, screen.wake):
        since, trouble = time.monotonic(), ""
        while True:
            screen.show(partial(_framed, frame, view, trouble))
            if not _waited(screen, min(watch.seconds, RETRY_SECONDS) if trouble else watch.seconds, since):
                return
            since = time.monotonic()
            try:
                with Client(watch.config_dir) as client:
                    view, trouble = watch.ask(client), ""
            except Failure as failure:
                if failure.code != UNREACHABLE:
                    raise
                trouble = f"{output.clock(time.time())[11:]} tried again: {failure.message}"
            since += COST * (time.monotonic() - since)


def _framed(frame: Frame[_View], view: _View, trouble: str, columns: int, lines: int) -> list[str]:
    if not trouble:
        return frame(view, columns, lines)
    head = output.styled(cut(output.printable(trouble, kept=""), columns), fg="red", bold=True)
    return [head, *frame(view, columns, max(lines - 1, 1))]


def _waited(screen: LiveScreen, seconds: float, since: float) -> bool:
    """Wait until it is time to ask again; False when somebody wants to leave. A blank asks at once."""
    woken = False
    while True:
        due = since + (SOONEST_SECONDS if woken else max(seconds, SOONEST_SECONDS))
        left = due - time.monotonic()
        if left <= 0:
            return True
        match screen.wait(left):
            case "wake":
                woken = True
            case " ":
                return True
            case key if key in QUIT:
                return False
            case _:
                pass


def watch_lines(watch: WatchedView[_View], show: Callable[[_View], None], same: Callable[[_View], object]) -> None:
    """Show an answer whenever it is another one, until Ctrl-C; for pipes and files.

    Args:
        watch: what is watched.
        show: prints an answer.
        same: what of an answer makes it another one; not how long ago things were.
    """
    before: object = None
    gone = False
    with Client(watch.config_dir) as client:
        show(view := watch.ask(client))
        before = same(view)
    while True:
        began = time.monotonic()
        time.sleep(max(watch.seconds, SOONEST_SECONDS))
        try:
            with Client(watch.config_dir) as client:
                view, gone = watch.ask(client), False
        except Failure as failure:
            if failure.code != UNREACHABLE:
                raise
            if not gone:
                click.echo(f"saltern: {failure.message}: it is tried again", err=True)
            gone = True
            continue
        if (now := same(view)) != before:
            show(view)
            before = now
        time.sleep(max(0.0, COST * (time.monotonic() - began - max(watch.seconds, SOONEST_SECONDS))))
