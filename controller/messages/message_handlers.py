"""What minions say: each message is written down, answered, and turned into work for the reconcilers.

Called on the loop with the batches of the socket thread. Who may say what was decided by `wire.server.server`; what
follows from it is decided by `reconcile`. A minion can make us store its own results, and nothing about anybody else.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

import structlog

from controller.compilation.mine import GET, MineRefused, MineStore
from controller.messages.call_results import MOST_TOGETHER, CallResults
from controller.messages.context import MessageContext, Reconcilers
from controller.messages.followed_options import FollowedOptions
from controller.messages.grains import trusted_grains
from controller.messages.greetings import Greetings
from controller.messages.key_requests import KeyRequests
from controller.messages.mine_pace import MinePace
from controller.messages.minion_events import MinionEventHandler
from controller.messages.peer_calls import PeerCalls
from controller.messages.pushed_files import PushedFiles
from controller.messages.refusal_log import RefusalLog
from controller.messages.replies import Replies
from controller.messages.run_events import RunEventHandler
from controller.messages.run_results import RunResults, applied_of, digest_of
from controller.messages.state_questions import StateQuestions
from controller.messages.state_results import StateResults
from controller.sessions.file_answers import FileAnswers
from controller.sessions.sessions import Session
from controller.store import StoreError, StoreUnavailable
from highstate.types import Minion
from wire.messages import (
    Bye,
    FactAnswers,
    FactQuery,
    FindFile,
    GetBlob,
    GetMine,
    GetOptions,
    GetStates,
    Grains,
    Held,
    Hello,
    KeepAlive,
    KeyRequest,
    ListFiles,
    Mine,
    MineEntry,
    MineFound,
    MinionEvents,
    MinionEventsAck,
    NewKey,
    PublishCall,
    PushFile,
    Refused,
    ResultAck,
    ResultRefused,
    ResyncRequired,
    RunEvents,
    RunEventsAck,
    RunProgress,
    RunResult,
    RunStarted,
)
from wire.server.types import Delivery, Gone, Incoming, Refusal

log = structlog.get_logger("saltern.messages")

MIN_EXPIRY_SECONDS = 1.0
"""Between two looks for sessions that have expired."""

_Together: TypeAlias = CallResults | StateResults | Greetings

MINE_SECONDS = 1.0
"""Between two looks for mines that waited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSources:
    """Where the answers to what minions ask come from."""

    files: FileAnswers
    mines: MineStore
    mine_steps: int
    """Of comparing that a minion's question to the mine may take."""
    mine_pace: MinePace
    states: StateQuestions
    peers: PeerCalls
    options: FollowedOptions
    pushed: PushedFiles


