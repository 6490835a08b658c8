"""Jobs of Salt's `schedule`: what an entry says, when it is due, and whether it may run then.

Called by the agent's timer and by the execution module `schedule`. Pure: time and chance come in as arguments.
Behaviour: doc/topics/jobs/#scheduling-jobs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from typing import Any

from reactors.schedule import BadSchedule, Cron, Every, next_time

SETTINGS = ("enabled", "skip_function", "skip_during_range", "splay", "timezone")
"""Entries of a schedule that are no jobs, but about all of them."""

_NAMES = """
    name function func fun args kwargs enabled maxrunning jid_include return_job returner return_config return_kwargs
    metadata seconds minutes hours days cron when once once_fmt timezone splay run_on_start range until after
    skip_during_range run_after_skip_range skip_explicit run_explicit
"""

KNOWN = frozenset(_NAMES.split())
"""What a job may say."""

REPLACED_BY_SKIP_FUNCTION = ("not_in_range", "in_skip_range", "skip_explicit")
"""Why a job may not run, where the function that `skip_function` names runs in its place."""

_UNITS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400}
_NO_WHENS: Mapping[str, Any] = {}
_CLOCKS = ("when", "cron", "once")

MOST_EXPLICIT = 1000
"""Times of `skip_explicit` or `run_explicit`."""
MOST_RETURNERS = 16
"""Of a job."""
MOST_METADATA = 8 * 1024
"""Bytes of `metadata` or `return_kwargs`, as JSON."""
TIME_FORM = "%Y-%m-%dT%H:%M:%S"
"""Of these, where they name no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedTimes:
    """At the times that are written."""

    texts: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledJob:
    """One job. Seconds are seconds; times are since the epoch."""

    name: str
    fun: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    times: Every | Cron | FixedTimes
    splay: tuple[float, float] = (0.0, 0.0)
    """Least and most seconds that it is late by."""
    enabled: bool = True
    at_most: int = 1
    """How many of it may run at a time."""
    at_start: bool = False
    returned: bool = True
    """Whether the controller gets the result."""
    within: Mapping[str, Any] = field(default_factory=dict)
    """`range`: start and end, `invert`."""
    never_within: Mapping[str, Any] = field(default_factory=dict)
    skipped: tuple[float, ...] = ()
    """`skip_explicit`: regular times at which it does not run."""
    added: tuple[float, ...] = ()
    """`run_explicit`: times at which it runs besides."""
    after: Any = None
    until: Any = None
    zone: str = ""
    """IANA name of the time zone of all its times; empty: that of the machine."""
    returners: tuple[str, ...] = ()
    """That get what it returns, beside those of the configuration."""
    return_config: str = ""
    """The profile of their options."""
    return_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Options above those of the configuration."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Is told with what it returns."""
    after_skipped: bool = False
    """`run_after_skip_range`: it runs as soon as `never_within` is over, where that held it back."""

    def due(self, *, previous: float, now: float, chance: float) -> float | None:
        """When it is due next; None when never. `chance`: 0 to 1, the part of the splay to take."""
        late = self.splay[0] + (self.splay[1] - self.splay[0]) * chance
        if isinstance(self.times, FixedTimes):
            regular = _next_of(self.times, now, self.zone)
        else:
            regular = next_time(self.times, previous=previous, now=now, chance=0.0)
        found = [at for at in self.added if at >= now] + ([] if regular is None else [regular + late])
        return min(found, default=None)

    def is_skipped(self, due: float, skipped: Sequence[float]) -> bool:
        """Whether a run that is due at a time is one of these, which say nothing of the splay."""
        return any(at - 1.0 < due < at + self.splay[1] + 1.0 for at in skipped)

    def refusal(self, now: float, *, due: float | None = None) -> str:
        """Why it may not run at this time; empty when it may. `due`: when it was due, where it is late."""
        from reactors.datetimes import parse_datetime
        from reactors.wall_clock import wall, zone_of

        zone = zone_of(self.zone)
        here = wall(now, zone)
        if self.within and not _inside(self.within, here, zone):
            return "not_in_range"
        if self.never_within and _inside(self.never_within, here, zone):
            return "in_skip_range"
        if self.is_skipped(now if due is None else due, self.skipped):
            return "skip_explicit"
        if self.until is not None and parse_datetime(self.until, here, zone) <= here:
            return "until_passed"
        if self.after is not None and parse_datetime(self.after, here, zone) >= here:
            return "after_not_passed"
        return ""

    def held_until(self, now: float, why: str) -> float | None:
        """When a job that may not run now (`refusal`) runs for that reason alone; None: at its next regular time.

        As in Salt, an interval that is held by `range` is over when the range opens, and `run_after_skip_range` runs a
        job a second after the range that it may not run in.
        """
        if why == "not_in_range" and isinstance(self.times, Every):
            return _opening(self.within, now, self.zone)
        if why == "in_skip_range" and self.after_skipped:
            return _end_of(self.never_within, now, self.zone) + 1.0
        return None


