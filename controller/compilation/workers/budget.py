"""What one asker may take of the compile processes.

Called by whoever compiles for previews and pull requests, and by the pool for each answer.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable

from controller.compilation.compile_messages import CompiledMinion
from highstate.types import Pos, Problem, Stage


class CompileBudget:
    """What one asker may take.

    Args:
        count: of minions that take longer than the timeout of the pool; then the others are not compiled.
        most_bytes: of documents that the asker has got and not released; further ones are errors.
    """

    def __init__(self, count: int, most_bytes: int = sys.maxsize) -> None:
        self.count = count
        self.left = count
        self.most_bytes = most_bytes
        self.refused: set[str] = set()
        """Minions of which a document was too large beside the others."""
        self._held = 0
        self._lock = threading.Lock()

    @property
    def spent(self) -> bool:
        """Whether nothing more is compiled."""
        return self.left <= 0

    def admitted(self, found: CompiledMinion) -> CompiledMinion:
        """The answer, or an error where its document is too much beside those that are held. From any thread."""
        with self._lock:
            if self._held + len(found.document) <= self.most_bytes:
                self._held += len(found.document)
                return found
            self.refused.add(found.minion_id)
        return _not_held(found.minion_id, self)

    def release(self, found: Iterable[CompiledMinion]) -> None:
        """These were admitted, and are not held any more."""
        size = sum(len(each.document) for each in found)
        with self._lock:
            self._held -= size


def _not_held(minion_id: str, budget: CompileBudget) -> CompiledMinion:
    problem = Problem(
        message=f"the document of {minion_id} is too large beside those that are compared with it: together they are "
        f"more than {budget.most_bytes} bytes",
        pos=Pos(file="top.sls", stage=Stage.COMPILE),
        hint="raise waiting_bytes of preview in the option limits",
    )
    return CompiledMinion(minion_id=minion_id, errors=(problem,))


def not_compiled(minion_id: str, budget: CompileBudget) -> CompiledMinion:
    """The error of a minion that comes after the budget is spent."""
    problem = Problem(
        message=f"{minion_id} was not compiled: {budget.count} other minions took too long",
        pos=Pos(file="top.sls", stage=Stage.RENDER),
        hint="look at their errors first",
    )
    return CompiledMinion(minion_id=minion_id, errors=(problem,))
