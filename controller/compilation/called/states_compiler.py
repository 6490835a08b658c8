"""Compiles the states that a call asks for, for each of its minions: `state.sls`, `state.show_*`, `state.top`.

Called by `controller.jobs.state_calls`. Nothing of it is stored, and nothing becomes a desired state. It uses the
processes of the live compiles, in parts, so that a push in between does not wait for a whole fleet.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from controller.compilation.answer_redaction import redact_answer
from controller.compilation.compile_messages import CompiledMinion, CompileRequest, StatesQuestion
from controller.compilation.compile_pool import CompilePort
from controller.compilation.compile_requests import CompileRequests
from controller.compilation.fact_queries import FactQueries
from controller.observe.redactor import Redactor
from controller.reconcile.live import LiveRevision
from extmods.fact_answers import MOST_QUESTIONS
from gitfs.source import Trees
from wire.messages import FactAnswer, FactQuery

ROUNDS = 5
"""Compiles that find new questions about the machine, each behind the answers of the one before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatesCompiler:
    """Compiles what calls ask for.

    Args:
        compiler: of the live trees.
        requests: how the minions are compiled.
        facts: asks minions what templates have to know of them.
        live: the trees.
        redactor: learns the secrets of what is compiled.
        at_once: minions of one part.
    """

    compiler: CompilePort
    requests: CompileRequests
    facts: FactQueries
    live: LiveRevision
    redactor: Redactor
    at_once: int

    async def compile(
        self,
        question: StatesQuestion,
        options: Mapping[str, str],
        minions: Sequence[str],
        secrets: Sequence[str] = (),
    ) -> AsyncIterator[CompiledMinion]:
        """One answer a minion whose grains are known, as they come; none when there is no live revision.

        Args:
            question: what is compiled.
            options: of the language, in place of the configured ones: `saltenv`, `pillarenv`, `state_top`.
            minions: ids.
            secrets: plain texts of the question that must not be shown.
        """
        trees = self.live.trees
        if trees is None:
            return
        for first in range(0, len(minions), self.at_once):
            request = self._request(trees, question, options, minions[first : first + self.at_once])
            async for answer in self._compiled(request, secrets):
                yield answer

    @property
    def revision(self) -> str:
        """Digest of the live revision; empty when there is none."""
        return self.live.digest

    def _request(
        self, trees: Trees, question: StatesQuestion, options: Mapping[str, str], minions: Sequence[str]
    ) -> CompileRequest:
        request = self.requests.request(trees, self.requests.known(minions), options)
        language = replace(request.language, **options)  # type: ignore[arg-type]  # names of its texts
        return replace(request, language=language, states=question, drift={}, drifts={}, check_rate=0.0)

    async def _compiled(self, request: CompileRequest, secrets: Sequence[str]) -> AsyncIterator[CompiledMinion]:
        """Answers; where templates lack answers of their machine, it is asked, and they are compiled again."""
        for left in range(ROUNDS, -1, -1):
            again: dict[str, Mapping[FactQuery, FactAnswer]] = {}
            if not request.minions:
                return
            async with aclosing(self.compiler.stream(request)) as batches:
                async for batch in batches:
                    self.redactor.learn({each.minion_id: (*each.secrets, *secrets) for each in batch})
                    given = await self._asked(batch) if left else {}
                    again |= given
                    shown = [each for each in batch if each.minion_id not in given]
                    for answer in await asyncio.to_thread(self._redacted, shown):
                        yield answer
            facts = {name: {**request.facts.get(name, {}), **some} for name, some in again.items()}
            rest = tuple(minion for minion in request.minions if minion.id in again)
            request = replace(request, facts={**request.facts, **facts}, minions=rest)

    def _redacted(self, answers: Sequence[CompiledMinion]) -> list[CompiledMinion]:
        return [redact_answer(each, self.redactor) if each.errors or each.warnings else each for each in answers]

    async def _asked(self, batch: Sequence[CompiledMinion]) -> dict[str, Mapping[FactQuery, FactAnswer]]:
        """Minion -> what it answers to what its compile lacks; those that answer nothing left out."""
        allowed = self.live.policy.facts
        missing = {each.minion_id: each.unanswered[:MOST_QUESTIONS] for each in batch if not each.ok}
        asked = [name for name, questions in missing.items() if questions]
        found = await asyncio.gather(*(self.facts.ask(name, missing[name], allowed) for name in asked))
        return {name: answers for name, answers in zip(asked, found, strict=True) if answers}
