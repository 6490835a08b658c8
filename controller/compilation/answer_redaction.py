"""Takes secrets out of the answers of compile workers. Called by `builder` and by previews, before they are shown."""

from __future__ import annotations

from msgspec import structs

from controller.compilation.compile_messages import CompiledMinion
from controller.observe.redactor import Redactor


def redact_answer(answer: CompiledMinion, redactor: Redactor) -> CompiledMinion:
    """The answer with errors and warnings that may be shown; its document keeps the secrets, which the minion needs."""
    if not answer.errors and not answer.warnings:
        return answer
    errors = redactor.problems(answer.minion_id, answer.errors)
    return structs.replace(answer, errors=errors, warnings=redactor.problems(answer.minion_id, answer.warnings))
