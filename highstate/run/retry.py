"""`retry`, as Salt writes it, read into numbers.

Called by the runner alone. Values that Salt cannot use give its defaults, as Salt does with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from highstate.types import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often, until which result, and how many seconds between."""

    attempts: int = 2
    until: bool = True
    interval: float = 30.0


def retry_of(given: Value) -> Retry:
    """`retry: {attempts, until, interval}`; the defaults for whatever else is true, one attempt for the rest."""
    if given is True:
        return Retry()
    if isinstance(given, list):
        given = {key: value for item in given if isinstance(item, Mapping) for key, value in item.items()}
    if not isinstance(given, Mapping) or not given:
        return Retry() if given else Retry(attempts=1)
    attempts, until, interval = given.get("attempts", 2), given.get("until", True), given.get("interval", 30)
    return Retry(
        attempts=attempts if isinstance(attempts, int) and attempts > 0 else 2,
        until=until if isinstance(until, bool) else True,
        interval=float(interval) if isinstance(interval, int | float) and interval >= 0 else 30.0,
    )
