"""Events that runs on minions send while they go on: kept, published, and acknowledged.

Called by `MessageHandlers`. An event counts once however often it comes: how many of a run were taken is stored in the
transaction that keeps them, and they are published when that is committed.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from controller.messages.context import MessageContext
from controller.messages.run_results import is_own_run
from controller.messages.sent_events import AllowedEvents, MinionEventPublisher
from controller.reconcile.reconciler import Reconciler
from controller.sessions.sessions import Session
from controller.store import RunRecord
from reactors import tags
from wire.messages import RunEvents

log = structlog.get_logger("saltern.runs")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEventHandler:
    """Takes the events of runs."""

    context: MessageContext
    reconciler: Reconciler
    publisher: MinionEventPublisher

    def take(self, session: Session, message: RunEvents) -> int:
        """Take the events that are new; how many of the run were taken by now."""
        run = self.context.store.runs.get(message.run_id)
        if not is_own_run(message.run_id) if run is None else run.minion != session.minion:
            self.context.metrics.refused("unknown-run")
            log.warning("events of an unknown run ignored", minion=session.minion, run_id=message.run_id)
            return message.end
        taken = self.context.store.run_events.taken(session.minion, message.run_id)
        if not message.first <= taken < message.end:
            return taken  # they were taken already, or those before them are missing
        self.context.store.run_events.take(session.minion, message.run_id, message.end)
        self._publish(session.minion, run, message, taken - message.first)
        return message.end

    def _publish(self, minion: str, run: RunRecord | None, message: RunEvents, known: int) -> None:
        """Keep and publish events beyond the first `known`. What the controller says itself, no minion can say."""
        cause, revision = (0, "") if run is None else (self.reconciler.causes.run_event(run), run.revision)
        job = message.run_id if run is None else run.job or run.run_id
        events = []
        for tag, data in self.publisher.redactor.events(minion, message.events[known:]):
            if tags.may_say_in_run(minion, message.run_id, tag):
                events.append(tags.of_run(minion, message.run_id, job, tag, data))
            else:
                self.publisher.refuse_reserved(minion, tag)
        refused = message.end - message.first - len(message.events)
        sent = AllowedEvents(minion=minion, events=events, refused=refused, cause=cause, revision=revision)
        self.publisher.publish(sent)
