"""OpenQuestions to the controller, numbered, and their answers by that number. Part of a stock minion's place here."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any, TypeAlias

from wire.messages import (
    Blob,
    FileFound,
    FileList,
    FilePushed,
    MineFound,
    OptionsFound,
    Published,
    Refused,
    StatesFound,
    ToController,
)

ANSWER_SECONDS = 30.0
"""That the controller has; a minion asks again by itself."""
MOST_OPEN = 200
"""OpenQuestions of one minion at once; those beyond wait."""


AnswerOfController: TypeAlias = (
    FileFound | FileList | Blob | MineFound | StatesFound | Published | OptionsFound | FilePushed | Refused
)


class NoAnswer(Exception):
    """The controller is away, or does not answer this."""


class OpenQuestions:
    """What one minion has asked and not been told.

    Args:
        send: says something to the controller; False: it cannot be said now.
    """

    def __init__(self, send: Callable[[ToController], bool]) -> None:
        self._send = send
        self._numbers = itertools.count(1)
        self._open: dict[int, asyncio.Future[Any]] = {}
        self._room = asyncio.Semaphore(MOST_OPEN)

    async def ask(self, make: Callable[[int], ToController], seconds: float = ANSWER_SECONDS) -> Any:
        """The answer to the question that `make` makes of its number. NoAnswer."""
        async with self._room:
            number = next(self._numbers)
            future = self._open[number] = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout(seconds):
                    while not self._send(make(number)):
                        await asyncio.sleep(0.1)  # not connected, or its queue is full
                    return await future
            except TimeoutError as error:
                raise NoAnswer("the controller does not answer") from error
            finally:
                del self._open[number]

    def answered(self, answer: AnswerOfController) -> None:
        """Take an answer; one that nobody waits for any more is dropped."""
        future = self._open.get(answer.request)
        if future is None or future.done():
            return
        if isinstance(answer, Refused):
            future.set_exception(NoAnswer(answer.message))
        else:
            future.set_result(answer)
