"""Events: the bus, tags, schedules. Beacons, reactor rules and orchestration have their room here.

The names load on first use: the minion takes schedules from here, and no asyncio with them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reactors.bus import Bus, Subscription
    from reactors.events import Event, tag_matches

__all__ = ["Bus", "Event", "Subscription", "tag_matches"]

_HOMES = {"Bus": "bus", "Subscription": "bus", "Event": "events", "tag_matches": "events"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'reactors' has no attribute {name!r}")
    return getattr(importlib.import_module(f"reactors.{_HOMES[name]}"), name)
