"""Events of minions that belong to no run: of their beacons, and of `saltern call`.

Called by `MessageHandlers`. An event counts once however often it comes, as in `run_events`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from controller.messages.context import MessageContext
from controller.messages.sent_events import AllowedEvents, MinionEventPublisher
from controller.sessions.sessions import Session
from minion.beacons.registry import MODULES
from reactors import tags
from wire.messages import MinionEvents

log = structlog.get_logger("saltern.events")

_ENSURE_STEPS = ("healing", "escalated", "resolved")
"""What minions say of conditions that they heal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinionEventHandler:
    """Takes the events of minions."""

    context: MessageContext
    publisher: MinionEventPublisher

    def take(self, session: Session, message: MinionEvents) -> int:
        """Take the events that are new; how many of the stream were taken by now.

        A minion forgets events that were acknowledged alone: where those before the first are not known here, the store
        has been put back to an earlier state, and they were taken.
        """
        minion, counts = session.minion, self.context.store.run_events
        taken = counts.taken_of_stream(minion, message.stream)
        if message.end <= taken:
            return taken
        counts.take_of_stream(minion, message.stream, message.end)
        new = self.publisher.redactor.events(minion, message.events[max(0, taken - message.first) :])
        refused = message.end - message.first - len(message.events)
        self.publisher.publish(AllowedEvents(minion=minion, events=list(self._own(minion, new)), refused=refused))
        return message.end

    def _own(self, minion: str, events: list[tuple[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """What a minion may say: reserved tags below its own id alone, and everything under its own id."""
        for tag, data in events:
            if tag == f"saltern/minion/{minion}/events_dropped":
                self._count_dropped(minion, data)
                yield tag, {**data, "id": minion}
            elif tag.startswith(f"saltern/ensure/{minion}/"):
                step = tag.rpartition("/")[2]
                if step in _ENSURE_STEPS:
                    self.context.metrics.ensured(step)
                    yield tag, {**data, "id": minion}
                else:
                    self.publisher.refuse_reserved(minion, tag)
            elif not tags.may_say(minion, tag):
                self.publisher.refuse_reserved(minion, tag)
            elif tags.is_reserved(tag):
                if tag.startswith("salt/beacon/"):
                    self._count_beacon(tag)
                yield tag, {**data, "id": minion}
            else:
                yield tags.of_minion(minion, tag, data)

    def _count_beacon(self, tag: str) -> None:
        """Count by beacons that there are; modules of trees, and what a minion makes up, are counted together."""
        name = tag.split("/", 4)[3]
        self.context.metrics.beacon_said(name if name in MODULES else "(others)")

    def _count_dropped(self, minion: str, data: Mapping[str, Any]) -> None:
        """Count what the minion itself had no room for; its word is no reason to count more than it can drop."""
        count = data.get("count")
        if isinstance(count, int) and 0 < count < 2**31:
            self.context.metrics.limit_refused("minion", "events-waiting", count)
        log.warning("minion dropped events before it could send them", minion=minion, count=count)
