"""When something is due again: the schedule type of drift checks and of Salt's `schedule`.

Called by the minion's agent within its poll loop. Pure: the time and the chance come in as arguments.

APScheduler is asked for cron expressions alone, and only once there is one: importing its triggers pulls in
asyncio and costs 8 MiB, more than a third of an idle agent, and an interval with a splay is one addition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

SHORTEST = 1.0
"""Seconds; an interval below this would be a busy loop."""

_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


class BadSchedule(ValueError):
    """A schedule that cannot be followed: says which key is wrong and what is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """Again after `seconds` and a random part of `splay` seconds, so that a fleet does not act in step."""

    seconds: float
    splay: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """At the times of a cron expression of five fields, or six with the second last, up to `splay` seconds later."""

    expression: str
    splay: float = 0.0
    zone: str = ""
    """IANA name of the time zone; empty: that of the machine."""


Schedule: TypeAlias = Every | Cron


def parse_schedule(given: Mapping[str, Any]) -> Schedule | None:
    """`{"interval": seconds, "splay": seconds}` or `{"cron": "*/30 * * * *", "timezone": "UTC"}`; empty: None.

    Raises BadSchedule.
    """
    if not given:
        return None
    unknown = set(given) - {"interval", "splay", "cron", "timezone"}
    if unknown:
        raise BadSchedule(f"unknown key {sorted(unknown)[0]!r}: interval, splay, cron and timezone are known")
    splay = _seconds(given, "splay", 0.0)
    if "cron" in given:
        if "interval" in given:
            raise BadSchedule("interval and cron exclude each other")
        schedule = Cron(expression=str(given["cron"]), splay=splay, zone=known_zone(given.get("timezone") or ""))
        _triggers(schedule)
        return schedule
    if "timezone" in given:
        raise BadSchedule("timezone says how the times of cron are read, and there is no cron")
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
    fire = _next_cron(schedule, now)
    return None if fire is None else fire + delay


def _next_cron(schedule: Cron, now: float) -> float | None:
    """The first time of an expression from now on, in seconds since the epoch; None when there is none.

    Where its hours begin with `*`, it follows the time that goes by: each half hour is each half hour also when clocks
    are put back. Otherwise a time of the clock is once a day, as in cron(8): the first of two, and one that clocks
    leave out as `wall_clock.moment` says.
    """
    from reactors.wall_clock import clock_change, moment, moments, wall, zone_of

    zone, triggers = zone_of(schedule.zone), _triggers(schedule)
    each_hour = _ALIASES.get(schedule.expression, schedule.expression).split()[1].startswith("*")
    change = clock_change(now, zone)
    at, best = wall(now, zone) - change, None
    while (shown := _next_shown(triggers, at)) is not None and (best is None or shown <= wall(best, zone) + change):
        at = shown + timedelta(seconds=1)
        found = moments(shown, zone) if each_hour else (moment(shown, zone),)
        best = min((each for each in (*found, *([] if best is None else [best])) if each >= now), default=None)
    return best


def _next_shown(triggers: Sequence[Any], at: datetime) -> datetime | None:
    """What a clock shows when one of these is due next. They are asked in UTC, whose clocks nobody puts back."""
    found = [trigger.get_next_fire_time(None, at.replace(tzinfo=UTC)) for trigger in triggers]
    return min((each.replace(tzinfo=None) for each in found if each is not None), default=None)


def _triggers(schedule: Cron) -> list[Any]:
    """What finds the times of an expression, as crontab(5) says them: where a day of the month and one of the week are
    named, it is due on both."""
    from apscheduler.triggers.cron import CronTrigger

    fields = _ALIASES.get(schedule.expression, schedule.expression).split()
    if len(fields) not in (5, 6):
        wanted = "minute, hour, day of the month, month, day of the week, and as a sixth the second,"
        raise BadSchedule(f"cron {schedule.expression!r}: {wanted} are wanted, and not {len(fields)} fields")
    minute, hour, day, month, weekday, second = [*fields, "0"][:6]
    both = not day.startswith("*") and not weekday.startswith("*")
    try:
        weekdays = _weekdays(weekday)
        return [
            CronTrigger(second=second, minute=minute, hour=hour, day=days, month=month, day_of_week=names, timezone=UTC)
            for days, names in ([(day, "*"), ("*", weekdays)] if both else [(day, weekdays)])
        ]
    except ValueError as error:
        raise BadSchedule(f"cron {schedule.expression!r}: {error}") from error


def known_zone(name: Any) -> str:
    """The name, if there is such a zone; BadSchedule otherwise."""
    from reactors.wall_clock import zone_of

    if not isinstance(name, str):
        raise BadSchedule(f"timezone is a name like Europe/Berlin, not {name!r}")
    try:
        zone_of(name)
    except ValueError as error:
        raise BadSchedule(str(error)) from error
    return name


def _weekdays(field: str) -> str:
    """The names of days of the week: for crontab(5) 0 and 7 are Sunday, for APScheduler 0 is Monday."""
    found = []
    for part in field.lower().split(","):
        days, _, step = part.partition("/")
        first, _, last = days.partition("-")
        begin, end = (0, 6) if days == "*" else (_weekday(first), _weekday(last or first))
        if end < begin and last == "sun":
            end = 7
        if end < begin or (step and not step.isdecimal()) or step == "0":
            raise ValueError(f"{part!r} are no days of the week: write 0-6 or sun-sat, as 1-5 or mon,wed")
        found += [_WEEKDAYS[day % 7] for day in range(begin, (6 if step and not last else end) + 1, int(step or 1))]
    return ",".join(dict.fromkeys(found))


def _weekday(text: str) -> int:
    if text in _WEEKDAYS:
        return _WEEKDAYS.index(text)
    if not text.isdecimal() or int(text) > 7:
        raise ValueError(f"{text!r} is no day of the week: write 0-7 or sun-sat")
    return int(text)


def _seconds(given: Mapping[str, Any], key: str, least: float) -> float:
    value = given.get(key, least)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < float("inf"):
        raise BadSchedule(f"{key} must be a number of seconds, {least:g} or more, not {value!r}")
    return float(value)