def jobs_of(
    schedule: Mapping[str, Any], whens: Mapping[str, Any] = _NO_WHENS
) -> tuple[dict[str, ScheduledJob], dict[str, str]]:
    """The jobs of a `schedule` by name, and why those that cannot be followed cannot; `whens`: see `job_of`."""
    jobs, refused = {}, {}
    for name, item in schedule.items():
        if name in SETTINGS:
            continue
        try:
            jobs[name] = job_of(str(name), item, schedule, whens)
        except ValueError as error:
            refused[str(name)] = str(error)
    return jobs, refused


def job_of(name: str, item: Any, schedule: Mapping[str, Any], whens: Mapping[str, Any] = _NO_WHENS) -> ScheduledJob:
    """One entry; BadSchedule says what is wrong with it.

    Args:
        name: of the job.
        item: what stands there.
        schedule: the entries about all jobs.
        whens: times by name, that `when` may say instead (`whens` of pillar and grains).
    """
    if not isinstance(item, Mapping):
        raise BadSchedule(f"a job is a mapping, not {item!r}")
    fun = item.get("function") or item.get("func") or item.get("fun")
    if not isinstance(fun, str) or not fun:
        raise BadSchedule("it names no function")
    args, kwargs = item.get("args") or (), item.get("kwargs") or {}
    if not isinstance(args, list | tuple) or not isinstance(kwargs, Mapping):
        raise BadSchedule("args is a list, kwargs a mapping")
    timed = any(unit in item for unit in _UNITS)
    zone = _zone(item.get("timezone") or schedule.get("timezone"))
    return ScheduledJob(
        name=name,
        fun=fun,
        args=tuple(args),
        kwargs=dict(kwargs),
        times=_times(item, zone, whens),
        splay=_splay(item.get("splay") or schedule.get("splay")),
        enabled=_yes(item.get("enabled", True)) and _yes(schedule.get("enabled", True)),
        at_most=int(item.get("maxrunning", 1)) if _yes(item.get("jid_include", True)) else sys.maxsize,
        at_start=_yes(item.get("run_on_start", timed)),
        returned=_yes(item.get("return_job", True)),
        within=_range(item.get("range")),
        never_within=_range(item.get("skip_during_range") or schedule.get("skip_during_range")),
        skipped=_moments("skip_explicit", item, zone),
        added=_moments("run_explicit", item, zone),
        after=_checked_datetime(item.get("after")),
        until=_checked_datetime(item.get("until")),
        zone=zone,
        after_skipped=_yes(item.get("run_after_skip_range", False)),
        returners=_returners(item.get("returner")),
        return_config=str(item.get("return_config") or ""),
        return_kwargs=_json_mapping("return_kwargs", item),
        metadata=_json_mapping("metadata", item),
    )


