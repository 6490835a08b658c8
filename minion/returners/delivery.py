"""Delivers what waits in a spool: oldest first, again after a failure, and forgotten once it is delivered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minion.returners.errors import EntryRefused
from minion.returners.registry import built_in
from minion.returners.spool import Spool, Waiting

FIRST_WAIT = 1.0
"""Seconds until a returner that failed once is tried again; twice as many after each further failure."""
LONGEST_WAIT = 300.0
MESSAGES = "notify."
"""Before the name of a returner: the queue of its messages for people, which returns and events do not hold up."""
EVENTS_AT_ONCE = 100
"""That a returner gets at once."""

Deliver = Callable[[Sequence[Waiting]], None]
"""Hands entries of one kind to their returner; what it raises means that it did not take them."""


def deliver_next(spool: Spool, returner: str, deliver: Deliver, most: int = EVENTS_AT_ONCE) -> float:
    """Deliver the oldest that waits for a returner.

    Returns:
        Seconds until the next attempt makes sense: 0 after a success, and a negative number when nothing waits.

    Raises:
        OSError: the spool cannot be read or written.
    """
    entries = spool.first(returner, most)
    if not entries:
        return -1.0
    if entries[0].kind != "event":
        entries = entries[:1]
    try:
        deliver(entries)
    except EntryRefused as error:
        if len(entries) > 1:  # one of them is at fault
            return deliver_next(spool, returner, deliver, most=1)
        spool.refused(entries[0], str(error))
        return 0.0
    except Exception as error:  # the border of a returner, which may be the administrator's own
        failures = spool.failed(returner, f"{type(error).__name__}: {error}")
        return float(min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(failures - 1, 20)))
    spool.delivered(entries)
    return 0.0


def deliver_built_in(opts: Mapping[str, Any], entries: Sequence[Waiting]) -> None:
    """Hand entries of one kind to a returner that is built in."""
    found = built_in(entries[0].returner.removeprefix(MESSAGES))
    match entries[0].kind:
        case "return":
            for entry in entries:
                found.returner(opts, entry.body)
        case "event":
            if found.event_return is not None:
                found.event_return(opts, [{**entry.body, "name": entry.name} for entry in entries])
        case "message":
            if found.message is not None:
                for entry in entries:
                    found.message(opts, {**entry.body, "name": entry.name})
        case "load":
            if found.job_cache is not None:
                for entry in entries:
                    found.job_cache.save_load(opts, entry.name, entry.body)