@dataclass(slots=True, kw_only=True)
class MessageHandlers:
    """Handles what comes from the wire."""

    context: MessageContext
    replies: Replies
    keys: KeyRequests
    greetings: Greetings
    reconcilers: Reconcilers
    results: RunResults
    calls: CallResults
    states: StateResults
    events: RunEventHandler
    minion_events: MinionEventHandler
    answers: AnswerSources
    refusals: RefusalLog
    lag: Callable[[], float] = lambda: 0.0
    """Seconds that messages wait until they are handled."""

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
            with self.context.bus.held(), self.context.store.transaction():
                while waiting:
                    kinds = (self.calls, self.states, self.greetings)
                    if not any(self._deliver_group(kind, waiting) for kind in kinds):
                        self._deliver_one(waiting.popleft())
        except StoreUnavailable as error:
            self.context.after_commit.drop()
            log.error(
                "messages not stored; minions send their results again", count=known - len(waiting), error=str(error)
            )
        self.context.after_commit.run()

    def _deliver_group(self, kind: _Together, waiting: deque[Delivery]) -> bool:
        """Handle what is stored together; False where what stands at the head is nothing of this kind."""
        if not kind.takes(waiting[0]):
            return False
        group = _taken_together(kind, waiting)
        before = len(self.context.after_commit)
        try:
            with self.context.bus.held(), self.context.store.savepoint():
                left: Sequence[Delivery] = kind.take_together(group)
        except StoreUnavailable:
            raise
        except Exception:
            self.context.after_commit.drop(before)
            log.exception("messages cannot be handled together; each is handled alone", count=len(group))
            left = group
        for each in left:
            self._deliver_one(each)
        return True

    def _deliver_one(self, delivery: Delivery) -> None:
        before = len(self.context.after_commit)
        try:
            with self.context.bus.held(), self.context.store.savepoint():
                self._take(delivery)
        except StoreUnavailable:
            raise
        except Exception as error:
            self.context.after_commit.drop(before)
            self._refuse_question(delivery)
            if isinstance(error, StoreError):
                log.error("store refused a message", kind=_kind(delivery), error=str(error))
                return
            self.context.metrics.refused("internal-error")
            log.exception("message handler failed", kind=_kind(delivery))

    def _refuse_question(self, delivery: Delivery) -> None:
        """Whoever asked need not wait for an answer that does not come."""
        match delivery:
            case Incoming(key=key, message=FindFile() | ListFiles() | GetBlob() as question):
                self._refuse_number(key, question.request)
            case Incoming(
                key=key, message=GetMine() | GetStates() | PublishCall() | GetOptions() | PushFile() as question
            ):
                self._refuse_number(key, question.request)

    def _refuse_number(self, key: str, number: int) -> None:
        self.replies.send(key, Refused(message="the controller failed to answer; its log says why", request=number))

    def _take(self, delivery: Delivery) -> None:
        match delivery:
            case Incoming():
                self.context.metrics.received(type(delivery.message).__name__)
                self._handle(delivery)
            case Gone(key=key):
                self.answers.files.forget(key)
                self._gone(self.context.sessions.lost(key), "connection lost")
            case Refusal():
                self.context.metrics.refused(delivery.reason)
                self.refusals.refused(delivery)
            case _:
                assert_never(delivery)

    def _handle(self, incoming: Incoming) -> None:
        message = incoming.message
        if isinstance(message, KeyRequest):
            self.keys.take_together([incoming])
            return
        if incoming.id is None:
            return
        if isinstance(message, Hello):
            self.greetings.greet([incoming])
            return
        session = self.context.sessions.session(incoming.id)
        if session is None or session.key != incoming.key:
            # It was silent for too long, or what an earlier connection of its key had sent came late.
            if not isinstance(message, Bye):
                self.replies.ask_for_hello(incoming.key, incoming.connection)
            return
        session.seen, session.heard = self.context.clock(), self.context.steady()
        self._handle_of_session(session, message)

    def _handle_of_session(self, session: Session, message: object) -> None:
        match message:
            case KeepAlive(held=held, applied=applied, pending_triggers=pending_triggers):
                session.pending_triggers = pending_triggers
                self._has_applied(session, applied_of(applied))
                self._has_problems(session, message.problems)
                self._holds(session, digest_of(held))
                self.replies.pace(session)
            case Held(digest=held):
                self._holds(session, digest_of(held))
            case Grains(grains=grains):
                self._grains(session, trusted_grains(session.minion, grains))
            case ResyncRequired():
                self._need_whole(session, message)
            case RunStarted(run_id=run_id):
                self.results.started(session, run_id)
            case RunProgress():
                self.results.progressed(session, message)
            case RunResult():
                self._result(session, message)
            case RunEvents(run_id=run_id):
                taken = self.events.take(session, message)
                self.replies.send(session.key, RunEventsAck(run_id=run_id, taken=taken))
            case MinionEvents(stream=stream):
                taken = self.minion_events.take(session, message)
                self.replies.send(session.key, MinionEventsAck(stream=stream, taken=taken))
            case FactAnswers():
                self.reconcilers.builds.answered(session.minion, session.key, message)
            case Mine(entries=entries):
                self._mine(session.minion, entries)
            case GetMine(request=request, asked=asked):
                minion = Minion(id=session.minion, grains=session.grains)
                said = self.answers.mines.answer_minion(
                    FactQuery(fun=GET, asked=asked), minion, self.answers.mine_steps
                )
                self.replies.send(session.key, MineFound(request=request, answer=said.answer))
            case GetStates():
                self.answers.states.ask(session, message, self.context.clock())
            case PublishCall():
                self.answers.peers.ask(session, message, self.context.clock())
            case GetOptions(request=request):
                self.replies.send(session.key, self.answers.options.answer(request))
            case PushFile():
                self.answers.pushed.take(session.key, session.minion, message)
            case FindFile() | ListFiles() | GetBlob():
                self.answers.files.ask(session.key, message)
            case NewKey():
                self.keys.rotations.take(session, message)
            case Bye():
                self._gone(self.context.sessions.disconnect(session.minion), "stopped")
            case _:
                log.warning("unexpected message ignored", minion=session.minion, kind=type(message).__name__)

    def _grains(self, session: Session, grains: dict[str, Any]) -> None:
        """Take grains that are others: what comes again is compiled for nobody."""
        if grains == session.grains:
            return
        session.grains = grains
        self.context.store.minions.seen(session.minion, session.seen, grains=grains)
        self.answers.mines.changed()
        self.greetings.tell_grains_changed(session.minion)

    def _mine(self, minion: str, entries: Mapping[str, MineEntry]) -> None:
        """Take the values of a minion's mine, now or when it may change them again."""
        pace = self.answers.mine_pace
        if not pace.may_change(minion, entries, self.context.clock()):
            return
        try:
            if self.answers.mines.put(minion, entries):
                pace.changed(minion)
                event = self.context.bus.publish(f"saltern/minion/{minion}/mine", {"id": minion})
                self.reconcilers.builds.fleet_changed(event.id)
        except MineRefused as error:
            self.context.metrics.refused("mine")
            log.warning("mine data refused", minion=minion, reason=str(error))

    async def take_waiting_mines(self) -> None:
        """Take the values that came too soon once they may count, until cancelled."""
        while True:
            await asyncio.sleep(MINE_SECONDS)
            for minion, entries in self.answers.mine_pace.due(self.context.clock()):
                try:
                    self._mine(minion, entries)
                except StoreError as error:
                    log.error("mine not stored; it is taken with its next change", minion=minion, error=str(error))

    # --- connections ---

    def _gone(self, session: Session | None, why: str) -> None:
        if session is not None:
            self.answers.mine_pace.forget(session.minion)
            self.context.store.minions.seen(session.minion, session.seen, held=session.held)
            event = self.context.bus.publish(
                f"saltern/minion/{session.minion}/gone", {"id": session.minion, "why": why}
            )
            self.reconcilers.builds.fleet_changed(event.id)
            log.info("minion disconnected", minion=session.minion, why=why)

    async def expire_sessions(self) -> None:
        """End sessions of which nothing is heard any more (`SignsOfLife`), until cancelled."""
        signs = self.replies.signs_of_life
        while True:
            now = self.context.steady()
            self.expire(now)
            first = min(map(signs.gone_at, self.context.sessions), default=now + signs.timeout)
            await asyncio.sleep(max(MIN_EXPIRY_SECONDS, min(signs.timeout, first - now)))

    def expire(self, now: float) -> None:
        """End the sessions that are silent for too long, by the clock that nobody sets."""
        gone_at = self.replies.signs_of_life.gone_at
        heard = now - self.lag()  # of who has said something that is not yet handled, it is not known
        silent = [session for session in self.context.sessions if gone_at(session) < heard]
        if not silent:
            return
        try:
            with self.context.bus.held(), self.context.store.transaction():
                for session in silent:
                    self._gone(self.context.sessions.disconnect(session.minion), "silent")
        except StoreUnavailable as error:
            log.error("end of silent sessions not stored", count=len(silent), error=str(error))

    def _holds(self, session: Session, held: str) -> None:
        if session.held != held:
            session.held = held
            self.context.store.minions.seen(session.minion, session.seen, held=held)
            self.reconcilers.runs.wake([session.minion])

    def _has_applied(self, session: Session, applied: str) -> None:
        """What it has applied for another controller by now."""
        if session.applied != applied:
            session.applied, session.applied_round = applied, None
            self.reconcilers.runs.wake([session.minion])

    def _has_problems(self, session: Session, problems: Sequence[str]) -> None:
        """What the minion says is wrong with its own configuration."""
        if not problems and not session.problems:
            return
        shown = tuple(map(self.results.redactor.of(session.minion).text, problems))
        if shown == session.problems:
            return
        session.problems = shown
        log.warning("configuration of a minion has problems", minion=session.minion, problems=shown)
        data = {"id": session.minion, "problems": list(shown)}
        self.context.bus.publish(f"saltern/minion/{session.minion}/problems", data)

    def _need_whole(self, session: Session, message: ResyncRequired) -> None:
        session.held, session.sent_digest = digest_of(message.held), ""
        current = self._generation(session.minion)
        for open_run in self.context.store.runs.open(session.minion):
            if not open_run.generation:
                continue  # a call
            about = open_run.generation == message.generation
            if about or not open_run.test:  # a test of another document goes on
                session.sent.discard(open_run.run_id)
                if not about or current != message.generation:
                    # It was cut off in a run of a document that it has lost; a later one stands in its place.
                    self.results.lost(open_run)
        self.reconcilers.runs.wake([session.minion])

    def _generation(self, minion: str) -> int:
        desired = self.context.store.desired.get(minion)
        return desired.generation if desired else 0

    def _result(self, session: Session, result: RunResult) -> None:
        if self.results.ended(session, result):
            self.replies.send(session.key, ResultAck(run_id=result.run_id))
        else:
            reason = "the controller knows no such run of this minion"
            self.replies.send(session.key, ResultRefused(run_id=result.run_id, reason=reason))


def _kind(delivery: Delivery) -> str:
    return type(delivery.message if isinstance(delivery, Incoming) else delivery).__name__


def _taken_together(kind: _Together, waiting: deque[Delivery]) -> list[Delivery]:
    """Take out of what waits all of a kind that nothing else of the same peer comes before."""
    group: list[Delivery] = []
    others: list[Delivery] = []
    behind = set[str | None]()
    while waiting and len(group) < MOST_TOGETHER:
        delivery = waiting.popleft()
        if delivery.key not in behind and kind.takes(delivery):
            group.append(delivery)
        else:
            others.append(delivery)
            behind.add(delivery.key)
    waiting.extendleft(reversed(others))
    return group
