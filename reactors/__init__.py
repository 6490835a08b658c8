"""Events: the bus, tags, schedules. Beacons, reactor rules and orchestration have their room here.

The names load on first use: the minion takes schedules from here, and no asyncio with them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reactors.bus import Bus, Subscription
    from reactors.events import Event, tag_matches
    from reactors.schedule import BadSchedule, Schedule, next_time, parse_schedule

__all__ = [
    "BadSchedule",
    "Bus",
    "Event",
    "Schedule",
    "Subscription",
    "next_time",
    "parse_schedule",
    "tag_matches",
]

_HOMES = {
    "BadSchedule": "schedule",
    "Bus": "bus",
    "Event": "events",
    "Schedule": "schedule",
    "Subscription": "bus",
    "next_time": "schedule",
    "parse_schedule": "schedule",
    "tag_matches": "events",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'reactors' has no attribute {name!r}")
    return getattr(importlib.import_module(f"reactors.{_HOMES[name]}"), name)
