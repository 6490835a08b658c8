"""Times of a clock on the wall, in a time zone: which moment is meant where clocks are put forward or back.

Called for schedules. A zone is an IANA name (`Europe/Berlin`); an empty one is that of the machine. Pure, but for the
zone's rules, which are read from the system.
"""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

_DAY = 86_400.0


def zone_of(name: str) -> tzinfo | None:
    """The zone of a name; None: that of the machine. ValueError when it is not known here."""
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        pass
    raise ValueError(
        f"timezone: there is no {name!r} on this machine: write a name like Europe/Berlin or UTC (the system package"
        " tzdata has the zones)"
    )


def wall(moment: float, zone: tzinfo | None) -> datetime:
    """What a clock shows at a moment, in seconds since the epoch."""
    return datetime.fromtimestamp(moment, zone).replace(tzinfo=None, fold=0)


def moment(at: datetime, zone: tzinfo | None) -> float:
    """When a clock shows a time, in seconds since the epoch.

    As in RFC 5545 (3.3.5): a time that clocks show twice is the first of the two; one that they leave out is counted by
    the offset before, so that 02:30 is 03:30.
    """
    return at.replace(tzinfo=zone, fold=0).timestamp()


def next_moment(at: datetime, zone: tzinfo | None, now: float) -> float:
    """Like `moment`; of a time that clocks show twice the second one where the first is over."""
    first = moment(at, zone)
    return first if first >= now else max(first, at.replace(tzinfo=zone, fold=1).timestamp())


def moments(at: datetime, zone: tzinfo | None) -> tuple[float, ...]:
    """Each time that clocks show it: two where they are put back over it, none where they leave it out."""
    found = {at.replace(tzinfo=zone, fold=fold).timestamp() for fold in (0, 1)}
    return tuple(sorted(each for each in found if wall(each, zone) == at))


def clock_change(now: float, zone: tzinfo | None) -> timedelta:
    """By how much clocks are put forward or back within a day before or after; 0 when they are not.

    A time that clocks showed so long before what they show now may still be to come: the second of two, or one that is
    left out.
    """
    here = _offset(now, zone)
    return timedelta(seconds=max(abs(here - _offset(now - _DAY, zone)), abs(here - _offset(now + _DAY, zone))))


def _offset(at: float, zone: tzinfo | None) -> float:
    offset = datetime.fromtimestamp(at, zone).astimezone(zone).utcoffset()
    return offset.total_seconds() if offset else 0.0
