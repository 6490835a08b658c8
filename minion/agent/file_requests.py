"""Forwards questions of workers to the controller, and its answers back.

Part of the agent. A worker asks one question at a time and waits. Here the question gets a number that is unique on the
connection; it is sent again after a reconnect, and refused when the controller refuses it or does not answer in time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import msgspec

from minion.spool.files import Question
from wire.codec import decode_to_controller, encode
from wire.errors import MalformedMessage
from wire.messages import (
    Blob,
    FileFound,
    FileList,
    FilePushed,
    MineFound,
    PublishCall,
    Published,
    Refused,
    StatesFound,
    ToController,
)

log = logging.getLogger(__name__)

ANSWER_TIMEOUT = 60.0
"""Seconds."""

OFFLINE_TIMEOUT = 10.0
"""Seconds that a question waits while the controller is unreachable: long enough for its restart."""

Answer = FileFound | FileList | Blob | MineFound | StatesFound | Published | FilePushed | Refused


class Asker(Protocol):
    """Who asked: a worker, or a process of `saltern call` (`minion.agent.call_questions`)."""

    @property
    def pid(self) -> int:
        """Of its process."""

    def send(self, frame: bytes) -> bool:
        """Give it the answer."""

    def kill(self) -> None:
        """End what asks what it may not."""


@dataclass(frozen=True, slots=True)
class _OpenQuestion:
    child: Asker
    worker_number: int
    question: Question
    deadline: float
    controller: str
    """Which of several asked for what asks; empty: the one that the minion follows."""
    sent_to: str = ""
    """The controller that has it on the connection of now."""
    was_sent: bool = False


class FileRelay:
    """Open questions by their number, which is another for each.

    Args:
        send: sends to a controller, or to the one that the minion follows where that cannot be reached; the name of
            the one that has it, empty: none.
    """

    def __init__(self, send: Callable[[ToController, str], str]) -> None:
        self._send = send
        self._open: dict[int, _OpenQuestion] = {}
        self._last = 0
        self._online: set[str] = set()

    def ask(self, child: Asker, frame: bytes, now: float, controller: str = "") -> None:
        """Forward a question of a worker. A worker that sends anything else is ended.

        Args:
            child: who asks.
            frame: the question.
            now: in monotonic seconds.
            controller: which of several asked for what asks.
        """
        try:
            question = decode_to_controller(frame)
        except MalformedMessage as error:
            log.error("event=worker_frame_unreadable pid=%s error=%s", child.pid, error)
            child.kill()
            return
        if not isinstance(question, Question):
            log.error("event=worker_message_unexpected pid=%s message=%s", child.pid, type(question).__name__)
            child.kill()
            return
        self._last += 1
        numbered = msgspec.structs.replace(question, request=self._last)
        deadline = now + (ANSWER_TIMEOUT if self._online else OFFLINE_TIMEOUT)
        asked = _OpenQuestion(child, question.request, numbered, deadline, controller)
        self._open[self._last] = asked
        if self._online and not self._send_question(self._last, asked):
            self._refuse(self._last, "too much is waiting to be sent to the controller")

    def answer(self, message: Answer) -> None:
        """Pass an answer to the worker that waits for it; without one it is dropped."""
        asked = self._open.pop(message.request, None)
        if asked is not None:
            asked.child.send(encode(msgspec.structs.replace(message, request=asked.worker_number)))

    def online(self, now: float, name: str) -> None:
        """A controller can be reached (again): send the open questions that no other one has."""
        self._online.add(name)
        for number, asked in list(self._open.items()):
            if asked.sent_to not in ("", name):
                continue
            if asked.was_sent and isinstance(asked.question, PublishCall):
                self._refuse(number, "the connection was lost meanwhile: whether it was done is not known")
                continue
            self._send_question(number, replace(asked, deadline=now + ANSWER_TIMEOUT))

    def offline(self, now: float, name: str) -> None:
        """A controller cannot be reached."""
        if name in self._online:
            self._online.discard(name)
            for number, asked in list(self._open.items()):
                if asked.sent_to in ("", name):
                    deadline = min(asked.deadline, now + OFFLINE_TIMEOUT)
                    self._open[number] = replace(asked, deadline=deadline, sent_to="")

    def _send_question(self, number: int, asked: _OpenQuestion) -> bool:
        name = self._send(asked.question, asked.controller)
        self._open[number] = replace(asked, sent_to=name, was_sent=asked.was_sent or bool(name))
        return bool(name)

    def forget(self, child: Asker) -> None:
        """A worker has ended."""
        self._open = {number: asked for number, asked in self._open.items() if asked.child is not child}

    def expire(self, now: float) -> None:
        """Refuse the questions that were not answered in time."""
        for number, asked in list(self._open.items()):
            if now >= asked.deadline:
                self._refuse(number, "no answer in time" if self._online else "the controller is away")

    def next_deadline(self) -> float:
        """When `expire` has something to do; infinity when nothing is open."""
        return min((asked.deadline for asked in self._open.values()), default=float("inf"))

    def _refuse(self, number: int, why: str) -> None:
        self._open.pop(number).child.send(encode(Refused(message=why)))
