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

Answer = FileFound | FileList | Blob | MineFound | StatesFound | Published | Refused


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
    sent: bool = False


class FileRelay:
    """Open questions by their number on the connection."""

    def __init__(self, send: Callable[[ToController], bool]) -> None:
        self._send = send
        self._open: dict[int, _OpenQuestion] = {}
        self._last = 0
        self._online = False

    def ask(self, child: Asker, frame: bytes, now: float) -> None:
        """Forward a question of a worker. A worker that sends anything else is ended."""
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
        self._open[self._last] = _OpenQuestion(child, question.request, numbered, deadline, sent=self._online)
        if self._online and not self._send(numbered):
            self._refuse(self._last, "too much is waiting to be sent to the controller")

    def answer(self, message: Answer) -> None:
        """Pass an answer to the worker that waits for it; without one it is dropped."""
        asked = self._open.pop(message.request, None)
        if asked is not None:
            asked.child.send(encode(msgspec.structs.replace(message, request=asked.worker_number)))

    def online(self, now: float) -> None:
        """The controller can be reached (again): send all open questions."""
        self._online = True
        for number, asked in list(self._open.items()):
            if asked.sent and isinstance(asked.question, PublishCall):
                self._refuse(number, "the connection was lost meanwhile: whether it was done is not known")
                continue
            deadline = now + ANSWER_TIMEOUT
            self._open[number] = _OpenQuestion(asked.child, asked.worker_number, asked.question, deadline, sent=True)
            self._send(asked.question)

    def offline(self, now: float) -> None:
        """The controller cannot be reached."""
        if self._online:
            self._online = False
            for number, asked in list(self._open.items()):
                deadline = min(asked.deadline, now + OFFLINE_TIMEOUT)
                self._open[number] = replace(asked, deadline=deadline)

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
