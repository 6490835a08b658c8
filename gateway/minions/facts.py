"""Functions that templates ask of a stock minion while its states are compiled.

Under a salt-master a minion gets the modules of the tree before it renders anything. So one that has not got the module
that it is asked for gets them now, and is asked once more.

Source: `load_dynamic` of `BaseHighState` in `salt/state.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from extmods.fact_answers import may_ask
from gateway.minions.jobs import StockJobs
from gateway.minions.results import StockReturn
from wire.messages import FactAnswer, FactAnswers, FactQuery, FactRequest

SYNC_PAUSE = 60.0
"""Seconds between two times that one minion is given the tree's modules: a tree may ask for what there is not."""
_SYNC = "saltutil.sync_all"


class StockFacts:
    """Answers for one minion.

    Args:
        jobs: of the minion.
        clock: gives seconds that only grow.
    """

    def __init__(self, jobs: StockJobs, clock: Callable[[], float]) -> None:
        self._jobs = jobs
        self._clock = clock
        self._synced = -SYNC_PAUSE

    async def answers(self, request: FactRequest) -> FactAnswers:
        """What it says to each question; an error where it may not be asked, or does not answer."""
        answers = [await self._answer(asked, request) for asked in request.questions]
        return FactAnswers(request=request.request, answers=tuple(answers))

    async def _answer(self, asked: FactQuery, request: FactRequest) -> FactAnswer:
        if not may_ask(asked.fun, request.allowed):
            return FactAnswer(error=f"{asked.fun} is none that only looks")
        args, kwargs = json.loads(asked.asked)
        words: list[Any] = [*args, {"__kwarg__": True, **kwargs}] if kwargs else args
        found = await self._jobs.ask(asked.fun, words)
        now = self._clock()
        if found is not None and _is_missing(asked.fun, found) and now - self._synced >= SYNC_PAUSE:
            self._synced = now
            await self._jobs.ask(_SYNC)
            found = await self._jobs.ask(asked.fun, words)
        if found is None:
            return FactAnswer(error="the minion does not answer")
        return FactAnswer(value=found.value) if found.success else FactAnswer(error=str(found.value)[:1000])


def _is_missing(fun: str, found: StockReturn) -> bool:
    """Whether a minion says that it has no such function."""
    return not found.success and str(found.value).startswith(f"'{fun}' is not available")
