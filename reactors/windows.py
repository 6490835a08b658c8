"""When windows of a policy are open. Pure, but for the rules of time zones, which are read from the system.

As in Argo CD: where there are windows that allow, one of them has to be open; one that denies and is open forbids
whatever others allow. Called by the decisions about a minion, on the controller and on a minion that reaches none, for
people, and where a policy is read. APScheduler is imported with the first window that is looked at.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from reactors.schedule import BadSchedule, Cron, next_time, parse_schedule

_MOST_STEPS = 400
"""Beginnings and ends that are looked at to find when it is open again: some months of a daily window."""


class Window(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When minions may be changed, as Argo CD's sync windows."""

    kind: Literal["allow", "deny"] = "allow"
    schedule: str
    """Cron expression of its beginning."""
    duration: Annotated[float, msgspec.Meta(ge=60, le=31 * 86400)]
    """Seconds."""
    timezone: str = "UTC"
    """Whose clocks `schedule` follows."""
    manual: bool = False
    """Whether people may have something applied (`saltern sync`) while this window alone forbids it."""


@dataclass(frozen=True, slots=True)
class WindowState:
    """What windows say of a moment."""

    open: bool
    manual: bool = True
    """Whether people may have something applied."""
    changes_at: float | None = None
    """The next beginning or end of any of the windows, in seconds since the epoch; None where there is none."""
    why: str = ""
    """Which windows forbid it."""


ALWAYS = WindowState(open=True)
"""Without windows."""


def look(windows: Sequence[Window], now: float) -> WindowState:
    """What windows say of a moment, in seconds since the epoch."""
    if not windows:
        return ALWAYS
    spans = [(window, _span(window, now)) for window in windows]
    times = [span.until for _, span in spans if span.until is not None]
    changes_at = min(times, default=None)
    denying = [window for window, span in spans if window.kind == "deny" and span.open]
    allowing = [(window, span.open) for window, span in spans if window.kind == "allow"]
    if denying:
        return WindowState(False, all(window.manual for window in denying), changes_at, _told(denying))
    if allowing and not any(is_open for _, is_open in allowing):
        shut = [window for window, _ in allowing]
        return WindowState(False, any(window.manual for window in shut), changes_at, f"outside of {_told(shut)}")
    return WindowState(True, True, changes_at)


def is_active(window: Window, now: float) -> bool:
    """Whether it is between the beginning and the end of a window."""
    return _span(window, now).open


def opens_at(windows: Sequence[Window], now: float) -> float | None:
    """When it is open next, `now` if it is; None when that is not within some hundred beginnings and ends."""
    at: float | None = now
    for _ in range(_MOST_STEPS):
        if at is None:
            return None
        state = look(windows, at)
        if state.open:
            return at
        at = state.changes_at
    return None


def window_text(windows: Sequence[Window], now: float) -> str:
    """Why nothing may be applied now, and when it may, for people; empty where it may."""
    state = look(windows, now)
    if state.open:
        return ""
    at = opens_at(windows, now)
    when = "not within the next months" if at is None else time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(at))
    return f"{state.why}; opens {when}"


def check_window(window: Window) -> None:
    """BadSchedule when a window cannot be followed: its expression, its time zone, or because it never begins."""
    if next_time(_cron(window), previous=0.0, now=0.0, chance=0.0) is None:
        raise BadSchedule(f"cron {window.schedule!r}: there is no such time")


@dataclass(slots=True)
class _Span:
    """Between two changes of a window."""

    open: bool = False
    begin: float = math.inf
    until: float | None = None


def _span(window: Window, now: float) -> _Span:
    """Whether a window is open, and until when that is so."""
    span = _kept(window)
    if not (span.begin <= now and (span.until is None or now < span.until)):
        # A beginning at which it is open still: cron expressions know whole seconds.
        begin = next_time(_cron(window), previous=0.0, now=math.floor(now - window.duration) + 1.0, chance=0.0)
        span.begin, span.open = now, begin is not None and begin <= now
        span.until = begin + window.duration if begin is not None and span.open else begin
    return span


@functools.lru_cache(maxsize=1024)
def _kept(window: Window) -> _Span:
    """What was found last: a fleet asks about the same moment."""
    return _Span()


@functools.lru_cache(maxsize=1024)
def _cron(window: Window) -> Cron:
    found = parse_schedule({"cron": window.schedule, "timezone": window.timezone})
    assert isinstance(found, Cron)  # noqa: S101  (cron was given)
    return found


def windows_text(windows: Sequence[Window]) -> str:
    """`allow window '0 22 * * *' for 2h (UTC)` for each."""
    return ", ".join(map(_one_told, windows))


def _told(windows: Sequence[Window]) -> str:
    return _one_told(windows[0]) + (f" and {len(windows) - 1} more" if len(windows) > 1 else "")


def _one_told(one: Window) -> str:
    manual = ", manual" if one.manual else ""
    return f"{one.kind} window {one.schedule!r} for {duration_text(one.duration)} ({one.timezone}{manual})"


def duration_text(seconds: float) -> str:
    """`2h`, `90s`: in the largest unit of which it is a whole number."""
    for unit, letter in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds % unit == 0:
            return f"{seconds / unit:g}{letter}"
    return f"{seconds:g}s"
