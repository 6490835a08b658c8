"""The controllers that a gateway may connect to, and the one that it uses.

They share a database, or are relays before one controller: to the gateway they are one. Its own link finds out which
of them is used (`gateway.controller_watch`), as a minion with `master_type: failover` does; all other links follow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from minion.agent.controllers.failover import FailoverChoice
from wire.address import Address
from wire.client import Timing

SILENCE = 60.0
"""Seconds without a sign of life until the controller is gone: a process with many minions may be busy."""

SHORTEST_HANDSHAKE = 5.0
"""Seconds that a controller has for one at the least: it may be busy with those of others."""


class ControllerPlaces:
    """The addresses of the controllers, and the choice among them.

    Args:
        addresses: of each by its name, in the order of the configuration; at least one.
        alive_interval: seconds between two signs of life that the gateway's own link asks for, which finds a controller
            gone that has been silent for twice as long; 0: as the links of minions do.
    """

    def __init__(self, addresses: Mapping[str, Address], *, alive_interval: float = 0.0) -> None:
        self._addresses = dict(addresses)
        self._choice = FailoverChoice(list(addresses))
        self.own_timing = self.timing = Timing(silence=SILENCE)
        """Of the gateway's own link, which the others follow, and of these."""
        if alive_interval:
            silence = 2 * alive_interval
            # One that is frozen lets itself be dialled, and answers no handshake.
            handshake = min(self.timing.handshake, max(silence, SHORTEST_HANDSHAKE))
            self.own_timing = Timing(heartbeat=alive_interval, silence=silence, handshake=handshake)
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
