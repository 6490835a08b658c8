"""Bounds of what a compile worker says beside the document: it is stored, shown, searched and asked of machines.

Called by `process` with each answer, in the thread that reads it. Errors and warnings are cut, as a broken tree may
well have many; of the rest an answer beyond a limit is not taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import msgspec

from controller.compilation.compile_messages import MOST_RENDERED, CompiledMinion
from controller.compilation.workers.channel import LimitExceeded
from controller.config.limits import CompileWorkerLimits
from highstate.types import Problem
from wire.messages import FactQuery

_CHAIN = 50
"""SLS names of a chain of includes that are kept."""
_CUT = " …"
_MOST_TEXT = 2 * MOST_RENDERED
"""Characters of rendered texts and of their names."""


def within_limits(answer: CompiledMinion, limits: CompileWorkerLimits) -> CompiledMinion:
    """The answer with no more errors and warnings than are kept. Raises LimitExceeded."""
    if len(answer.secrets) > limits.secrets:
        raise LimitExceeded("secrets")
    if sum(map(len, answer.secrets)) > limits.secret_characters:
        raise LimitExceeded("secret_characters")
    marks = [(query, mark) for query, mark in answer.fleet_marks]
    if len(answer.facts) + len(marks) + len(answer.unanswered) + len(answer.volatile) > limits.answers:
        raise LimitExceeded("answers")
    marked = sum(_length(query) + len(mark) for query, mark in marks)
    asked = sum(map(_length, (*answer.facts, *answer.unanswered)))
    if marked + asked + sum(map(len, answer.volatile)) > limits.answer_characters:
        raise LimitExceeded("answer_characters")
    if sum(len(file.text or "") + len(file.name) for state in answer.rendered for file in state.files) > _MOST_TEXT:
        raise LimitExceeded("answer_characters")
    return msgspec.structs.replace(
        answer, errors=_problems(answer.errors, limits), warnings=_problems(answer.warnings, limits)
    )


def _length(query: FactQuery) -> int:
    return len(query.fun) + len(query.asked)


def _problems(problems: tuple[Problem, ...], limits: CompileWorkerLimits) -> tuple[Problem, ...]:
    kept = tuple(_cut(each, limits.problem_characters) for each in problems[: limits.problems])
    if len(problems) <= limits.problems:
        return kept
    more = Problem(message=f"and {len(problems) - len(kept)} more, which are not shown", pos=kept[-1].pos)
    return (*kept, more)


def _cut(problem: Problem, most: int) -> Problem:
    pos = problem.pos
    texts = (problem.message, problem.excerpt, problem.hint, pos.file, pos.saltenv, *pos.include_chain)
    if len(pos.include_chain) <= _CHAIN and max(map(len, texts)) <= most:
        return problem
    message, excerpt, hint, file, saltenv, *chain = _shortened(texts, most)
    return replace(
        problem,
        message=message,
        excerpt=excerpt,
        hint=hint,
        pos=replace(pos, file=file, saltenv=saltenv, include_chain=tuple(chain[:_CHAIN])),
    )


def _shortened(texts: Iterable[str], most: int) -> list[str]:
    return [text if len(text) <= most else text[:most] + _CUT for text in texts]
