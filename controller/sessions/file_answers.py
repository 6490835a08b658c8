"""Answers minions' questions about files in a thread of its own, one at a time: what one costs is a minion's choice.

A list of a tree of 200,000 files takes seconds, and so does the first look into a saltenv that nobody has asked for.
Called by the message handlers; `run` is a task of `controller.app`. Of the minions that wait, the one is answered
whose questions have cost least.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeAlias

import structlog

from controller.sessions.file_server import FileServer
from options.limits import CountRefusal, uncounted
from wire.errors import MalformedMessage
from wire.messages import FindFile, GetBlob, ListFiles, Refused, ToMinion

log = structlog.get_logger("saltern.files")

TURN_SECONDS = 0.02
"""The questions that were taken are answered for as long as this, then it is looked who has the cheapest ones now."""
_MOST_TAKEN = 32
"""Questions that are taken at once."""

ROOM_SECONDS = 0.02
"""Until it is looked again whether there is room for an answer."""

FileQuestion: TypeAlias = FindFile | ListFiles | GetBlob


@dataclass(slots=True, kw_only=True)
class _Waiting:
    """The questions of a minion."""

    cost: float
    """Seconds that its questions took, from where the others were when it began to wait."""
    questions: deque[FileQuestion] = field(default_factory=deque)


class FileAnswers:
    """The questions that wait.

    Args:
        files: gives the answers.
        send: called in the thread, with the key of the minion and the answer; on the loop with a refusal.
        most: questions of one minion that wait; more are refused.
        has_room: whether an answer may be sent to this key now, or with no name to any; else it waits.
        on_refusal: see `options.limits.CountRefusal`; the limit is `file-questions`.
    """

    def __init__(
        self,
        files: FileServer,
        send: Callable[[str, ToMinion], None],
        *,
        most: int,
        has_room: Callable[[str], bool] = lambda _key: True,
        on_refusal: CountRefusal = uncounted,
    ) -> None:
        self._files = files
        self._has_room = has_room
        self._send = send
        self._most = most
        self._on_refusal = on_refusal
        self._asked = threading.Condition()
        """Held for what follows."""
        self._stopping = False
        self._waiting: dict[str, _Waiting] = {}
        self._costs: dict[str, float] = {}
        """Of the minions that have waited lately."""
        self._reached = 0.0
        """The cost of the minion that was answered last."""

    def ask(self, key: str, question: FileQuestion) -> None:
        """Have a question of the minion with this key answered."""
        with self._asked:
            waiting = self._waiting.get(key)
            if waiting is None:
                cost = max(self._reached, self._costs.get(key, 0.0))
                waiting = self._waiting[key] = _Waiting(cost=cost)
            refused = len(waiting.questions) >= self._most
            if not refused:
                waiting.questions.append(question)
                self._asked.notify()
        if refused:
            self._on_refusal("file-questions")
            message = f"{self._most} questions of this minion about files wait already; ask again later"
            self._send(key, Refused(message=message, request=question.request))

    def forget(self, key: str) -> None:
        """The minion has gone."""
        with self._asked:
            self._waiting.pop(key, None)

    async def run(self) -> None:
        """Answer until cancelled. Can run once; the questions taken last may be answered after its end."""
        thread = ThreadPoolExecutor(1, "file-answers")
        try:
            await asyncio.get_running_loop().run_in_executor(thread, self._answer_all)
        finally:
            with self._asked:
                self._stopping = True
                self._asked.notify()
            thread.shutdown(wait=False)

    # --- in the thread

    def _answer_all(self) -> None:
        while taken := self._take():
            self._settle(taken, self._answer(taken))

    def _take(self) -> list[tuple[str, FileQuestion]]:
        """The next questions, each of another minion, whose costs are about the same; they stay where they are.

        Waits for them; none when it is time to stop.
        """
        with self._asked:
            self._asked.wait_for(lambda: self._waiting or self._stopping)
            while not (self._stopping or (ready := self._with_room())):
                self._asked.wait(ROOM_SECONDS)
                self._asked.wait_for(lambda: self._waiting or self._stopping)
            if self._stopping:
                return []
            cheapest = sorted(ready, key=lambda item: item[1].cost)[:_MOST_TAKEN]
            return [
                (key, waiting.questions[0])
                for key, waiting in cheapest
                if waiting.cost <= cheapest[0][1].cost + TURN_SECONDS
            ]

    def _with_room(self) -> list[tuple[str, _Waiting]]:
        if not self._has_room(""):
            return []
        return [item for item in self._waiting.items() if self._has_room(item[0])]

    def _answer(self, taken: list[tuple[str, FileQuestion]]) -> list[float]:
        """The seconds that each of the questions took that could be answered in time; at least one."""
        began, spent = time.monotonic(), list[float]()
        for key, question in taken:
            start = time.monotonic()
            if spent and start - began > TURN_SECONDS:
                break
            self._answer_one(key, question)
            spent.append(time.monotonic() - start)
        return spent

    def _answer_one(self, key: str, question: FileQuestion) -> None:
        try:
            self._send(key, self._files.answer(question))
            return
        except MalformedMessage as error:
            log.warning("question about files not answered", kind=type(question).__name__, error=str(error))
            why = f"the answer cannot be sent: {error}"
        except Exception:
            log.exception("question about files failed", kind=type(question).__name__)
            why = "the controller failed to answer; its log says why"
        self._send(key, Refused(message=why, request=question.request))

    def _settle(self, taken: list[tuple[str, FileQuestion]], spent: list[float]) -> None:
        """Charge minions for their answers; those of which nothing waits are remembered while it matters."""
        with self._asked:
            self._charge(taken, spent)
            if not self._waiting:
                self._costs.clear()
            elif len(self._costs) > 2 * len(self._waiting) + 1000:
                self._costs = {key: cost for key, cost in self._costs.items() if cost > self._reached}

    def _charge(self, taken: list[tuple[str, FileQuestion]], spent: list[float]) -> None:
        for (key, question), seconds in zip(taken, spent, strict=False):
            waiting = self._waiting.get(key)
            if waiting is None or waiting.questions[0] is not question:
                continue  # it went, and perhaps came again
            self._reached = max(self._reached, waiting.cost)
            waiting.cost += seconds
            waiting.questions.popleft()
            if not waiting.questions:
                del self._waiting[key]
                self._costs[key] = waiting.cost
