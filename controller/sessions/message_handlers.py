"""What minions say: each message is written down, answered, and turned into work for the reconcilers.

Called on the loop with the batches of the socket thread. Who may say what was decided by `wire.server.server`; what
follows from it is decided by `reconcile`. A minion can make us store its own results, and nothing about anybody else.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import assert_never

import structlog

from controller.compilation.build_reconciler import BuildReconciler
from controller.compilation.mine import GET, MineRefused, MineStore
from controller.observe.metrics import Metrics
from controller.observe.redactor import Redactor
from controller.reconcile.reconciler import Reconciler
from controller.sessions.after_commit import AfterCommit
from controller.sessions.file_server import FileServer
from controller.sessions.run_results import RunResults, digest_of
from controller.sessions.sessions import KeyRegistry, Session, Sessions
from controller.store import Store, StoreError, StoreUnavailable
from highstate.types import Minion
from reactors.bus import Bus
from wire.messages import (
    PROTOCOL,
    Bye,
    FactAnswers,
    FactQuery,
    FindFile,
    GetBlob,
    GetMine,
    Grains,
    Held,
    Hello,
    HelloAck,
    KeepAlive,
    KeyRequest,
    KeyState,
    ListFiles,
    Mine,
    MineEntry,
    MineFound,
    Refused,
    ResultAck,
    ResyncRequired,
    RunProgress,
    RunResult,
    RunStarted,
    ToMinion,
)
from wire.server.server import Server
from wire.server.types import Delivery, Gone, Incoming, Refusal

log = structlog.get_logger("saltern.messages")

MIN_EXPIRY_SECONDS = 1.0
"""Between two looks for sessions that have expired."""


@dataclass(slots=True, kw_only=True)
class MessageHandlers:
    """Handles what comes from the wire."""

    store: Store
    sessions: Sessions
    keyring: KeyRegistry
    server: Server
    reconciler: Reconciler
    bus: Bus
    metrics: Metrics
    files: FileServer
    builds: BuildReconciler
    mines: MineStore
    redactor: Redactor
    clock: Callable[[], float]
    epoch: str
    alive_interval: float
    auto_accept: bool
    results: RunResults
    after_commit: AfterCommit

    def deliver(self, batch: Sequence[Delivery]) -> None:
        """Handle one batch, in order. What cannot be handled costs its sender alone, and nobody else's messages.

        All that a batch writes is one transaction, and replies are sent after it is committed: a minion that gets no
        acknowledgement sends its result again.
        """
        waiting = deque(batch)
        while waiting:
            self._deliver_together(waiting)

    def _deliver_together(self, waiting: deque[Delivery]) -> None:
        """Handle what waits in one transaction; when the store fails, the rest is left to the next."""
        known = len(waiting)
        try:
            with self.store.transaction():
                while waiting:
                    self._deliver_one(waiting.popleft())
        except StoreUnavailable as error:
            self.after_commit.drop()
            log.error(
                "messages not stored; minions send their results again", count=known - len(waiting), error=str(error)
            )
        self.after_commit.run()

    def _deliver_one(self, delivery: Delivery) -> None:
        before = len(self.after_commit)
        try:
            with self.store.savepoint():
                self._take(delivery)
        except StoreUnavailable:
            raise
        except Exception as error:
            self.after_commit.drop(before)
            if isinstance(error, StoreError):
                log.error("store refused a message", kind=_kind(delivery), error=str(error))
                return
            self.metrics.refused("internal-error")
            log.exception("message handler failed", kind=_kind(delivery))

    def _take(self, delivery: Delivery) -> None:
        match delivery:
            case Incoming():
                self.metrics.received(type(delivery.message).__name__)
                self._handle(delivery)
            case Gone(key=key):
                self._gone(self.sessions.lost(key), "connection lost")
            case Refusal():
                self.metrics.refused(delivery.reason)
                log.warning("wire refused a peer", reason=delivery.reason, minion=delivery.id, detail=delivery.detail)
            case _:
                assert_never(delivery)

    def _handle(self, incoming: Incoming) -> None:
        message = incoming.message
        if isinstance(message, KeyRequest):
            self._key_request(incoming.key, message)
            return
        if incoming.id is None:
            return
        if isinstance(message, Hello):
            self._hello(incoming.key, incoming.id, message)
            return
        session = self.sessions.session(incoming.id)
        if session is None or session.key != incoming.key:
            # From before our start: a new Hello says what it holds, then it goes on.
            self._send(incoming.key, HelloAck(epoch=self.epoch, alive_interval=self.alive_interval))
            return
        session.seen = self.clock()
        self._handle_of_session(session, message)

    def _handle_of_session(self, session: Session, message: object) -> None:
        match message:
            case KeepAlive(held=held, pending_triggers=pending_triggers):
                session.pending_triggers = pending_triggers
                self._holds(session, digest_of(held))
            case Held(digest=held):
                self._holds(session, digest_of(held))
            case Grains(grains=grains):
                session.grains = grains
                self.store.minions.seen(session.minion, session.seen, grains=grains)
                self.mines.changed()
                self._grains_changed(session.minion)
            case ResyncRequired():
                self._need_whole(session, message)
            case RunStarted(run_id=run_id):
                self.results.started(session, run_id)
            case RunProgress():
                self.results.progressed(session, message)
            case RunResult():
                self._result(session, message)
            case FactAnswers():
                self.builds.answered(session.minion, session.key, message)
            case Mine(entries=entries):
                self._mine(session, entries)
            case GetMine(request=request, asked=asked):
                said = self.mines.answer(
                    FactQuery(fun=GET, asked=asked), Minion(id=session.minion, grains=session.grains)
                )
                self._send(session.key, MineFound(request=request, answer=said.answer))
            case FindFile() | ListFiles() | GetBlob():
                self._send_now(session.key, self.files.answer(message))
            case Bye():
                self._gone(self.sessions.disconnect(session.minion), "stopped")
            case _:
                log.warning("unexpected message ignored", minion=session.minion, kind=type(message).__name__)

    def _mine(self, session: Session, entries: dict[str, MineEntry]) -> None:
        try:
            if self.mines.put(session.minion, entries):
                event = self.bus.publish(f"saltern/minion/{session.minion}/mine", {"id": session.minion})
                self.builds.fleet_changed(event.id)
        except MineRefused as error:
            self.metrics.refused("mine")
            log.warning("mine data refused", minion=session.minion, reason=str(error))

    # --- keys and connections ---

    def _key_request(self, key: str, message: KeyRequest) -> None:
        if message.protocol < PROTOCOL:
            self._send(
                key, Refused(message=f"protocol {message.protocol} is too old; this controller speaks {PROTOCOL}")
            )
            return
        known = self.keyring.identity(key)
        record = self.store.keys.request(key, message.id, self.clock())
        if self.auto_accept and record.state == "pending" and not record.conflict:
            record = self.store.keys.set_state(record.fingerprint, "accepted", self.clock())
        self.keyring.replace(self.store.keys.all())
        self.builds.fleet_changed()
        if known is None:
            self.bus.publish("salt/auth", {"id": record.id, "act": record.state, "fingerprint": record.fingerprint})
            log.info("key request", minion=record.id, state=record.state, fingerprint=record.fingerprint)
        self._send(key, KeyState(state=record.state))

    def _hello(self, key: str, minion: str, message: Hello) -> None:
        now = self.clock()
        before = self.sessions.session(minion)
        known = self.store.minions.get(minion)
        held, session = digest_of(message.held), message.session[:64]
        self.store.minions.seen(minion, now, grains=message.grains, session=session, held=held)
        self.sessions.connect(
            Session(minion=minion, key=key, session=session, grains=message.grains, seen=now, held=held)
        )
        self._send(key, HelloAck(epoch=self.epoch, alive_interval=self.alive_interval))
        started = 0
        if before is None:
            started = self.bus.publish(f"salt/minion/{minion}/start", {"id": minion, "session": message.session}).id
            log.info("minion connected", minion=minion)
        self.builds.connected(minion, started)
        if known is None or dict(known.grains) != message.grains:
            self.mines.changed()
            self._grains_changed(minion, started)
        self.reconciler.wake([minion])

    def _grains_changed(self, minion: str, cause: int = 0) -> None:
        event = self.bus.publish(f"saltern/minion/{minion}/grains", {"id": minion}, cause=cause)
        self.builds.grains_changed(minion, event.id)

    def _gone(self, session: Session | None, why: str) -> None:
        if session is not None:
            self.store.minions.seen(session.minion, session.seen, held=session.held)
            event = self.bus.publish(f"saltern/minion/{session.minion}/gone", {"id": session.minion, "why": why})
            self.builds.fleet_changed(event.id)
            log.info("minion disconnected", minion=session.minion, why=why)

    async def expire_sessions(self, timeout: float) -> None:
        """End sessions of which nothing was heard for `timeout` seconds, until cancelled."""
        while True:
            now = self.clock()
            self.expire(now - timeout)
            oldest = min((session.seen for session in self.sessions), default=now)
            await asyncio.sleep(max(MIN_EXPIRY_SECONDS, min(timeout, oldest + timeout - now)))

    def expire(self, since: float) -> None:
        """End sessions of which nothing was heard since a time."""
        for session in self.sessions.inactive(since):
            self._gone(self.sessions.disconnect(session.minion), "silent")

    def _holds(self, session: Session, held: str) -> None:
        if session.held != held:
            session.held = held
            self.store.minions.seen(session.minion, session.seen, held=held)
            self.reconciler.wake([session.minion])

    def _need_whole(self, session: Session, message: ResyncRequired) -> None:
        session.held, session.offered = digest_of(message.held), 0
        open_run = next(iter(self.store.runs.open(session.minion)), None)
        if open_run is not None:
            session.sent.discard(open_run.run_id)
            if open_run.generation != message.generation or self._generation(session.minion) != message.generation:
                # It was cut off in a run of a document that it has lost; a later one stands in its place.
                self.results.lost(open_run)
        self.reconciler.wake([session.minion])

    def _generation(self, minion: str) -> int:
        desired = self.store.desired.get(minion)
        return desired.generation if desired else 0

    def _result(self, session: Session, result: RunResult) -> None:
        self.results.ended(session, result)
        self._send(session.key, ResultAck(run_id=result.run_id))

    def _send(self, key: str, message: ToMinion) -> None:
        """Send this once the batch is committed."""
        self.metrics.sent(type(message).__name__)
        self.after_commit.add(partial(self.server.send, key, message))

    def _send_now(self, key: str, message: ToMinion) -> None:
        """Send what tells of nothing that was stored. A batch can ask for 100 MiB of files: none of it is gathered."""
        self.metrics.sent(type(message).__name__)
        self.server.send(key, message)


def _kind(delivery: Delivery) -> str:
    return type(delivery.message if isinstance(delivery, Incoming) else delivery).__name__
