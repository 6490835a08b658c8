"""What templates have to know of live machines: asked of the minions, recorded, and played back while they are away.

Called by `BuildReconciler`, which decides when to ask and what follows from the answers. What a minion says is data of
a bounded size about itself. What previews ask is given to them and not recorded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from controller.observe.metrics import Metrics
from controller.reconcile.live import LiveRevision
from controller.sessions.sessions import Session, Sessions
from controller.store import Store
from extmods.fact_answers import MOST_QUESTIONS, bounded
from highstate.functions.live import OF_THE_FLEET
from wire.messages import FactAnswer, FactAnswers, FactQuery, FactRequest
from wire.server.server import Server

log = structlog.get_logger("saltern.facts")

ANSWER_SECONDS = 10.0
"""That a minion has for its answers."""


@dataclass(frozen=True, slots=True)
class SentQuery:
    """Questions that a minion was sent."""

    request: int
    minion: str
    questions: tuple[FactQuery, ...]


@dataclass(slots=True, kw_only=True)
class FactQueries:
    """Questions to minions, and their answers. A minion has one query open at a time; a newer one takes its place.

    What is answered too late for the compile that waited is recorded all the same, and has the next one made.
    """

    store: Store
    sessions: Sessions
    server: Server
    metrics: Metrics
    clock: Callable[[], float]
    live: LiveRevision
    _open: dict[str, SentQuery] = field(default_factory=dict)
    """By minion."""
    _late: dict[str, SentQuery] = field(default_factory=dict)
    """By minion: what it was sent last and has not answered in its time."""
    _asked: dict[int, tuple[SentQuery, str, asyncio.Future[dict[FactQuery, FactAnswer]]]] = field(default_factory=dict)
    """Request -> what somebody waits for, with the key of the minion; beside the open query of that minion."""
    _serial: int = 0

    def recorded(self, minions: Collection[str]) -> dict[str, dict[FactQuery, FactAnswer]]:
        """What is known of these minions."""
        found = self.store.facts.by_minion(minions)
        return {minion: {each.question: each.answer for each in records} for minion, records in found.items()}

    def repeatable(self, minions: Collection[str]) -> dict[str, tuple[FactQuery, ...]]:
        """The questions with recorded answers that these minions can be asked again; those that have none left out."""
        found = {
            minion: tuple(each.question for each in records if not _keeps_answer(each.question, each.answer))
            for minion, records in self.store.facts.by_minion(minions).items()
        }
        return {minion: questions for minion, questions in found.items() if questions}

    def asked_at(self) -> dict[str, float]:
        """When each minion gave its oldest answer that it can be asked for again."""
        found = {
            minion: [at for fun, at in functions.items() if fun not in OF_THE_FLEET and not fun.startswith("random.")]
            for minion, functions in self.store.facts.oldest().items()
        }
        return {minion: min(times) for minion, times in found.items() if times}

    def too_many(self, minion: str, questions: Collection[FactQuery]) -> bool:
        """Whether a minion would have more questions than it is asked, with these."""
        return len(self.store.facts.by_minion([minion]).get(minion, [])) + len(questions) > MOST_QUESTIONS

    def send(self, minion: str, questions: Sequence[FactQuery]) -> bool:
        """Ask a minion; False when it is not connected."""
        session = self.sessions.session(minion)
        if session is None:
            return False
        self._open[minion] = self._request(session, questions, self.live.policy.facts)
        return True

    async def ask(
        self, minion: str, questions: Sequence[FactQuery], allowed: tuple[str, ...] = ()
    ) -> dict[FactQuery, FactAnswer]:
        """What a minion answers, for a preview or a call: nothing of it is recorded. Empty when it is not connected or
        does not answer. `allowed`: functions (globs) that it may be asked for beside those that only look.
        """
        session = self.sessions.session(minion)
        if session is None:
            return {}
        sent = self._request(session, questions, allowed)
        answers: asyncio.Future[dict[FactQuery, FactAnswer]] = asyncio.get_running_loop().create_future()
        self._asked[sent.request] = (sent, session.key, answers)
        try:
            async with asyncio.timeout(2 * ANSWER_SECONDS):
                return await answers
        except TimeoutError:
            return {}
        finally:
            del self._asked[sent.request]

    def _request(self, session: Session, questions: Sequence[FactQuery], allowed: tuple[str, ...]) -> SentQuery:
        self._serial += 1
        message = FactRequest(request=self._serial, questions=tuple(questions), allowed=allowed, timeout=ANSWER_SECONDS)
        self.metrics.sent(type(message).__name__)
        self.server.send(session.key, message)
        return SentQuery(self._serial, session.minion, tuple(questions))

    def drop(self, minion: str) -> None:
        """Forget an open query; what is answered to it counts for nothing."""
        self._open.pop(minion, None)

    def answered(self, minion: str, key: str, message: FactAnswers) -> bool | None:
        """Record answers; whether any is new. None when they are late, or answer no question of ours."""
        if message.request in self._asked:
            self._answer_asker(minion, key, message)
            return None
        sent = self._open.get(minion)
        if sent is None or not self._is_answer(sent, key, message):
            return None
        self._late.pop(minion, None)
        return self._record(sent, _by_question(sent, message))

    def answered_late(self, minion: str, key: str, message: FactAnswers) -> bool:
        """Record answers that came after their time, unless newer ones are there; whether any is new."""
        sent = self._late.get(minion)
        if sent is None or not self._is_answer(sent, key, message):
            return False
        del self._late[minion]
        return self._record(sent, _by_question(sent, message))

    def _is_answer(self, sent: SentQuery, key: str, message: FactAnswers) -> bool:
        session = self.sessions.session(sent.minion)
        return sent.request == message.request and session is not None and session.key == key

    def _answer_asker(self, minion: str, key: str, message: FactAnswers) -> None:
        sent, asked_key, answers = self._asked[message.request]
        if (sent.minion, asked_key) == (minion, key) and not answers.done():
            answers.set_result(_by_question(sent, message))

    def time_out(self, minion: str) -> bool:
        """No answer came: what was recorded before stays. Whether anything recorded is new."""
        sent = self._open.get(minion)
        if sent is None:
            return False
        known = self.recorded([minion]).get(minion, {})
        log.warning(
            "minion did not answer a fact query", minion=minion, functions=sorted({each.fun for each in sent.questions})
        )
        self._late[minion] = sent
        silent = FactAnswer(error=f"did not answer within {ANSWER_SECONDS:g} s")
        return self._record(sent, {question: known.get(question, silent) for question in sent.questions})

    def used(self, minion: str, questions: Collection[FactQuery], known: Mapping[FactQuery, FactAnswer]) -> None:
        """A document stands on these answers; forget the others that were recorded."""
        gone = [question for question in known if question not in questions]
        if gone:
            self.store.facts.drop(minion, gone)

    def _record(self, sent: SentQuery, answers: Mapping[FactQuery, FactAnswer]) -> bool:
        known = self.recorded([sent.minion]).get(sent.minion, {})
        self.store.facts.put(sent.minion, answers, self.clock())
        if self._open.get(sent.minion) is sent:
            del self._open[sent.minion]
        for answer in answers.values():
            self.metrics.asked("failed" if answer.error else "answered")
        return any(known.get(question) != answer for question, answer in answers.items())


def _by_question(sent: SentQuery, message: FactAnswers) -> dict[FactQuery, FactAnswer]:
    answers = [bounded(answer) for answer in message.answers[: len(sent.questions)]]
    answers += [FactAnswer(error="gave no answer")] * (len(sent.questions) - len(answers))
    return dict(zip(sent.questions, answers, strict=True))


def _keeps_answer(question: FactQuery, answer: FactAnswer) -> bool:
    """Whether the minion is not asked again: what was drawn by lot would be another each time, and of the fleet the
    controller knows itself.
    """
    return question.fun in OF_THE_FLEET or (question.fun.startswith("random.") and not answer.error)
