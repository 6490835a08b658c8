"""Looks at what a compile process has answered: whether it belongs to what was asked, and is no more than is taken.

Called by the controller, wherever the process runs, in the thread that has read the answer.
"""

from __future__ import annotations

import msgspec

from controller.compilation.compile_messages import CompiledMinion, CompileRequest
from controller.compilation.workers.answer_limits import within_limits
from controller.compilation.workers.document_check import MOST_LEVELS, DocumentCheck
from controller.config.limits import CompileWorkerLimits
from highstate.data_limits import is_shallow
from wire.patch import digest_of_packed

_MOST_LOOKUPS = 10_000_000
"""In the memo, of one minion."""


class AnswerCheck:
    """The checks for one process.

    Args:
        timeout: seconds that one minion may take.
        limits: what is taken from the process.
    """

    def __init__(self, timeout: float, limits: CompileWorkerLimits) -> None:
        self._timeout = timeout
        self._limits = limits
        self._documents = DocumentCheck()

    def checked(
        self, found: CompiledMinion, document: bytes, minion_id: str, request: CompileRequest
    ) -> CompiledMinion:
        """The answer with its document.

        Raises:
            ValueError, msgspec.MsgspecError: they do not belong together, or to what was asked.
            LimitExceeded: it is too much.
        """
        if found.minion_id != minion_id:
            raise ValueError(f"an answer about {found.minion_id!r}, and {minion_id} was asked for")
        if document:
            if found.digest != digest_of_packed(document):
                raise ValueError("a document that has another digest than its answer says")
            if request.states is not None and request.states.shows:
                _check_shown(document)
            else:
                self._documents.check(document)
        elif found.ok and minion_id not in request.rendering and found.digest != request.held.get(minion_id):
            raise ValueError("an answer without a document")
        seconds = found.seconds if 0.0 <= found.seconds <= self._timeout else self._timeout
        memo = {"memo_hits": _counted(found.memo_hits), "memo_misses": _counted(found.memo_misses)}
        return within_limits(msgspec.structs.replace(found, document=document, seconds=seconds, **memo), self._limits)


def _counted(number: int) -> int:
    """A number that is only counted: one that cannot be is 0."""
    return number if 0 <= number <= _MOST_LOOKUPS else 0


def _check_shown(packed: bytes) -> None:
    """msgspec.MsgspecError or ValueError for what is no plain value, or is nested too deeply."""
    if not is_shallow(msgspec.msgpack.decode(packed), MOST_LEVELS):
        raise ValueError(f"a value that is nested more than {MOST_LEVELS} levels deep")
