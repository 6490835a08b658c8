"""Functions that minions have called on other minions, and runners: `publish.publish` and `publish.runner`.

Called by the message handlers. Nothing is allowed but what `peer` and `peer_run` of the controller's own file name, and
each decision is in the audit log. A minion chooses how long it waits, up to a limit; it gets what came back by then.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
import structlog

from controller.access.audit import Audit
from controller.access.decision import AskedFunction, Decision, SelectMinions, decide_peer
from controller.access.principals import OF_MINION, Principal
from controller.config.access import AccessSettings
from controller.messages.own_authority import OwnAuthority
from controller.schema.errors import ServiceError
from controller.schema.requests import CallQuestion, RunnerQuestion
from controller.schema.runners import RunnerItem, RunnerReturn
from controller.schema.runs import CallProgress, CallReturn
from controller.schema.targets import TargetExpression
from controller.sessions.sessions import Session
from controller.store import StoreError
from highstate.targeting.match import may_ask_pillar
from options.limits import CountRefusal
from wire.limits import MinionLimits
from wire.messages import PublishCall, Published, Refused, ToMinion

log = structlog.get_logger("saltern.messages")

_MOST_KNOWN = 64
_AT_ONCE = 2
"""Calls of one minion that go on at a time."""
_ENCODER = msgspec.msgpack.Encoder()


class PeerWork(Protocol):
    """What does what minions ask for; it is wired after the handlers."""

    def select(self, target: TargetExpression) -> Sequence[str]:
        """The accepted minions of a target; ServiceError for nobody."""

    def call(
        self, minions: Sequence[str], question: CallQuestion, user: str, asker: str
    ) -> AsyncIterator[CallReturn | CallProgress]:
        """Returns of a function, which are told that this minion asks."""

    def runner(self, question: RunnerQuestion, user: str) -> AsyncIterator[RunnerItem]:
        """What a runner does."""


@dataclass(slots=True)
class _Asker:
    tokens: float
    at: float
    going: int = 0
    known: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_KNOWN))
    """What it has asked for, by nonce."""


@dataclass(slots=True, kw_only=True)
class PeerCalls:
    """Decides, and has them done.

    Args:
        authority: answers for the controller where it signs certificates.
        settings: the rules; a reload of the configuration replaces them.
        audit: keeps decisions.
        select: finds the minions of the target of a rule.
        send: sends to the key of a minion.
        limits: how often a minion may ask, and for how much.
        on_refusal: see `options.limits.CountRefusal`; the limits are `peer-calls` and `peer-bytes`.
        work: does it; None until it is wired.
    """

    authority: OwnAuthority
    settings: AccessSettings
    audit: Audit
    select: SelectMinions
    send: Callable[[str, ToMinion], None]
    limits: MinionLimits
    on_refusal: CountRefusal
    work: PeerWork | None = None
    _askers: dict[str, _Asker] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def ask(self, session: Session, question: PublishCall, now: float) -> None:
        """Answer a question of this minion, later."""
        asker = self._askers.setdefault(session.minion, _Asker(tokens=float(self.limits.peer_calls), at=now))
        asker.tokens = min(
            float(self.limits.peer_calls), asker.tokens + max(0.0, now - asker.at) * self.limits.peer_calls_a_second
        )
        asker.at = now
        if question.nonce in asker.known:
            text = "this was asked for already: whether it was done is not known here"
            self.send(session.key, Refused(message=text, request=question.request))
            return
        if asker.tokens < 1.0 or asker.going >= _AT_ONCE or self.work is None:
            self.on_refusal("peer-calls")
            text = "this minion asks for too much at once; ask again later"
            self.send(session.key, Refused(message=text, request=question.request))
            return
        asker.tokens, asker.going = asker.tokens - 1.0, asker.going + 1
        asker.known.append(question.nonce)
        task = asyncio.create_task(self._answer(session.key, session.minion, question, self.work), name="peer-call")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, key: str, minion: str, question: PublishCall, work: PeerWork) -> None:
        message: ToMinion
        try:
            message = await self._done(minion, question, work)
            if len(_ENCODER.encode(message)) > self.limits.peer_bytes:
                self.on_refusal("peer-bytes")
                text = f"the returns are larger than {self.limits.peer_bytes} bytes; the job is {message.jid}"
                message = Refused(message=text, request=question.request)
        except ServiceError as error:
            message = Refused(message=error.message, request=question.request)
        except StoreError as error:
            message = Refused(message=f"the controller cannot store it: {error}", request=question.request)
        except Exception:
            log.exception("peer call failed", minion=minion, fun=question.fun)
            message = Refused(message="the controller failed to do it; its log says why", request=question.request)
        finally:
            self._askers[minion].going -= 1
        self.send(key, message)

    async def _signed(self, minion: str, question: PublishCall) -> Published:
        """The answer of the controller's own authority, which has its own rules."""
        answer = await self.authority.answer(minion, question.args, question.kwargs)
        refused = "; ".join(answer["errors"])
        decision = Decision(allowed=not refused, why=refused or "x509_signing_policies")
        self._keep(minion, question, decision)
        return Published(request=question.request, jid="", returns={question.target: answer}, failed=())

    def _keep(self, minion: str, question: PublishCall, decision: Decision) -> str:
        """Keep a decision; what it was about."""
        principal = Principal(name=_principal(minion), method="peer")
        action = f"call {'runner ' if question.kind == 'runner' else ''}{question.fun}"[:200]
        detail = {"target": question.target, "args": question.args, "kwargs": question.kwargs}
        self.audit.keep(principal, action, detail, decision)
        return action

    async def _done(self, minion: str, question: PublishCall, work: PeerWork) -> Published:
        if self.authority.is_asked(question):
            return await self._signed(minion, question)
        call = AskedFunction(kind=question.kind, fun=question.fun, args=question.args, kwargs=question.kwargs)
        minions: Sequence[str] = ()
        decision = Decision(allowed=False, why="")
        if question.kind == "minion":
            decision = self._decided_before_targets(minion, question, call)
            minions = work.select(_target(question)) if decision.allowed else ()
        if question.kind == "runner" or decision.allowed:
            decision = decide_peer(minion, call, frozenset(minions), self.settings, self.select)
        action = self._keep(minion, question, decision)
        if not decision.allowed:
            raise ServiceError("forbidden", f"{minion} may not {action}: {decision.why} (peer of the controller)")
        timeout = min(max(question.timeout, 1.0), self.limits.peer_seconds)
        if question.kind == "runner":
            asked = RunnerQuestion(fun=question.fun, args=question.args, kwargs=question.kwargs, timeout=timeout)
            return await _of_runner(question.request, work.runner(asked, _principal(minion)))
        listed = TargetExpression(kind="list", expression=",".join(minions))
        on_minions = CallQuestion(
            target=listed, fun=question.fun, args=question.args, kwargs=question.kwargs, timeout=timeout
        )
        return await _of_minions(question.request, work.call(minions, on_minions, _principal(minion), minion))

    def _decided_before_targets(self, minion: str, question: PublishCall, call: AskedFunction) -> Decision:
        """Whether any rule is about this function: who is in a target tells about grains and pillars of others."""
        if may_ask_pillar(question.target_kind, question.target):
            return Decision(allowed=False, why="a minion may not find others by their pillar")
        return decide_peer(minion, call, None, self.settings, self.select)


