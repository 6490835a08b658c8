"""Actions after a batch of messages is stored: replies are sent, and waiters get their results."""

from __future__ import annotations

from collections.abc import Callable


class AfterCommit:
    """Acts that wait for a transaction, in order."""

    def __init__(self) -> None:
        self._acts: list[Callable[[], object]] = []

    def __len__(self) -> int:
        return len(self._acts)

    def add(self, act: Callable[[], object]) -> None:
        """Do this once all is stored."""
        self._acts.append(act)

    def drop(self, after: int = 0) -> None:
        """Forget the acts that were added after the first so many."""
        del self._acts[after:]

    def run(self) -> None:
        """All is stored: do what waits."""
        acts, self._acts = self._acts, []
        for act in acts:
            act()
