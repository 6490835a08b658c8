"""A compile process on a machine of a Dask cluster, as the pool sees it: in the place of one of this machine.

Called by `compile_pool`, one thread a lane. What the process answers is decoded and checked here, as that of a process
of this machine is, and what it asks is answered here, by the controller's ports. When there is no worker, or workers
are lost again and again, the request goes on in a process of this machine.
"""

from __future__ import annotations

import pickle
import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

import msgspec
import structlog

from controller.compilation.cluster.dask_cluster import ClusterLost, DaskCluster
from controller.compilation.cluster.shipped_files import FOUND, LACKING, ContentQuestion, content_of
from controller.compilation.cluster.steps import (
    BeginCompile,
    ContinueCompile,
    LaneOutcome,
    LaneSettings,
    LaneStep,
    StopLanes,
)
from controller.compilation.cluster.tree_shipping import TreeShipping
from controller.compilation.compile_messages import CompiledMinion, CompileRequest
from controller.compilation.compile_rpc import PortCall
from controller.compilation.compile_rpc_server import RpcServer
from controller.compilation.workers.answer_check import AnswerCheck
from controller.compilation.workers.channel import LimitExceeded, WorkerLate
from controller.compilation.workers.process import CompileProcess
from controller.compilation.workers.template_codes import TemplateCodes
from controller.compilation.workers.worker_process import FOR_SOURCES, ProcessLost, WorkerClosed, WorkerFailed
from controller.config.limits import CompileWorkerLimits
from highstate.types import Minion

log = structlog.get_logger("saltern.compile_executor")

MOST_MINIONS = 200
"""That are sent at a time."""
MOST_LOSSES = 3
"""Workers that are lost during a request; then it goes on here."""
_POLL_SECONDS = 0.25
_PATIENCE = 120.0
"""Seconds that a step may take beside the time of a minion: the process is started in it."""
_QUESTION = msgspec.msgpack.Decoder(PortCall | ContentQuestion)
_ANSWER = msgspec.msgpack.Decoder(CompiledMinion)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneParts:
    """What all lanes share."""

    cluster: DaskCluster
    settings: LaneSettings
    shipping: TreeShipping
    codes: TemplateCodes
    compiled: Callable[[], None]
    """Hears that a minion was compiled on a worker."""
    fell_back: Callable[[str], None]
    """Hears that a request goes on here, and why."""


@dataclass(slots=True)
class _Progress:
    """Where a request is, on a worker."""

    address: str
    request: CompileRequest
    rest: deque[Sequence[Minion]]
    """Minions that are not sent yet."""
    session: str = ""
    sent: dict[str, bytes] = field(default_factory=dict)
    codes: set[bytes] = field(default_factory=set)
    answers: deque[tuple[bytes, bytes]] = field(default_factory=deque)
    failure: Exception | None = None
    """What is wrong with the minion after these answers."""


