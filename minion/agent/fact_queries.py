"""Fact queries of the controller's templates: a child answers them, and nothing is kept here.

Part of the agent, which passes in the requests, polls `readers` and calls `expire` at `next_deadline`. A question that
is not answered in time gets an error; answers that cannot be sent are dropped, and the controller asks again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from extmods.fact_answers import MOST_BYTES, MOST_QUESTIONS
from minion.processes import AgentPipe, Child
from wire.messages import FactAnswer, FactAnswers, FactQuery, FactRequest, ToController

MOST_CHILDREN = 4
"""Requests that are answered at the same time."""

Answer = Callable[[FactQuery, Sequence[str]], FactAnswer]


class _Answered(msgspec.Struct, frozen=True, array_like=True):
    """A frame of the child."""

    number: int
    answer: FactAnswer


_FRAME = msgspec.msgpack.Decoder(_Answered)


@dataclass(slots=True)
class _OpenRequest:
    message: FactRequest
    child: Child
    deadline: float
    controller: str
    """Which of several asks."""
    answers: dict[int, FactAnswer] = field(default_factory=dict)


class FactAnswerer:
    """The requests that are being answered."""

    def __init__(
        self,
        send: Callable[[ToController, str], bool],
        fork: Callable[[Callable[[AgentPipe], None]], Child],
        make_answer: Callable[[], Answer],
    ) -> None:
        """`make_answer` is called in the child; what it gives answers one question."""
        self._send = send
        self._fork = fork
        self._make_answer = make_answer
        self._open: dict[int, _OpenRequest] = {}

    def readers(self) -> list[int]:
        """The children's sockets."""
        return list(self._open)

    def next_deadline(self) -> float:
        """When `expire` has something to do."""
        return min((asked.deadline for asked in self._open.values()), default=float("inf"))

    def accept(self, message: FactRequest, now: float, controller: str = "") -> None:
        """Start a child that answers; refuse the request when there are too many.

        Args:
            message: the request.
            now: in monotonic seconds.
            controller: which of several asks.
        """
        if len(self._open) >= MOST_CHILDREN or len(message.questions) > MOST_QUESTIONS:
            self._refuse(message, controller, "was not answered: the minion is asked too much at once")
            return
        try:
            child = self._fork(lambda pipe: self._work(message, pipe))
        except OSError as error:
            self._refuse(message, controller, f"was not answered: {error}")
            return
        self._open[child.fd] = _OpenRequest(message, child, now + min(max(message.timeout, 0.1), 300.0), controller)

    def receive(self, fd: int) -> None:
        """A child's socket is readable."""
        asked = self._open[fd]
        frames, ended = asked.child.receive()
        for frame in frames:
            answered = _FRAME.decode(frame)
            asked.answers[answered.number] = answered.answer
        if ended:
            del self._open[fd]
            asked.child.reap()
            self._reply(asked.message, asked.controller, asked.answers)

    def expire(self, now: float) -> None:
        """End the children that take too long; what they answered so far counts."""
        for asked in list(self._open.values()):
            if now >= asked.deadline:
                asked.deadline = float("inf")
                asked.child.kill()

    def _refuse(self, message: FactRequest, controller: str, why: str) -> None:
        self._reply(message, controller, {number: FactAnswer(error=why) for number in range(len(message.questions))})

    def _reply(self, message: FactRequest, controller: str, answers: dict[int, FactAnswer]) -> None:
        late = FactAnswer(error=f"did not answer within {message.timeout:g} s")
        found = tuple(answers.get(number, late) for number in range(len(message.questions)))
        self._send(FactAnswers(request=message.request, answers=found), controller)

    def _work(self, message: FactRequest, pipe: AgentPipe) -> None:
        answer = self._make_answer()
        room = 8 * 1024 * 1024  # well below what one message may have
        for number, question in enumerate(message.questions):
            given = (
                answer(question, message.allowed) if room > MOST_BYTES else FactAnswer(error="no room is left for it")
            )
            frame = msgspec.msgpack.encode(_Answered(number, given))
            room -= len(frame)
            pipe.send(frame)
