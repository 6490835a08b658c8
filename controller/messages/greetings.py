"""Hellos, many at a time: after a restart of the controller all of its minions say them within seconds.

Called by `MessageHandlers` with what stands side by side in a batch, and with one that comes alone.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from controller.compilation.mine import MineStore
from controller.messages.context import MessageContext, Reconcilers
from controller.messages.grains import trusted_grains
from controller.messages.key_requests import KeyRequests
from controller.messages.replies import Replies
from controller.messages.run_results import applied_of, digest_of
from controller.sessions.sessions import Session
from controller.store import RunRecord
from controller.store.minions import GreetedMinion
from controller.store.records import MinionRecord
from reactors import tags
from wire.messages import CHECKS_CALLS, MOST_CHECKED, CheckCalls, Hello, KeyRequest
from wire.server.types import Delivery, Incoming

log = structlog.get_logger("saltern.messages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Greetings:
    """Takes Hellos, and the requests of keys that come between them."""

    context: MessageContext
    replies: Replies
    keys: KeyRequests
    reconcilers: Reconcilers
    mines: MineStore

    def takes(self, delivery: Delivery) -> bool:
        """Whether a delivery can be taken together with others of its kind."""
        if not isinstance(delivery, Incoming):
            return False
        return isinstance(delivery.message, KeyRequest) or (
            isinstance(delivery.message, Hello) and delivery.id is not None
        )

    def take_together(self, group: Sequence[Delivery]) -> list[Delivery]:
        """Take these; none is left."""
        incoming = [each for each in group if isinstance(each, Incoming)]
        for each in incoming:
            self.context.metrics.received(type(each.message).__name__)
        self.keys.take_together([each for each in incoming if isinstance(each.message, KeyRequest)])
        if hellos := [each for each in incoming if isinstance(each.message, Hello)]:
            self.greet(hellos)
        return []

    def greet(self, hellos: Sequence[Incoming]) -> None:
        """Each of these minions is there. What follows comes after all is written."""
        sessions = [self._session_of(each) for each in hellos]
        ids = list(dict.fromkeys(session.minion for session in sessions))
        known = self.context.store.minions.of_ids(ids)
        self.context.store.minions.greeted(
            {
                each.minion: GreetedMinion(
                    now=each.seen, grains=each.grains, session=each.session, held=each.held, agent=each.agent
                )
                for each in sessions
            },
            known,
        )
        unfinished: dict[str, list[RunRecord]] = {}
        for run in self.context.store.runs.open_of(ids):
            unfinished.setdefault(run.minion, []).append(run)
        for session in sessions:
            self._connect(session, known.get(session.minion), unfinished.get(session.minion, ()))
        self.keys.rotations.announce([session.key for session in sessions])
        self.reconcilers.runs.wake(ids)

    def _session_of(self, incoming: Incoming) -> Session:
        message, minion = incoming.message, incoming.id
        assert isinstance(message, Hello)  # noqa: S101 - the caller has looked
        assert minion is not None  # noqa: S101
        return Session(
            minion=minion,
            key=incoming.key,
            session=message.session[:64],
            grains=trusted_grains(minion, message.grains),
            seen=self.context.clock(),
            heard=self.context.steady(),
            held=digest_of(message.held),
            takes=frozenset(message.takes),
            applied=applied_of(message.applied),
            follows=message.follows,
            autonomy=message.autonomy,
            confirmed=message.confirmed,
            relay=incoming.relay,
            agent=message.agent,
            starts=message.starts,
            start_grains=message.start_grains,
        )

    def _connect(self, session: Session, known: MinionRecord | None, unfinished: Sequence[RunRecord]) -> None:
        minion = session.minion
        before = self.context.sessions.session(minion)
        self.context.sessions.connect(session)
        self.replies.greet(session)
        if CHECKS_CALLS in session.takes:
            self._check_calls(session.key, unfinished)
        told = before is not None and before.starts and before.session == session.session
        started = self._say_started(session) if session.starts and not told else 0
        if before is None:
            relay = {"relay": session.relay} if session.relay else {}
            log.info("minion connected", minion=minion, **relay)
        self.reconcilers.builds.connected(minion, started)
        if known is None or dict(known.grains) != session.grains:
            self.mines.changed()
            self.tell_grains_changed(minion, started)

    def _check_calls(self, key: str, unfinished: Sequence[RunRecord]) -> None:
        """Ask what became of calls without a result: what was sent before this connection may be lost."""
        sent = [
            run.run_id
            for run in unfinished
            if run.kind == "call" and (run.digest or not run.revision)  # others wait to be compiled
        ]
        for at in range(0, len(sent), MOST_CHECKED):
            self.replies.send(key, CheckCalls(run_ids=tuple(sent[at : at + MOST_CHECKED])))

    def _say_started(self, session: Session) -> int:
        """Publish that a minion has connected, in both of Salt's forms; the id of the first event."""
        at = time.asctime(time.gmtime(self.context.clock()))
        grains = {name: session.grains[name] for name in session.start_grains if name in session.grains}
        new, old = tags.minion_start(session.minion, at, grains)
        event = self.context.bus.publish(new[0], {**new[1], "session": session.session})
        self.context.bus.publish(*old, cause=event.id)
        return event.id

    def tell_grains_changed(self, minion: str, cause: int = 0) -> None:
        """Publish that a minion has other grains, and have it compiled anew."""
        event = self.context.bus.publish(f"saltern/minion/{minion}/grains", {"id": minion}, cause=cause)
        self.reconcilers.builds.grains_changed(minion, event.id)