class DaskProcess:
    """One lane.

    Args:
        lane: its number.
        parts: what lanes share.
        local: the process that is used when there is no worker.
    """

    def __init__(self, lane: int, parts: LaneParts, local: CompileProcess) -> None:
        self._lane = lane
        self._parts = parts
        self._local = local
        self._check = AnswerCheck(parts.settings.timeout, parts.settings.limits)
        self._use = threading.Lock()
        self._held = ExitStack()
        """Holds the local process, as long as it is used."""
        self._is_here = False
        """Whether it does."""
        self._at: _Progress | None = None
        """None: the request is at the local process."""
        self._next: Future[LaneOutcome] | None = None
        self._losses = 0
        self._lost_why = ""
        self._pid = 0
        self._interrupted = threading.Event()
        self._closed = threading.Event()

    @property
    def timeout(self) -> float:
        """Seconds that one minion may take."""
        return self._parts.settings.timeout

    @property
    def limits(self) -> CompileWorkerLimits:
        """What is taken from it."""
        return self._parts.settings.limits

    @property
    def pid(self) -> int:
        """Process id on its machine; 0 when it does not run."""
        return self._pid or self._local.pid

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """See `CompileProcess`."""
        with self._use, ExitStack() as held:
            self._held, self._losses = held, 0
            self._interrupted.clear()
            try:
                yield
            finally:
                self._forget()
                self._is_here = False

    def send(self, request: CompileRequest) -> None:
        """See `CompileProcess`. Raises ProcessLost as well: then it may be sent again."""
        self._forget()
        if self._losses >= MOST_LOSSES:
            self._send_here(request, f"{MOST_LOSSES} workers were lost during it: {self._lost_why}")
            return
        address = self._parts.cluster.table.place(self._lane)
        if address is None:
            self._send_here(request, "there was no worker")
            return
        minions = request.minions
        chunks = deque[Sequence[Minion]](minions[at : at + MOST_MINIONS] for at in range(0, len(minions), MOST_MINIONS))
        shipping = self._parts.shipping
        files = shipping.shipped("files", request.files).files
        pillar = shipping.shipped("pillar", request.pillar).files
        self._at = _Progress(address, replace(request, files=files, pillar=pillar), chunks)
        self._begin(self._at, request)

    def receive(self, minion_id: str, request: CompileRequest, rpc_server: RpcServer) -> CompiledMinion:
        """See `CompileProcess`. Raises ProcessLost as well: then the rest may be sent again."""
        at = self._at
        if at is None:
            return self._local.receive(minion_id, request, rpc_server)
        while not at.answers:
            if at.failure is not None:
                raise at.failure
            self._hear(at, self._outcome(at), request, rpc_server)
        frame, document = at.answers.popleft()
        try:
            found = self._check.checked(_ANSWER.decode(frame), document, minion_id, request)
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise WorkerFailed(str(error)) from error
        self._parts.cluster.table.compiled(at.address)
        self._parts.compiled()
        return found

    def stop(self) -> None:
        """End the process; the next request starts another."""
        at = self._at
        if at is not None and self._parts.cluster.table.is_there(at.address):
            stop = StopLanes(controller=self._parts.cluster.controller, lane=self._lane, session=at.session)
            self._ask(at.address, stop)
        elif at is None and self._is_here:
            self._local.stop()
        self._forget()
        self._pid = 0

    def interrupt(self) -> None:
        """End what it is doing, from any thread; whoever waits for it gets WorkerFailed."""
        self._interrupted.set()
        if self._is_here:
            self._local.interrupt()

    def close(self) -> None:
        """End it for good; whoever waits for it gets WorkerClosed."""
        self._closed.set()
        self._local.close()

    def _send_here(self, request: CompileRequest, why: str) -> None:
        if not self._is_here:
            self._held.enter_context(self._local.in_use())
            self._is_here = True
            self._parts.fell_back(why)
        self._local.send(request)

    def _begin(self, at: _Progress, request: CompileRequest) -> None:
        """Send the next minions, with what their worker probably lacks of the trees."""
        cluster, shipping = self._parts.cluster, self._parts.shipping
        minions = at.rest.popleft()
        memory = cluster.table.memory(at.address)
        at.sent = shipping.contents("files", request.files, memory.contents)
        at.sent |= shipping.contents("pillar", request.pillar, memory.contents)
        codes = self._parts.codes.lacking(memory.codes)
        at.codes = {each.key for each in codes}
        at.session = secrets.token_hex(8)
        self._next = self._ask(
            at.address,
            BeginCompile(
                controller=cluster.controller,
                lane=self._lane,
                session=at.session,
                settings=self._parts.settings,
                request=pickle.dumps(_only(at.request, minions)),
                minions=len(minions),
                contents=at.sent,
                codes=codes,
            ),
        )

    def _ask(self, address: str, step: LaneStep) -> Future[LaneOutcome]:
        return self._parts.cluster.step(address, step)

    def _outcome(self, at: _Progress) -> LaneOutcome:
        """How the step has ended that is under way."""
        step, waited = self._next, 0.0
        if step is None:
            raise WorkerFailed("it does not run")
        while not wait([step], _POLL_SECONDS).done:
            waited += _POLL_SECONDS
            if self._closed.is_set():
                raise WorkerClosed
            if self._interrupted.is_set():
                raise WorkerFailed("nobody waits for it")
            if not self._parts.cluster.table.is_there(at.address):
                raise self._lost(at, "the worker is gone, or is silent")
            if waited > self.timeout + _PATIENCE:
                self._parts.cluster.suspend(at.address)
                raise self._lost(at, "the worker does not answer")
        self._next = None
        try:
            return step.result()
        except ClusterLost as error:
            self._parts.cluster.doubt(at.address, str(error))
            raise self._lost(at, str(error)) from error

    def _lost(self, at: _Progress, why: str) -> ProcessLost:
        self._losses += 1
        self._lost_why = why
        if self._next is not None:
            self._next.cancel()  # a frozen worker answers when it is woken, to nobody
        log.warning("compile is sent again", worker=at.address, reason=why)
        return ProcessLost(why)

    def _hear(self, at: _Progress, said: LaneOutcome, request: CompileRequest, rpc_server: RpcServer) -> None:
        """Take what a step has brought, and have the next one done meanwhile."""
        self._pid = said.pid
        if said.lacking:
            log.warning("compile worker is not sandboxed", worker=at.address, reason=said.lacking)
        for code in said.codes:
            self._parts.codes.put(code)
        if said.store:
            known = at.codes | {code.key for code in said.codes}
            self._parts.cluster.table.memory(at.address).given(said.store, at.sent, known)
            at.sent, at.codes = {}, set()
        at.answers.extend(said.answers)
        match said.kind:
            case "more":
                self._next = self._ask(at.address, self._continued(at))
            case "question":
                self._next = self._ask(at.address, self._answered(at, said, request, rpc_server))
            case "done" if at.rest:
                self._begin(at, request)
            case "done":
                at.failure = WorkerFailed("it has said less than it was asked")
            case "late":
                at.failure = WorkerLate()
            case "limit":
                at.failure = LimitExceeded(said.text)
            case "failed":
                at.failure = WorkerFailed(said.text)
            case _:
                at.failure = self._lost(at, said.text)

    def _continued(self, at: _Progress) -> ContinueCompile:
        return ContinueCompile(controller=self._parts.cluster.controller, lane=self._lane, session=at.session)

    def _answered(
        self, at: _Progress, said: LaneOutcome, request: CompileRequest, rpc_server: RpcServer
    ) -> ContinueCompile:
        """The answer to what the process asks."""
        try:
            question = _QUESTION.decode(said.question)
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise WorkerFailed(str(error)) from error
        if isinstance(question, PortCall):
            answer = pickle.dumps(rpc_server.answer(question, FOR_SOURCES * said.seconds))
            return msgspec.structs.replace(self._continued(at), answer=answer)
        answer = self._content(question, request)
        if answer.startswith(FOUND):
            self._parts.shipping.asked_for(question)
        return msgspec.structs.replace(self._continued(at), answer=answer, content=question.key)

    def _content(self, question: ContentQuestion, request: CompileRequest) -> bytes:
        shipping = self._parts.shipping
        for tree, files in (("files", request.files), ("pillar", request.pillar)):
            if (listing := shipping.shipped(tree, files).listings.get(question.key)) is not None:
                return FOUND + listing
        try:
            return FOUND + content_of(request.files, request.pillar, question)
        except (OSError, ValueError, IndexError) as error:
            return LACKING + str(error).encode(errors="replace")

    def _forget(self) -> None:
        self._at = self._next = None


def _only(request: CompileRequest, minions: Sequence[Minion]) -> CompileRequest:
    """The request for these minions, without what it says of others."""
    ids = {minion.id for minion in minions}
    return replace(
        request,
        minions=tuple(minions),
        held={each: digest for each, digest in request.held.items() if each in ids},
        facts={each: facts for each, facts in request.facts.items() if each in ids},
        drifts={each: drift for each, drift in request.drifts.items() if each in ids},
        rendering={each: question for each, question in request.rendering.items() if each in ids},
    )