def _principal(minion: str) -> str:
    """Who a minion is where it has something done."""
    return f"{OF_MINION}{minion}"


def _target(question: PublishCall) -> TargetExpression:
    try:
        return msgspec.convert({"kind": question.target_kind, "expression": question.target}, TargetExpression)
    except msgspec.ValidationError as error:
        raise ServiceError("bad-request", str(error)) from None


async def _of_minions(request: int, items: AsyncIterator[CallReturn | CallProgress]) -> Published:
    returns: dict[str, Any] = {}
    failed: list[str] = []
    jid = ""
    async for item in items:
        if isinstance(item, CallReturn) and item.answered:
            jid = jid or item.run_id
            returns[item.minion] = item.value if item.ok or not item.error else item.error
            if not item.ok:
                failed.append(item.minion)
    return Published(request=request, jid=jid, returns=returns, failed=tuple(failed))


async def _of_runner(request: int, items: AsyncIterator[RunnerItem]) -> Published:
    async for item in items:
        if isinstance(item, RunnerReturn):
            if not item.ended:
                raise ServiceError("conflict", f"the runner goes on; its job is {item.jid}")
            failed = () if item.success else ("value",)
            return Published(request=request, jid=item.jid, returns={"value": item.value}, failed=failed)
    raise ServiceError("internal", "the runner did not end")
