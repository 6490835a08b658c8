"""The controllers that a gateway may connect to, and the one that it uses.

They share a database, or are relays before one controller: to the gateway they are one. Its own link finds out which
of them is used (`gateway.controller_watch`), as a minion with `master_type: failover` does; all other links follow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from minion.agent.controllers.failover import FailoverChoice
from wire.address import Address


class ControllerPlaces:
    """The addresses of the controllers, and the choice among them.

    Args:
        addresses: of each by its name, in the order of the configuration; at least one.
    """

    def __init__(self, addresses: Mapping[str, Address]) -> None:
        self._addresses = dict(addresses)
        self._choice = FailoverChoice(list(addresses))
        self.reached = ""
        """Name of the controller that answers now; empty: none does."""
        self.pause = 0.0
        """Seconds until the current one is dialled, since the one before has failed."""
        self.followers: set[Callable[[], None]] = set()
        """Called when another controller is to be dialled, or has answered."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all controllers, in the order in which they are tried."""
        return self._choice.order

    @property
    def current(self) -> str:
        """Name of the controller that is used, or tried now."""
        return self._choice.current

    @property
    def address(self) -> Address:
        """Address of the current controller."""
        return self._addresses[self._choice.current]

    def failed(self) -> None:
        """The current one cannot be reached: the next is dialled."""
        self.pause = self._choice.failed()
        self._tell()

    def answered(self) -> None:
        """The current one has answered."""
        self._choice.reached(self._choice.current)
        self.reached = self._choice.current
        self._tell()

    def lost(self) -> None:
        """The connection to the controller was lost."""
        self.reached = ""

    def _tell(self) -> None:
        for follow in list(self.followers):
            follow()