def _returners(value: Any) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value or ()
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise BadSchedule(f"returner is a name or a list of names, not {value!r}")
    found = tuple(dict.fromkeys(one for name in names for part in name.split(",") if (one := part.strip())))
    if len(found) > MOST_RETURNERS:
        raise BadSchedule(f"it names {len(found)} returners, and {MOST_RETURNERS} are the most")
    return found


def _json_mapping(key: str, item: Mapping[str, Any]) -> dict[str, Any]:
    value = item.get(key) or {}
    if not isinstance(value, Mapping):
        raise BadSchedule(f"{key} is a mapping, not {value!r}")
    try:
        text = json.dumps(value, default=str)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadSchedule(f"{key}: {error}") from error
    if len(text) > MOST_METADATA:
        raise BadSchedule(f"{key} has {len(text)} bytes, and {MOST_METADATA} are the most")
    found: dict[str, Any] = json.loads(text)
    return found


def _times(item: Mapping[str, Any], zone: str, whens: Mapping[str, Any]) -> Every | Cron | FixedTimes:
    clocks = [key for key in _CLOCKS if key in item]
    units = [key for key in _UNITS if key in item]
    if len(clocks) > 1 or (clocks and units):
        raise BadSchedule(f"{' and '.join([*clocks, *units])} exclude each other")
    if units:
        seconds = sum(int(item[unit]) * _UNITS[unit] for unit in units)
        if seconds < 1:
            raise BadSchedule(f"the time between two runs is {seconds} seconds")
        return Every(seconds=seconds)
    if not clocks:
        raise BadSchedule("it says no time: seconds, minutes, hours, days, when, cron or once")
    value = item[clocks[0]]
    if clocks == ["cron"]:
        cron = Cron(expression=str(value), zone=zone)
        next_time(cron, previous=0.0, now=0.0, chance=0.0)
        return cron
    if clocks == ["once"]:
        form = item.get("once_fmt")
        return FixedTimes(texts=(_read("once", value, str(form)) if form else _date(value),))
    texts = value if isinstance(value, list) else [value]
    named = [whens[one] if isinstance(one, str) and one in whens else one for one in texts]
    return FixedTimes(texts=tuple(_checked_datetime(one) for one in named))


def whens_of(pillar: Any, grains: Any) -> dict[str, Any]:
    """The times that jobs may name: `whens` of the pillar, and of the grains below. What is no mapping has none."""
    both = [one for one in (grains, pillar) if isinstance(one, Mapping)]
    return {str(name): at for whens in both for name, at in whens.items()}


def _next_of(times: FixedTimes, now: float, zone_name: str) -> float | None:
    from reactors.datetimes import next_datetime
    from reactors.wall_clock import clock_change, moment, wall, zone_of

    zone = zone_of(zone_name)
    begin = wall(now, zone) - clock_change(now, zone)
    found = []
    for text in times.texts:
        at = next_datetime(text, begin, zone)
        while at is not None and moment(at, zone) < now:  # a time that clocks show twice counts the first time
            at = next_datetime(text, at + timedelta(seconds=1), zone)
        if at is not None:
            found.append(moment(at, zone))
    return min(found, default=None)


def _inside(window: Mapping[str, Any], here: datetime, zone: tzinfo | None) -> bool:
    from reactors.datetimes import parse_datetime

    start, end = (parse_datetime(window[key], here, zone) for key in ("start", "end"))
    # A range that ends on the next day, as from 22:00 to 6:00.
    inside = here >= start or here <= end if end < start else start <= here <= end
    return not inside if window.get("invert") else inside


def _opening(window: Mapping[str, Any], now: float, zone_name: str) -> float | None:
    """When a range begins next; of an inverted one, when it ends."""
    found = _next_shown(window["end" if window.get("invert") else "start"], now, zone_name)
    return None if found is None else found + (1.0 if window.get("invert") else 0.0)


