"""When something is due again: the schedule type of drift checks and of Salt's `schedule`.

Called by the minion's agent within its poll loop. Pure: the time and the chance come in as arguments.

APScheduler is asked for cron expressions alone, and only once there is one: importing its triggers pulls in
asyncio and costs 8 MiB, more than a third of an idle agent, and an interval with a splay is one addition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

SHORTEST = 1.0
"""Seconds; an interval below this would be a busy loop."""


class BadSchedule(ValueError):
    """A schedule that cannot be followed: says which key is wrong and what is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """Again after `seconds` and a random part of `splay` seconds, so that a fleet does not act in step."""

    seconds: float
    splay: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """At the times of a five-field cron expression, in local time, and up to `splay` seconds later."""

    expression: str
    splay: float = 0.0


Schedule: TypeAlias = Every | Cron


def parse_schedule(given: Mapping[str, Any]) -> Schedule | None:
    """`{"interval": seconds, "splay": seconds}` or `{"cron": "*/30 * * * *"}`; empty: None. Raises BadSchedule."""
    if not given:
        return None
    unknown = set(given) - {"interval", "splay", "cron"}
    if unknown:
        raise BadSchedule(f"unknown key {sorted(unknown)[0]!r}: interval, splay and cron are known")
    splay = _seconds(given, "splay", 0.0)
    if "cron" in given:
        if "interval" in given:
            raise BadSchedule("interval and cron exclude each other")
        schedule = Cron(expression=str(given["cron"]), splay=splay)
        _trigger(schedule)
        return schedule
    if "interval" not in given:
        raise BadSchedule("an interval (seconds) or a cron expression is wanted")
    return Every(seconds=_seconds(given, "interval", SHORTEST), splay=splay)


def next_time(schedule: Schedule, *, previous: float, now: float, chance: float) -> float | None:
    """When it is due next, in seconds since the epoch; None when never.

    `previous`: when it was done last (or first wished for); `chance`: 0 to 1, the part of the splay to take.
    What was missed while the process was away is done once, within the splay.
    """
    delay = schedule.splay * chance
    if isinstance(schedule, Every):
        return max(previous + schedule.seconds, now) + delay
    here = datetime.now().astimezone().tzinfo
    fire = _trigger(schedule).get_next_fire_time(None, datetime.fromtimestamp(now, here))
    return None if fire is None else float(fire.timestamp()) + delay


def _trigger(schedule: Cron) -> Any:
    from apscheduler.triggers.cron import CronTrigger

    try:
        return CronTrigger.from_crontab(schedule.expression, timezone=datetime.now().astimezone().tzinfo)
    except ValueError as error:
        raise BadSchedule(f"cron {schedule.expression!r}: {error}") from error


def _seconds(given: Mapping[str, Any], key: str, least: float) -> float:
    value = given.get(key, least)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < float("inf"):
        raise BadSchedule(f"{key} must be a number of seconds, {least:g} or more, not {value!r}")
    return float(value)
