"""What a forge's answer says of its rate limits: for how long it wants no more requests. Pure.

Headers of GitHub (https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api), GitLab, Bitbucket and
Azure DevOps; a secondary limit of GitHub may name no time, which then counts as a minute.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

_UNNAMED = 60.0
"""Seconds, where the forge does not say for how long."""
_LONGEST = 3600.0
"""Seconds that a forge can make us wait; a clock that is wrong must not silence it for ever."""
_SECONDARY = b"rate limit"


def wait_of(status: int, headers: Mapping[str, str], body: bytes, now: float) -> float | None:
    """Seconds in which the forge wants no requests; None when it wants more.

    Args:
        status: of the answer.
        headers: names are looked for in lower case.
        body: of the answer.
        now: seconds since the epoch.
    """
    after = _retry_after(headers.get("retry-after", ""), now)
    exhausted = headers.get("x-ratelimit-remaining", headers.get("ratelimit-remaining", "")).strip() == "0"
    reset = _reset(headers.get("x-ratelimit-reset", headers.get("ratelimit-reset", "")), now)
    if status == 429:
        return _bounded(after if after is not None else reset if reset is not None else _UNNAMED)
    if status == 403 and (after is not None or exhausted or _SECONDARY in body[:4096].lower()):
        return _bounded(after if after is not None else reset if exhausted and reset is not None else _UNNAMED)
    if status < 400 and exhausted and reset is not None:
        return _bounded(reset)
    if status < 400 and after is not None:  # Azure DevOps asks for a pause before it refuses
        return _bounded(after)
    return None


def _retry_after(text: str, now: float) -> float | None:
    """Seconds of the header, which has a number or a date (RFC 9110)."""
    if not text:
        return None
    if (number := _number(text)) is not None:
        return number
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return _UNNAMED


def _reset(text: str, now: float) -> float | None:
    """Seconds until the time of the header, since the epoch."""
    number = _number(text)
    return None if number is None else max(0.0, number - now)


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) and found >= 0 else None


def _bounded(seconds: float) -> float:
    return min(max(seconds, 1.0), _LONGEST)
