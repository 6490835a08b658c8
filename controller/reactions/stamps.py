"""Times of events, as reactors get them."""

from __future__ import annotations

import datetime

from reactors.events import Event


def stamp_of(event: Event) -> str:
    """The time of an event, as Salt's have it in their data (`_stamp`)."""
    return datetime.datetime.fromtimestamp(event.time, datetime.UTC).isoformat()