def _end_of(window: Mapping[str, Any], now: float, zone_name: str) -> float:
    """When a range ends in which it is now."""
    found = _next_shown(window["end"], now, zone_name)
    return now if found is None else found


def _next_shown(text: Any, now: float, zone_name: str) -> float | None:
    """When clocks show a time next, be it the second time."""
    from reactors.datetimes import next_datetime
    from reactors.wall_clock import next_moment, wall, zone_of

    zone = zone_of(zone_name)
    found = next_datetime(text, wall(now, zone), zone)
    return None if found is None else next_moment(found, zone, now)


def _range(value: Any) -> Mapping[str, Any]:
    if not value:
        return {}
    if not isinstance(value, Mapping) or not {"start", "end"} <= set(value):
        raise BadSchedule(f"a range has start and end: {value!r}")
    from reactors.datetimes import parse_datetime

    one, other = datetime(2000, 1, 3), datetime(2000, 1, 5)
    start, end = (parse_datetime(value[key], one) for key in ("start", "end"))
    daily = start.date() == end.date() == one.date() and parse_datetime(value["end"], other).date() == other.date()
    if end == start or (end < start and not daily):
        raise BadSchedule("the end of a range must be later than its start")
    return value


def _checked_datetime(text: Any) -> Any:
    """The text, if it says a time."""
    from reactors.datetimes import parse_datetime

    if text is not None:
        try:
            parse_datetime(text, datetime(2000, 1, 1))
        except ValueError as error:
            raise BadSchedule(str(error)) from error
    return text


def _date(text: Any) -> Any:
    """The text, if it says a time of one day; what comes again, such as 5:00pm, is no time for `once`."""
    from reactors.datetimes import parse_datetime

    _checked_datetime(text)
    if parse_datetime(text, datetime(2000, 1, 1)) != parse_datetime(text, datetime(2000, 2, 1)):
        raise BadSchedule(f"once: {text!r} comes again: write a date and a time, as 2026-11-21T17:00:00")
    return text


def _read(key: str, value: Any, form: str) -> datetime:
    if isinstance(value, datetime):
        return value
    try:
        return datetime.strptime(str(value), form)
    except ValueError as error:
        raise BadSchedule(f"{key}: {error}") from error


def _moments(key: str, item: Mapping[str, Any], zone: str) -> tuple[float, ...]:
    """Times of a list of `{time: ..., time_fmt: ...}`, or of texts."""
    given = item.get(key)
    if not given:
        return ()
    from reactors.wall_clock import moment, zone_of

    if not isinstance(given, list | tuple) or len(given) > MOST_EXPLICIT:
        raise BadSchedule(f"{key} is a list of at most {MOST_EXPLICIT} times")
    found = []
    for one in given:
        named = one if isinstance(one, Mapping) else {"time": one}
        found.append(_read(key, named.get("time"), str(named.get("time_fmt") or TIME_FORM)))
    return tuple(moment(at, zone_of(zone)) if at.tzinfo is None else at.timestamp() for at in found)


def _zone(name: Any) -> str:
    """The name, if there is such a zone."""
    if not name:
        return ""
    from reactors.wall_clock import zone_of

    try:
        zone_of(str(name))
    except ValueError as error:
        raise BadSchedule(str(error)) from error
    return str(name)


def _splay(value: Any) -> tuple[float, float]:
    try:
        low, high = (value["start"], value["end"]) if isinstance(value, Mapping) else (0.0, value or 0)
        least, most = float(low), float(high)
    except (KeyError, TypeError, ValueError):
        raise BadSchedule(f"splay is a number of seconds, or has start and end: {value!r}") from None
    if not 0 <= least <= most < float("inf"):
        raise BadSchedule(f"splay: the end must not be before the start, and neither below 0: {value!r}")
    return least, most


def _yes(value: Any) -> bool:
    return value.lower() != "false" if isinstance(value, str) else bool(value)
