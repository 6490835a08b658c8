"""Which minions wait with their whole documents until the controller has room for more.

Ten thousand minions that all need their first document at once would otherwise have them in memory together, and send
their results before the first ones are handled. Used by `Reconciler`, which looks again at who is let in.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

LOOK_SECONDS = 0.05
"""Until it is looked again whether there is room."""


def _always() -> bool:
    return True


class Room:
    """The minions that wait, in the order in which they came.

    Args:
        is_free: whether a document may be sent now.
    """

    def __init__(self, is_free: Callable[[], bool] = _always) -> None:
        self.is_free = is_free
        self._waiting: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def wait(self, minion: str) -> None:
        """A document of this minion waits."""
        self._waiting.setdefault(minion)

    def leave(self, minion: str) -> None:
        """This minion is looked at: nothing of it waits unless it is said anew."""
        self._waiting.pop(minion, None)

    def next(self, most: int) -> list[str]:
        """Whom to look at now that there is room."""
        return list(islice(self._waiting, most)) if self._waiting and self.is_free() else []

    def first(self) -> str | None:
        """Who has waited for longest; None: nobody waits."""
        return next(iter(self._waiting), None)
