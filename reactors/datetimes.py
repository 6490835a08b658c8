"""Times as people write them in a schedule: `5:00pm`, `Monday 1:00pm`, `2026-11-21T15:00:00`, `11/21/2026 3:00pm`.

Called for Salt's `when`, `once`, `range`, `after` and `until`. Pure: now comes in as an argument, as the clocks of a
zone show it, and so do times go out; one that is written with an offset from UTC is converted. Only these forms are
known; any other is an error.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo

_TIME = re.compile(r"(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?\s*([ap]m)?", re.IGNORECASE)
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DATES = ("%Y-%m-%d", "%m/%d/%Y", "%Y/%m/%d", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%B %d %Y", "%b %d %Y")


def parse_datetime(text: object, now: datetime, zone: tzinfo | None = None) -> datetime:
    """The time that is meant: a time of day is today's, a day of the week the next one or today. ValueError if none.

    `zone`: whose clocks show `now`; None: the machine's.
    """
    if isinstance(text, datetime):
        return _shown(text, zone)
    words = " ".join(str(text).split())
    try:
        return _shown(datetime.fromisoformat(words), zone)
    except ValueError:
        pass
    day, _, rest = words.partition(" ")
    if day.lower().rstrip(",")[:3] in _DAYS and day.isalpha():
        ahead = (_DAYS.index(day.lower()[:3]) - now.weekday()) % 7
        return _at(rest or "0:00", now + timedelta(days=ahead), words)
    if _TIME.fullmatch(words) and not words.isdigit():
        return _at(words, now, words)
    return _dated(words)


def next_datetime(text: object, now: datetime, zone: tzinfo | None = None) -> datetime | None:
    """The first time from now on that is meant; a date is meant once, the others again and again."""
    found = parse_datetime(text, now, zone)
    if found < now:
        next_day = found.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        found = parse_datetime(text, next_day, zone)
    return found if found >= now else None


def _shown(at: datetime, zone: tzinfo | None) -> datetime:
    """What clocks of the zone show at a time that may have an offset from UTC."""
    return at if at.tzinfo is None else at.astimezone(zone).replace(tzinfo=None)


def _dated(words: str) -> datetime:
    for form in _DATES:
        length = len(form.split())
        parts = words.split(" ")
        try:
            day = datetime.strptime(" ".join(parts[:length]), form)
        except ValueError:
            continue
        return _at(" ".join(parts[length:]) or "0:00", day, words)
    raise ValueError(f"{words!r} is no time: write 5:00pm, Monday 17:00 or 2026-11-21T17:00:00")


def _at(time: str, day: datetime, words: str) -> datetime:
    found = _TIME.fullmatch(time)
    if found is None:
        raise ValueError(f"{words!r} is no time: write 5:00pm, Monday 17:00 or 2026-11-21T17:00:00")
    hour, half = int(found[1]), (found[4] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            raise ValueError(f"{words!r}: there is no {time}")
        hour = hour % 12 + (12 if half == "pm" else 0)
    return day.replace(hour=hour, minute=int(found[2] or 0), second=int(found[3] or 0), microsecond=0)
