"""Salt's events about who is there: `salt/presence/change` when that changes, `salt/presence/present` now and then.

Run by `controller.app` with the option `presence_events`. It listens to the bus, so that whoever connects minions knows
nothing of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from controller.sessions.sessions import Sessions
from reactors import tags
from reactors.bus import Bus, Subscription
from reactors.events import Event

PRESENT_SECONDS = 60.0
"""Between two events that name all who are there: the `loop_interval` of Salt's masters."""
CHANGE_SECONDS = 1.0
"""Changes that come so close together are one event: a thousand minions connect at once after a restart."""


@dataclass(slots=True)
class Presence:
    """Publishes who is there.

    Attributes:
        bus: to listen to, and to publish on.
        sessions: who is connected.
    """

    bus: Bus
    sessions: Sessions

    async def run(self) -> None:
        """Publish until cancelled."""
        with self.bus.subscribe_to(_changes) as changes:
            told = self._there()
            while True:
                self.bus.publish(*tags.presence(sorted(told)))
                told = await self._until_told_again(changes, told)

    async def _until_told_again(self, changes: Subscription, told: frozenset[str]) -> frozenset[str]:
        end = asyncio.get_running_loop().time() + PRESENT_SECONDS
        while True:
            try:
                async with asyncio.timeout_at(end):
                    await changes.wait()
                    await asyncio.sleep(CHANGE_SECONDS)
            except TimeoutError:
                return told
            told = self.tell(told, changes.drain())

    def tell(self, told: Iterable[str], changes: Iterable[Event]) -> frozenset[str]:
        """Publish the difference to who was told to be there, if there is one; who is there now."""
        cause = max((event.id for event in changes), default=0)
        before, now = frozenset(told), self._there()
        if before != now:
            self.bus.publish(*tags.presence_change(sorted(now - before), sorted(before - now)), cause=cause)
        return now

    def _there(self) -> frozenset[str]:
        return frozenset(session.minion for session in self.sessions)


def _changes(event: Event) -> bool:
    tag = event.tag
    return (tag.startswith("salt/minion/") and tag.endswith("/start")) or (
        tag.startswith("saltern/minion/") and tag.endswith("/gone")
    )
