"""Compiles for a preview that ask the connected minions what templates have to know of them.

Called by `preview`. What is answered is used in this preview alone and recorded nowhere. A branch that nobody has
approved chooses the questions, so they are fewer than those of what is live: `may_ask_in_preview` says which.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from controller.compilation.compile_messages import CompiledMinion, CompileRequest
from controller.compilation.compile_pool import CompilePort
from controller.compilation.fact_queries import FactQueries
from controller.compilation.workers.budget import CompileBudget
from extmods.fact_answers import LOOKERS, MOST_QUESTIONS
from wire.messages import FactAnswer, FactQuery

FreshAnswers: TypeAlias = dict[str, Mapping[FactQuery, FactAnswer]]
"""Minion -> answers."""

ROUNDS = 5
"""Compiles that find new questions, each behind the answers of the one before."""

_OF_CONTENTS = ("shadow.info", "file.check_hash", "file.get_hash", "file.get_sum")
_OF_NAMES = ("network.dns_check", "network.get_fqdn", "network.reverse_ip")
_TELLS_TOO_MUCH = frozenset((*_OF_CONTENTS, *_OF_NAMES))
"""Functions that only look, but tell what a file or a password is, or take what they are given out of the machine."""


def may_ask_in_preview(fun: str) -> bool:
    """Whether a branch may have a minion asked for this function."""
    return fun in LOOKERS and fun not in _TELLS_TOO_MUCH


def with_facts(request: CompileRequest, answers: FreshAnswers) -> CompileRequest:
    """The request with these answers, too; they take the place of recorded ones."""
    new = {name: {**request.facts.get(name, {}), **some} for name, some in answers.items()}
    return replace(request, facts={**request.facts, **new})


@dataclass(frozen=True, slots=True)
class PreviewCompiles:
    """Compiles with the recorded answers, and again with those that were missing.

    Args:
        compiler: compiles for previews alone.
        facts: asks minions.
        processes: of the compiler.
    """

    compiler: CompilePort
    facts: FactQueries
    processes: int = 1

    async def compile(self, request: CompileRequest, budget: CompileBudget, *, ask: bool) -> list[CompiledMinion]:
        """Answers in the order of the request's minions.

        Those that are not ok and have `unanswered` questions lack answers that nobody gives. `ask`: whether minions are
        asked, else what is recorded has to do.
        """
        found = {each.minion_id: each for each in await self.compiler.compile(request, budget)}
        for _ in range(ROUNDS if ask else 0):
            answers = await self._answers(found)
            if not answers:
                break
            request = with_facts(request, answers)
            some = tuple(minion for minion in request.minions if minion.id in answers)
            again = await self.compiler.compile(replace(request, minions=some), budget)
            found |= {each.minion_id: each for each in again}
        return [found[minion.id] for minion in request.minions]

    async def asked_anew(self, minions: Collection[str]) -> FreshAnswers:
        """What connected minions answer now to the questions that their documents stand on: a merge asks them, too.

        Those that a preview does not ask keep their recorded answers.
        """
        return await self._asked(
            {
                name: [question for question in questions if may_ask_in_preview(question.fun)]
                for name, questions in self.facts.repeatable(minions).items()
            }
        )

    async def _answers(self, found: Mapping[str, CompiledMinion]) -> FreshAnswers:
        """Minion -> what it answers; those that answer nothing left out."""
        questions = {
            name: [question for question in each.unanswered if may_ask_in_preview(question.fun)][:MOST_QUESTIONS]
            for name, each in found.items()
            if not each.ok
        }
        return await self._asked(questions)

    async def _asked(self, questions: Mapping[str, Sequence[FactQuery]]) -> FreshAnswers:
        asked = [name for name, some in questions.items() if some]
        given = await asyncio.gather(*(self.facts.ask(name, questions[name]) for name in asked))
        return {name: answers for name, answers in zip(asked, given, strict=True) if answers}
