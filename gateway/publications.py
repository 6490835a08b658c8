"""Jobs for several minions are said once: what many are to do alike, at about the same time, is one publication.

The controller asks each minion for itself, of a push or of `saltern run '*'` within a few milliseconds. One
publication for all of them is signed once and is decrypted once by each minion; one for each would cost every minion
as many decryptions as there are minions.
"""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.protocol.packing import pack

JOIN_SECONDS = 0.1
"""After a job id was given that another minion gets the same one for the same work."""
QUIET_SECONDS = 0.004
"""Without another minion until a job is said."""
MOST_SECONDS = 0.04
"""Until it is said however many come."""
MOST_MINIONS = 500
"""Of one publication: all who listen get the ids of these."""
JID_FORMAT = "%Y%m%d%H%M%S%f"
_STEP = datetime.timedelta(microseconds=1)


@dataclass(slots=True)
class _JobId:
    """A job id, and the minions that have it."""

    jid: str
    until: float
    minions: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Gathered:
    """A job that is not said yet."""

    job: Mapping[str, Any]
    since: float
    minions: dict[str, str] = field(default_factory=dict)
    timer: asyncio.TimerHandle | None = None


class Publications:
    """Gives job ids, and says jobs.

    Args:
        say: says a job to these minions, which have their connections from these addresses; empty: it is not known.
        clock: gives the time of day.
    """

    def __init__(
        self,
        say: Callable[[Mapping[str, str], Mapping[str, Any]], None],
        clock: Callable[[], datetime.datetime],
    ) -> None:
        self._say = say
        self._clock = clock
        self._last = ""
        self._given: dict[Hashable, _JobId] = {}
        self._gathered: dict[bytes, _Gathered] = {}

    def new_jid(self, minion_id: str, alike: Hashable = None) -> str:
        """The id of a job to come, 20 digits of the time as Salt's; a minion never gets one twice.

        Args:
            minion_id: that is to run it.
            alike: what is to be run. Minions that are to run the same at about the same time get the same id; None:
                an id that no other minion gets.
        """
        now = time.monotonic()
        found = None if alike is None else self._given.get(alike)
        if found is None or found.until < now or minion_id in found.minions or len(found.minions) >= MOST_MINIONS:
            found = _JobId(jid=self._next(), until=now + JOIN_SECONDS)
            if alike is not None:
                self._given = {key: each for key, each in self._given.items() if each.until >= now}
                self._given[alike] = found
        found.minions.add(minion_id)
        return found.jid

    def add(self, minion_id: str, job: Mapping[str, Any], address: str = "") -> None:
        """Say a job to a minion, with those for which the same one comes within some milliseconds.

        Args:
            minion_id: of the minion.
            job: Salt's fields but the target. Jobs of one id may differ, as where each names a job of its minion.
            address: see `say` of the class.
        """
        loop = asyncio.get_running_loop()
        same = hashlib.sha256(pack(dict(job))).digest()
        gathered = self._gathered.setdefault(same, _Gathered(job=job, since=loop.time()))
        gathered.minions[minion_id] = address
        due = min(loop.time() + QUIET_SECONDS, gathered.since + MOST_SECONDS)
        if gathered.timer is not None:
            if gathered.timer.when() >= due:
                return  # cancelled now, it would never come to be
            gathered.timer.cancel()
        gathered.timer = loop.call_at(due, self._end, same)

    def _end(self, same: bytes) -> None:
        gathered = self._gathered.pop(same)
        self._say(gathered.minions, {"tgt": list(gathered.minions), "tgt_type": "list", **gathered.job})

    def _next(self) -> str:
        now = self._clock()
        while (jid := now.strftime(JID_FORMAT)) <= self._last:
            now += _STEP
        self._last = jid
        return jid
