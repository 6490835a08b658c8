"""A stock minion as this gateway has it: its key, its connection to the controller, its runs, and its commands.

    stock minion -- Salt's protocol --> gateway.gateway --> StockMinion -- the wire of this house --> controller

The controller is told of it once its key is accepted and its grains are known, and no longer when it stops answering.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.known_minions import KnownMinion
from gateway.minions.commands import CommandPorts, Commands
from gateway.minions.documents import StockDocuments
from gateway.minions.facts import StockFacts
from gateway.minions.files import KeptContents, StockFiles
from gateway.minions.grains import StockGrains
from gateway.minions.jobs import StockJobs
from gateway.minions.link import ControllerSide, StockLink
from gateway.minions.mine import MinionMine
from gateway.minions.outbox import ResultOutbox
from gateway.minions.own_returns import OwnReturns
from gateway.minions.presence import StockPresence
from gateway.minions.questions import OpenQuestions
from gateway.minions.run_events import StockRunEvents
from gateway.minions.runs import StockRunPorts, StockRuns
from gateway.minions.standing import Claim, EarlierGateways, GatewayStanding, SaidTwice
from gateway.minions.starts import StockStart
from gateway.protocol.crypticle import Crypticle, new_key
from gateway.protocol.rsa_keys import salt_fingerprint
from gateway.publications import Publications
from minion.spool.minion_events import EventNotQueued, EventQueue, MinionEventsOutbox
from wire.errors import PatchMismatch
from wire.messages import (
    CHECKS_CALLS,
    CHECKS_RUNS,
    ROTATE_KEY,
    SETS_INTERVAL,
    STATES_OF_CALL,
    Blob,
    Call,
    CheckCalls,
    DesiredUpdate,
    FactRequest,
    FileFound,
    FileList,
    FilePushed,
    Grains,
    Held,
    Hello,
    HelloAck,
    KeepAlive,
    KeyRequest,
    MineFound,
    MinionEventsAck,
    OptionsFound,
    Preview,
    Published,
    Refused,
    ResultAck,
    ResultRefused,
    ResyncRequired,
    Run,
    RunEventsAck,
    StatesFound,
    ToMinion,
)

log = logging.getLogger(__name__)

TICK = 1.0
SHOWN_SECONDS = 120.0
"""For which a minion is here that has shown its key, with several gateways."""
FORGOTTEN_SECONDS = 30.0
"""After which nothing is known of the key of one that is not."""
_SAID = frozenset(("_minion_event", "_return"))
"""What a minion with several masters says to each of them."""
_OF_MINE = frozenset(("_mine", "_mine_delete", "_mine_flush"))


@dataclass(frozen=True, slots=True, kw_only=True)
class MinionPlace:
    """What minions of a gateway have in common.

    Args:
        folder: of all of them; each has one of its own in it.
        side: see `ControllerSide`.
        contents: of files.
        publications: of jobs.
        listens_at: whether anybody listens to them from an address.
        session_seconds: until the session key of a minion changes.
        shadow: whether a minion is in shadow as long as no document says whether it is.
        before: gateways that come before this one.
        decide: has it decided whether this gateway speaks for the minion, which is there; None: there is no other.
    """

    folder: Path
    side: ControllerSide
    contents: KeptContents
    publications: Publications
    listens_at: Callable[[str], bool]
    session_seconds: float
    shadow: bool = False
    before: EarlierGateways | None = None
    decide: Callable[[StockMinion], None] | None = None


class StockMinion:
    """One of them.

    Args:
        known: its id and its keys.
        place: see `MinionPlace`.
    """

    def __init__(self, known: KnownMinion, place: MinionPlace) -> None:
        self.id = minion_id = known.id
        self.key = known.key
        self._session_seconds = place.session_seconds
        self._folder = place.folder / minion_id
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._grains = StockGrains(self._folder, minion_id)
        self._start = StockStart(self._folder)
        self._session_name = secrets.token_hex(8)
        self._session, self._session_from = Crypticle(new_key()), time.monotonic()
        self._documents = StockDocuments(self._folder, minion_id, shadow_at_first=place.shadow)
        self.in_shadow = self._documents.in_shadow
        """See `StockDocuments.in_shadow`."""
        self._link = StockLink(
            minion_id,
            place.side,
            known.wire_keys,
            pem=known.key.pem,
            folder=known.folder if place.decide is None else None,  # gateways know it by the same key
            key_request=lambda _: KeyRequest(id=minion_id),
            hello=self._hello,
            keep_alive=self._keep_alive,
            take=self._take,
            lost=self._lost,
            unaccepted=self._shut_out,
        )
        self._place = place
        self._standing = GatewayStanding(
            alone=place.decide is None, speak=self._link.speak, settled=lambda: self._link.settled
        )
        self._said_twice = SaidTwice()
        self._lost_at = -float("inf")
        self.jobs = StockJobs(minion_id, place.publications, self.in_shadow)
        self.presence = StockPresence(minion_id, self.jobs, self._link, place.listens_at, self._pinged)
        self._facts = StockFacts(self.jobs, time.monotonic)
        self._questions = OpenQuestions(self._link.send)
        self._files = StockFiles(questions=self._questions, contents=place.contents, in_shadow=self.in_shadow)
        self._outbox = ResultOutbox(self._folder / "results", self._link.send)
        self._own_returns = OwnReturns(minion_id)
        self._events = MinionEventsOutbox(self._folder)
        self._queue = EventQueue(self._folder, minion_id)
        self._mine = MinionMine(self._folder / "mine", self._questions, self._link.send)
        self._runs = StockRuns(
            self._folder / "runs",
            StockRunPorts(
                jobs=self.jobs,
                files=self._files,
                outbox=self._outbox,
                held=self._documents.state,
                send=self._link.send,
                in_shadow=self.in_shadow,
                pillar_of=self._documents.run_with,
            ),
        )
        self._run_events = StockRunEvents(minion_id, self._link.send, self._runs.run_of)
        self._commands = Commands(minion_id, self._command_ports())
        self._tasks: set[asyncio.Task[Any]] = set()

    def _command_ports(self) -> CommandPorts:
        return CommandPorts(
            files=self._files,
            mine=self._mine,
            questions=self._questions,
            pillar=self._pillar,
            top_sls=self._documents.top_sls,
            returned=self._returned,
            event=self._event,
            started=self._started,
            nonce=lambda: secrets.token_hex(16),
        )

    # --- for the gateway

    @property
    def session(self) -> Crypticle:
        """The session key; another one after some time, whereupon the minion authenticates anew."""
        if time.monotonic() - self._session_from > self._session_seconds:
            self._session, self._session_from = Crypticle(new_key()), time.monotonic()
        return self._session

    @property
    def key_state(self) -> str:
        """See `StockLink.key_state`; where another gateway speaks for the minion, what it is there."""
        claim = self._standing.claim
        return self._link.key_state if claim is None else claim.state

    @property
    def online(self) -> bool:
        """See `StockLink.online`."""
        return self._link.online

    def command_name(self, cmd: str) -> str:
        """The command for a label of metrics: those that nobody knows have one name together."""
        return self._commands.name_of(cmd)

    @property
    def is_here(self) -> bool:
        """Whether it is there, or has shown its key of late."""
        return self.presence.is_there or self._standing.is_shown(SHOWN_SECONDS)

    def claimed(self) -> str | None:
        """What a gateway behind this one is told: the state of the key; None: this one does not speak for it."""
        return self._link.key_state if self._standing.claims(self.is_here) else None

    def decide(self, claim: Claim | None) -> None:
        """The minion is there; `claim`: of the gateways that come before this one."""
        if not self._standing.alone and self._standing.speaks is not (claim is None):
            log.info("event=gateway_%s minion=%s", "speaks" if claim is None else "gives_way", self.id)
        self._standing.decide(claim)

    def shown(self) -> None:
        """It has shown its key."""
        self._standing.shown()

    def let_in(self, address: str) -> None:
        """It is let in, perhaps as a new process, which has shown its key from this address."""
        self._start.let_in()
        self.presence.let_in(address)

    async def known_key_state(self, seconds: float) -> str:
        """See `StockLink.known_key_state`."""
        claim = self._standing.claim
        return await self._link.known_key_state(seconds) if claim is None else claim.state

    def _shut_out(self) -> None:
        """Its key is accepted no more: once it is again, the minion is there when it has come anew."""
        self.presence.gone()

    async def answer(self, cmd: str, load: Mapping[str, Any], address: str) -> Any:
        """Answer a command, which came from this address. NoAnswer."""
        was_there = self.presence.heard(address)
        if self._place.decide is not None and not self._standing.speaks and self._standing.claim is None:
            self._place.decide(self)
        if not was_there:
            self._link.ready()
        claim, before = self._standing.claim, self._place.before
        if claim is None or before is None:
            return await self._answered(cmd, load, passed_on=False)
        await self._noted(cmd, load)
        return await before.ask(claim, self.id, salt_fingerprint(self.key.pem), cmd, load)

    async def _noted(self, cmd: str, load: Mapping[str, Any]) -> None:
        """Keep of what is passed on what this gateway needs as soon as it speaks itself."""
        if cmd == "_return":
            self.jobs.returned(load)
        elif cmd == "_pillar" and isinstance(load.get("grains"), dict):
            self._know_grains(load["grains"])
        elif cmd in _OF_MINE:
            await self._commands.answer(cmd, load)

    async def answer_passed_on(self, cmd: str, load: Mapping[str, Any]) -> Any:
        """Answer a command that another gateway has passed on. NoAnswer."""
        return await self._answered(cmd, load, passed_on=True)

    async def _answered(self, cmd: str, load: Mapping[str, Any], *, passed_on: bool) -> Any:
        # A start that comes first by the other way may come before the minion has been let in here: both count as one.
        once = not self._standing.alone and cmd in _SAID and not self._commands.tells_start(cmd, load)
        if once and not self._said_twice.is_new(cmd, load, passed_on=passed_on):
            return True
        return await self._commands.answer(cmd, load)

    def _lost(self) -> None:
        """The connection to the controller is over."""
        if not self._standing.alone and self._standing.speaks:
            self._standing.lost()
            self._lost_at = time.monotonic()
            self.presence.gone()
            self.presence.connection_changed(True)  # it is asked at once

    async def serve(self) -> None:
        """Be there until cancelled."""
        self._runs.resume()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._link.serve())
                group.create_task(self._tick())
                group.create_task(self.presence.watch())
        finally:
            self._runs.close()
            for task in self._tasks:
                task.cancel()

    # --- what the controller says

    async def _take(self, message: ToMinion) -> None:
        match message:
            case Run() | Preview() | Call():
                self._runs.begin(message)
            case DesiredUpdate():
                await self._take_document(message)
            case ResultAck(run_id=run_id) | ResultRefused(run_id=run_id):
                self._outbox.acknowledged(run_id)
            case CheckCalls(run_ids=run_ids):
                for run_id in run_ids:
                    self._runs.check(run_id)
            case FactRequest():
                self._begin(self._answer_facts(message))
            case MinionEventsAck():
                self._events.acknowledge(message)
            case RunEventsAck():
                self._run_events.acknowledge(message, time.monotonic())
            case FileFound() | FileList() | Blob() | MineFound() | StatesFound() | Published() | Refused():
                self._questions.answered(message)
            case OptionsFound() | FilePushed():
                self._questions.answered(message)
            case HelloAck():
                self._outbox.say_all(time.monotonic())
                self._events.reconnected()
                self._run_events.reconnected(time.monotonic())
                self._mine.tell()
            case _:
                log.debug("event=message_not_taken minion=%s message=%s", self.id, type(message).__name__)

    async def _take_document(self, update: DesiredUpdate) -> None:
        try:
            fun = await self._documents.accept(update)
        except PatchMismatch as error:
            log.info("event=document_not_patched minion=%s error=%s", self.id, error)
            self._link.send(ResyncRequired(generation=update.generation, held=self._documents.state.digest))
            return
        self._link.send(Held(generation=update.generation, digest=update.digest))
        if fun:
            self._begin(self._told(fun))

    async def _told(self, fun: str) -> None:
        """Tell it to look anew, once it listens."""
        await self.jobs.listens.wait()
        self.jobs.tell(fun)

    async def _answer_facts(self, request: FactRequest) -> None:
        self._link.send(await self._facts.answers(request))

    # --- what the minion says

    async def _pillar(self, grains: Mapping[str, Any]) -> Mapping[str, Any]:
        if grains or not self._grains.known:  # a proxy minion has none before it has its pillar
            self._know_grains(grains)
        return await self._documents.pillar()

    def _returned(self, load: Mapping[str, Any]) -> None:
        if self.jobs.returned(load):
            return
        result = self._own_returns.result(load, time.time(), self._run_events.run_of_return(load.get("return")))
        if result is None:
            log.debug("event=return_not_asked_for minion=%s fun=%s", self.id, load.get("fun"))
        elif not self._outbox.has_room:
            log.warning("event=own_return_dropped minion=%s fun=%s why=%s", self.id, result.fun, "too many wait")
        elif result.run_id not in self._outbox:
            self._outbox.add(result, time.monotonic())

    def _event(self, tag: str, data: Mapping[str, Any]) -> None:
        if self._run_events.take(tag, data, time.monotonic()):
            return
        try:
            self._queue.add((tag, data))
        except EventNotQueued as error:
            log.warning("event=event_dropped minion=%s tag=%s why=%s", self.id, tag[:200], error)

    def _started(self, grains: object) -> None:
        self.jobs.restarted()
        if self._start.said(grains):
            self._session_name = secrets.token_hex(8)
            self._link.tell_again()

    def _know_grains(self, grains: Mapping[str, Any]) -> None:
        online, first = self._link.online, not self._grains.known
        is_new = self._grains.learn(grains, of_any_process=online)
        if not online or (is_new and first):
            self._link.ready()
        elif is_new:
            self._link.send(Grains(grains=dict(self._grains.known)))

    def _pinged(self) -> None:
        if not self._grains.known:
            self._begin(self._learn_grains())

    async def _learn_grains(self) -> None:
        """Ask for its grains: one that was at another master says them only when it wants its pillar again."""
        found = await self.jobs.ask("grains.items")
        if found is not None and isinstance(found.value, dict) and not self._grains.known:
            self._know_grains(found.value)

    # --- what it is for the controller

    def _hello(self) -> Hello | None:
        if not self._grains.known or not self.presence.is_there:
            return None
        if self._start.known:
            self._start.told()
        else:
            self._start.waits(time.monotonic())
        return Hello(
            id=self.id,
            grains=dict(self._grains.known),
            held=self._documents.state.digest,
            applied=self._applied,
            session=self._session_name,
            agent=f"salt {str(self._grains.known.get('saltversion', ''))[:100]}".strip(),
            takes=(
                STATES_OF_CALL,
                CHECKS_CALLS,
                CHECKS_RUNS,
                SETS_INTERVAL,
                *((ROTATE_KEY,) if self._standing.alone else ()),
            ),
            starts=self._start.known,
            start_grains=self._start.grains,
        )

    @property
    def _applied(self) -> str:
        """What was applied last, as far as that is known here: another gateway may have applied something since."""
        return self._documents.state.applied if self._standing.alone else ""

    def _keep_alive(self) -> KeepAlive:
        return KeepAlive(held=self._documents.state.digest, applied=self._applied, running=self._runs.running)

    # --- in its own time

    async def _tick(self) -> None:
        while True:
            now = time.monotonic()
            self._outbox.tick(now)
            await self._outbox.make_durable()
            self._run_events.tick(now)
            if self._start.is_overdue(now):
                self._link.tell_again()
            if not (self._standing.alone or self._standing.speaks or self.is_here) and self._is_forgotten(now):
                self._link.forget_key_state()
            if self._link.online and (events := self._events.due(now)) is not None and self._link.send(events):
                self._events.sent(now)
            if self._link.online and (check := self._documents.due_check(time.time())) is not None:
                self._runs.begin(check)
            await asyncio.sleep(TICK)

    def _is_forgotten(self, now: float) -> bool:
        return now - self._lost_at > FORGOTTEN_SECONDS

    def _begin(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
