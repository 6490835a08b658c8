"""Calls that were sent and have no result yet, as the store has them: their results need not read them again.

Kept by `controller.store.run_tables.call_runs`. Whatever else changes a run forgets it here, and the store is asked
then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from controller.store.records import RunRecord

MOST_OPEN = 50_000
"""Calls that are kept ready; of more, the store is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCall:
    """A run of a function in the store."""

    seq: int
    run: RunRecord


class OpenCalls:
    """By run id."""

    def __init__(self) -> None:
        self._known: dict[str, KnownCall] = {}

    def remember(self, calls: Iterable[KnownCall]) -> None:
        """These are in the store, and open; the oldest are forgotten where there are too many."""
        for call in calls:
            self._known[call.run.run_id] = call
        for run_id in list(self._known)[: max(0, len(self._known) - MOST_OPEN)]:
            self.forget(run_id)

    def of(self, run_ids: Sequence[str]) -> dict[str, KnownCall]:
        """Those of these that are known."""
        return {run_id: self._known[run_id] for run_id in run_ids if run_id in self._known}

    def forget(self, run_id: str) -> None:
        """A run is no longer as it was when it was made."""
        self._known.pop(run_id, None)

    def forget_all(self) -> None:
        """What is known may not be in the store."""
        self._known.clear()
