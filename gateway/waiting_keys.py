"""Keys that wait to be accepted: shown to the controller, each by a connection of its own, and kept nowhere.

Whoever reaches the port can show keys, so there are no more than so many, in all and of one network. Of several keys
for one id the first one waits and the others are denied, as by a master; the controller is shown them all, so that a
person can accept any of them.

Source: `AuthFuncs._auth` in `salt/master.py`.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from gateway.known_minions import KnownMinion
from gateway.limits import GatewayLimits
from gateway.minions.link import ControllerSide, StockLink, take_nothing
from wire.messages import KeepAlive, KeyRequest

GONE_SECONDS = 60.0
"""Since a minion came last with its key, until it may make room for another of its network; it comes every 10 s."""
_AUTOSIGN_GRAINS = 20
_AUTOSIGN_VALUE = 1024


class WaitingKey:
    """One of them.

    Args:
        known: the minion and its keys.
        network: that it came from first.
        side: see `ControllerSide`.
    """

    def __init__(self, known: KnownMinion, network: str, side: ControllerSide) -> None:
        self.known = known
        self.network = network
        self.asked = time.monotonic()
        """When it came last."""
        self._autosign_grains: dict[str, str] = {}
        self._link = StockLink(
            known.id,
            side,
            known.wire_keys,
            pem=known.key.pem,
            key_request=self._key_request,
            hello=lambda: None,
            keep_alive=lambda: KeepAlive(),
            take=take_nothing,
        )
        self.task = asyncio.get_running_loop().create_task(self._link.serve())

    @property
    def state(self) -> str:
        """See `StockLink.key_state`."""
        return self._link.key_state

    @property
    def is_here(self) -> bool:
        """Whether its minion has come of late."""
        return time.monotonic() - self.asked < GONE_SECONDS

    async def decided(self, grains: Mapping[str, Any], seconds: float) -> str:
        """What the controller says of the key, which is shown with these grains."""
        self.asked = time.monotonic()
        self._autosign_grains = {
            str(name)[:256]: str(value)[:_AUTOSIGN_VALUE] for name, value in list(grains.items())[:_AUTOSIGN_GRAINS]
        }
        return await self._link.known_key_state(seconds)

    async def close(self) -> None:
        """Show it no more."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    def _key_request(self, _accepted: bool) -> KeyRequest:
        return KeyRequest(id=self.known.id, autosign_grains=self._autosign_grains)


class WaitingKeys:
    """All of them.

    Args:
        side: see `ControllerSide`.
        limits: how many there may be.
    """

    def __init__(self, side: ControllerSide, limits: GatewayLimits) -> None:
        self._side = side
        self._limits = limits
        self._by_id: dict[str, dict[str, WaitingKey]] = {}
        """Id -> key -> what waits, the first one first."""

    def __iter__(self) -> Iterator[WaitingKey]:
        return iter([each for of_id in self._by_id.values() for each in of_id.values()])

    def get(self, minion_id: str, pem: str) -> WaitingKey | None:
        """What waits for this id with this key."""
        return self._by_id.get(minion_id, {}).get(pem)

    def is_denied(self, waiting: WaitingKey) -> bool:
        """Whether another key for the id came before."""
        return next(iter(self._by_id[waiting.known.id].values())) is not waiting

    async def add(self, known: KnownMinion, network: str) -> WaitingKey | None:
        """Show another key; None: there is no room for one of this network."""
        if not await self._make_room(network):
            return None
        waiting = self._by_id.setdefault(known.id, {})[known.key.pem] = WaitingKey(known, network, self._side)
        return waiting

    async def remove(self, waiting: WaitingKey) -> None:
        """Show it no more: it was accepted, or makes room."""
        of_id = self._by_id.get(waiting.known.id, {})
        if of_id.pop(waiting.known.key.pem, None) is not None and not of_id:
            del self._by_id[waiting.known.id]
        await waiting.close()

    async def _make_room(self, network: str) -> bool:
        """Whether one of this network may wait; where there are too many, one of the busiest network has to go."""
        waiting = list(self)
        if len(waiting) < self._limits.waiting_keys:
            return True
        of_network = Counter(each.network for each in waiting)
        busiest, count = of_network.most_common(1)[0]
        if count <= of_network[network] + 1:
            busiest = network
        oldest = min((each for each in waiting if each.network == busiest), key=lambda each: each.asked, default=None)
        if oldest is None or (busiest == network and time.monotonic() - oldest.asked < GONE_SECONDS):
            return False
        await self.remove(oldest)
        return True
