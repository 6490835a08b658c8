"""Events that minions send: kept, published once that is committed, and counted where they are over a limit.

Called by the handlers of `RunEvents` and `MinionEvents`, which say which of them a minion may send.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
import structlog

from controller.messages.context import MessageContext
from controller.observe.event_budget import EventBudget
from controller.observe.redactor import Redactor
from reactors.events import Event
from reactors.tags import is_progress

log = structlog.get_logger("saltern.events")

TOLD_SECONDS = 10.0
"""Between two that tell of one minion's reserved tags."""
_TOLD_MINIONS = 10_000
"""Minions of which is remembered when it was told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedEvents:
    """Events of one message, as they are to be published."""

    minion: str
    events: Sequence[tuple[str, Mapping[str, Any]]]
    """Tag and data of each."""
    refused: int = 0
    """How many more there were, which are not to be published."""
    cause: int = 0
    revision: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinionEventPublisher:
    """Keeps and publishes events of minions."""

    context: MessageContext
    redactor: Redactor
    budget: EventBudget
    keep: Callable[[Sequence[Event]], None]
    """Writes events to the store, in the transaction of the caller."""
    _told: dict[str, tuple[float, int]] = field(default_factory=dict)
    """Minion -> when its reserved tags were last told, and how many were refused since."""

    def refuse_reserved(self, minion: str, tag: str) -> None:
        """A minion says what is not for it to say: counted each time, told in the log and as an event now and then.

        An attacker would otherwise fill the log and the history with its refusals.
        """
        self.context.metrics.refused("reserved-tag")
        now = self.context.clock()
        at, since = self._told.get(minion, (-math.inf, 0))
        if now - at < TOLD_SECONDS:
            self._told[minion] = at, since + 1
            return
        if len(self._told) >= _TOLD_MINIONS:
            self._told.pop(next(iter(self._told)))
        self._told[minion] = now, 0
        log.warning("event with a reserved tag refused", minion=minion, tag=tag[:200], refused_before=since)
        data = {"id": minion, "tag": tag[:200], "refused_before": since}
        refused = self.context.bus.make(f"saltern/minion/{minion}/refused_tag", data)
        self.context.after_commit.add(partial(self._deliver, [refused]))

    def publish(self, sent: AllowedEvents) -> None:
        """Keep and publish them, as far as the minion may cause events now."""
        refused = sent.refused
        new: list[Event] = []
        for tag, data in sent.events:
            if self._may_send(sent.minion, data):
                new.append(self.context.bus.make(tag, data, cause=sent.cause, revision=sent.revision))
            else:
                refused += 1
        self.keep([event for event in new if not is_progress(event.tag)])
        self.context.after_commit.add(partial(self._deliver, new))
        if refused:
            self.context.metrics.limit_refused("minion", "events", refused)
            log.warning("events dropped: over the limit `events`", minion=sent.minion, count=refused)

    def _may_send(self, minion: str, data: object) -> bool:
        kibibytes = len(msgspec.msgpack.encode(data)) // 1024
        return self.budget.take(minion, self.context.clock(), 1 + kibibytes)

    def _deliver(self, events: Sequence[Event]) -> None:
        for event in events:
            self.context.bus.deliver(event)
