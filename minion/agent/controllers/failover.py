"""Which controller a minion talks to, where it talks to one at a time. Pure: it counts and chooses, nothing more.

Called by `minion.agent.controllers.links`. Names and meanings are Salt's (`master_type: failover`): the list is gone
through in its order, from the one that failed to the next; `master_tries` counts whole rounds. Other than in Salt, a
controller that is gone is noticed without `master_alive_interval`, and rounds have no limit unless one is written.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

ROUND_PAUSES = (0.5, 1.0, 2.0, 5.0)
"""Seconds after a round through the list in which nobody was reached; the last is repeated."""


def order_of(
    names: Sequence[str],
    *,
    kind: str,
    minion_id: str,
    shuffle: Callable[[list[str]], None] | None,
    failback: bool,
) -> tuple[str, ...]:
    """The list as this minion goes through it.

    Args:
        names: as `master` has them.
        kind: `master_type`.
        minion_id: by which `distributed` chooses the first.
        shuffle: brings a list into an order by chance; None: it stays.
        failback: whether the first stays the first in any case, since the minion goes back to it.
    """
    found = list(names)
    if kind == "distributed":
        first = found.pop(zlib.crc32(minion_id.encode()) % len(found))
        found.insert(0, first)
    if shuffle is not None:
        fixed = 1 if failback or kind == "distributed" else 0
        rest = found[fixed:]
        shuffle(rest)
        found[fixed:] = rest
    return tuple(found)


class FailoverChoice:
    """The controller of the list that is talked to, or tried.

    Args:
        order: names; at least one.
        tries: rounds without a connection until it is given up; -1: never.
    """

    def __init__(self, order: Sequence[str], tries: int = -1) -> None:
        self.order = tuple(order)
        self._tries = tries
        self._at = 0
        self._failed_in_round = 0
        self.rounds = 0
        """In which nobody was reached, in a row."""

    @property
    def current(self) -> str:
        """Its name."""
        return self.order[self._at]

    @property
    def given_up(self) -> bool:
        """Whether there were as many rounds as may be."""
        return 0 < self._tries <= self.rounds

    def failed(self) -> float:
        """The current one cannot be reached, or does not let the minion in: seconds until the next is tried."""
        self._at = (self._at + 1) % len(self.order)
        self._failed_in_round += 1
        if self._failed_in_round < len(self.order):
            return 0.0
        self._failed_in_round = 0
        self.rounds += 1
        return ROUND_PAUSES[min(self.rounds, len(ROUND_PAUSES)) - 1]

    def reached(self, name: str) -> None:
        """The minion talks to this one."""
        self._at = self.order.index(name)
        self._failed_in_round = self.rounds = 0
