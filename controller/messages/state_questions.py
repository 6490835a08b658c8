"""States that a minion asks for: `saltern call state.apply SLS` there, and jobs of its schedule.

Called by the message handlers. A minion asks for itself alone, one question at a time and at a bounded rate, since a
compile costs far more than the question. It chooses no `pillarenv`, and its `pillar=` is not seen by templates of the
pillar: neither may give it a pillar that the trees do not give it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from controller.compilation.called.states_compiler import StatesCompiler
from controller.compilation.compile_messages import CompiledMinion, StatesQuestion
from controller.sessions.sessions import Session
from options.limits import CountRefusal
from wire.limits import MinionLimits
from wire.messages import GetStates, Refused, StatesFound, ToMinion

log = structlog.get_logger("saltern.messages")

_AT_ONCE = 4
"""Questions that are compiled at a time."""


@dataclass(slots=True)
class _Asker:
    tokens: float
    at: float
    asks: bool = False


@dataclass(slots=True, kw_only=True)
class StateQuestions:
    """Answers them.

    Args:
        compiler: compiles.
        send: sends to the key of a minion.
        limits: how often a minion may ask.
        on_refusal: see `options.limits.CountRefusal`; the limit is `state-questions`.
        saltenvs: of a minion: those that its own states come from.
    """

    compiler: StatesCompiler
    send: Callable[[str, ToMinion], None]
    limits: MinionLimits
    on_refusal: CountRefusal
    saltenvs: Callable[[str], frozenset[str]]
    _askers: dict[str, _Asker] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    def ask(self, session: Session, question: GetStates, now: float) -> None:
        """Answer a question of this minion, later."""
        if why := self._refusal(session.minion, question, now):
            self.send(session.key, Refused(message=why, request=question.request))
            return
        asker = self._askers[session.minion]
        asker.asks, asker.tokens = True, asker.tokens - 1.0
        task = asyncio.create_task(self._answer(session.key, session.minion, question, asker), name="states-of-minion")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _refusal(self, minion: str, question: GetStates, now: float) -> str:
        most, rate = float(self.limits.state_questions), self.limits.state_questions_a_second
        asker = self._askers.setdefault(minion, _Asker(tokens=most, at=now))
        asker.tokens = min(most, asker.tokens + max(0.0, now - asker.at) * rate)
        asker.at = now
        if asker.asks or asker.tokens < 1.0:
            self.on_refusal("state-questions")
            return "states of this minion are compiled already, or it has asked too often; ask again later"
        if question.saltenv and question.saltenv not in self.saltenvs(minion):
            return f"no state of this minion comes from the saltenv {question.saltenv!r}: call it by `saltern run`"
        return "" if self.compiler.revision else "the controller has no live revision yet"

    async def _answer(self, key: str, minion: str, question: GetStates, asker: _Asker) -> None:
        states = StatesQuestion(
            fun="sls" if question.mods else "highstate",
            mods=question.mods or None,
            saltenv=question.saltenv or "base",
            pillar=question.pillar,
            states_alone=True,
        )
        message: ToMinion = Refused(
            message="the controller does not know the grains of this minion", request=question.request
        )
        try:
            async with self._slots:
                async for answer in self.compiler.compile(states, {}, [minion]):
                    message = _told(question.request, answer)
        except Exception:
            log.exception("states for a minion not compiled", minion=minion)
            message = Refused(message="the controller failed to compile; its log says why", request=question.request)
        finally:
            asker.asks = False
        self.send(key, message)


def _told(request: int, answer: CompiledMinion) -> StatesFound:
    if answer.ok:
        return StatesFound(request=request, document=answer.document)
    return StatesFound(request=request, errors=tuple(map(str, answer.errors)))
