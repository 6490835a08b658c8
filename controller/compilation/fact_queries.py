"""What templates have to know of live machines: asked of the minions, recorded, and played back while they are away.

Called by `Builder` with the questions that a compile was left with, by the inbox with the answers. A minion that was
asked is compiled again when it has answered, or when it took too long. What it says is data of a bounded size about
itself. Previews never come here: they see what is recorded.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from controller.observe.metrics import Metrics
from controller.sessions.sessions import Sessions
from controller.store import Store
from extmods.fact_answers import bounded
from highstate.functions.live import OF_THE_FLEET
from minion.agent.fact_queries import MOST_QUESTIONS
from wire.messages import FactAnswer, FactAnswers, FactQuery, FactRequest
from wire.server.server import Server

log = structlog.get_logger("saltern.facts")

PATIENCE = 10.0
"""Seconds that a minion has for its answers."""

MOST_ROUNDS = 50
"""Of questions that follow from answers, for one document."""


@dataclass(frozen=True, slots=True)
class _Asked:
    minion: str
    questions: tuple[FactQuery, ...]
    always: bool
    """Whether the minion is compiled again although no answer is new."""
    timer: asyncio.TimerHandle


@dataclass(slots=True, kw_only=True)
class FactQueries:
    """Questions to minions, and their answers. `ready` is told whom to compile again."""

    store: Store
    sessions: Sessions
    server: Server
    metrics: Metrics
    clock: Callable[[], float]
    askable: Callable[[], tuple[str, ...]]
    """Functions (globs) that policy allows beside those that only look."""
    ready: Callable[[str], None]
    patience: float = PATIENCE
    _open: dict[int, _Asked] = field(default_factory=dict)
    _rounds: Counter[str] = field(default_factory=Counter)
    _serial: int = 0
    asked_at: dict[str, float] = field(default_factory=dict)
    """When each minion was asked last, of those that have been."""

    def recorded(self, minions: Collection[str]) -> dict[str, dict[FactQuery, FactAnswer]]:
        """What is known of these minions."""
        found = self.store.facts.by_minion(minions)
        return {minion: {each.question: each.answer for each in records} for minion, records in found.items()}

    def ask(self, minion: str, questions: Sequence[FactQuery]) -> bool:
        """Ask what a compile was left with; False when that is not possible now."""
        known = self.store.facts.by_minion([minion]).get(minion, [])
        if self._rounds[minion] >= MOST_ROUNDS or len(known) + len(questions) > MOST_QUESTIONS:
            return False
        self._rounds[minion] += 1
        return self._send(minion, questions, always=True)

    def ask_again(self, minions: Collection[str], *, always: bool) -> set[str]:
        """Ask these minions all that was recorded of them; who was asked. `always`: compile them in any case."""
        asked = set()
        here = [minion for minion in minions if self.sessions.session(minion) is not None]
        for minion, records in (self.store.facts.by_minion(here) if here else {}).items():
            self._rounds.pop(minion, None)
            questions = [each.question for each in records if not _kept(each.question, each.answer)]
            if questions and self._send(minion, questions, always=always):
                asked.add(minion)
        return asked

    def ask_due(self, interval: float) -> None:
        """Ask those who were asked longer ago than `interval` seconds (0: nobody); new answers compile them again."""
        now = self.clock()
        due = [minion for minion, at in self.asked_at.items() if interval > 0 and now - at >= interval]
        self.ask_again(due, always=False)

    def used(self, minion: str, questions: Collection[FactQuery], known: Mapping[FactQuery, FactAnswer]) -> None:
        """A document stands on these answers; forget the others that were recorded."""
        self._rounds.pop(minion, None)
        gone = [question for question in known if question not in questions]
        if gone:
            self.store.facts.drop(minion, gone)

    def answered(self, minion: str, key: str, message: FactAnswers) -> None:
        """A minion has answered."""
        asked = self._open.get(message.request)
        session = self.sessions.session(minion)
        if asked is None or asked.minion != minion or session is None or session.key != key:
            return  # too late, or made up
        asked.timer.cancel()
        answers = [bounded(answer) for answer in message.answers[: len(asked.questions)]]
        answers += [FactAnswer(error="gave no answer")] * (len(asked.questions) - len(answers))
        self._keep(message.request, dict(zip(asked.questions, answers, strict=True)))

    def _send(self, minion: str, questions: Sequence[FactQuery], *, always: bool) -> bool:
        session = self.sessions.session(minion)
        if session is None:
            return False
        self._serial += 1
        request = self._serial
        # The minion gives up first; the rest is for the way.
        timer = asyncio.get_running_loop().call_later(self.patience + 2.0, self._late, request)
        self._open[request] = _Asked(minion, tuple(questions), always, timer)
        self.metrics.sent("FactRequest")
        message = FactRequest(
            request=request, questions=tuple(questions), allowed=self.askable(), timeout=self.patience
        )
        self.server.send(session.key, message)
        return True

    def _late(self, request: int) -> None:
        """No answer came: what was recorded before stays."""
        asked = self._open[request]
        known = self.recorded([asked.minion]).get(asked.minion, {})
        log.warning("no answer", minion=asked.minion, functions=sorted({each.fun for each in asked.questions}))
        silent = FactAnswer(error=f"did not answer within {self.patience:g} s")
        self._keep(request, {question: known.get(question, silent) for question in asked.questions})

    def _keep(self, request: int, answers: Mapping[FactQuery, FactAnswer]) -> None:
        asked = self._open.pop(request)
        minion, now = asked.minion, self.clock()
        known = self.recorded([minion]).get(minion, {})
        self.asked_at[minion] = now
        self.store.facts.put(minion, answers, now)
        for answer in answers.values():
            self.metrics.asked("failed" if answer.error else "answered")
        if asked.always or any(known.get(question) != answer for question, answer in answers.items()):
            self.ready(minion)


def _kept(question: FactQuery, answer: FactAnswer) -> bool:
    """Whether the minion is not asked again: what was drawn by lot would be another each time, and of the fleet the
    controller knows itself.
    """
    return question.fun in OF_THE_FLEET or (question.fun.startswith("random.") and not answer.error)
