"""How often somebody may ask: token buckets, one for each. Called by the API's port."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import NamedTuple

from cachetools import LRUCache

_NETWORK_BITS = 64
"""Of an IPv6 address, that one customer has whole."""


class _Bucket(NamedTuple):
    left: float
    at: float


class Rates:
    """Buckets that are filled evenly; of more than `most`, those that were asked for longest ago are full again.

    Args:
        per_second: that each gets back.
        burst: that each holds.
        most: that are remembered.
        clock: seconds, which do not go back.
    """

    def __init__(self, per_second: float, burst: float, most: int, clock: Callable[[], float]) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._buckets: LRUCache[str, _Bucket] = LRUCache(maxsize=most)

    def take(self, who: str) -> float:
        """Take one; 0.0, or the seconds until there is one again."""
        left = self.left(who)
        if left < 1.0:
            return (1.0 - left) / self._per_second
        self._buckets[who] = _Bucket(left - 1.0, self._clock())
        return 0.0

    def left(self, who: str) -> float:
        """What is in a bucket."""
        now = self._clock()
        found = self._buckets.get(who)
        return self._burst if found is None else min(self._burst, found.left + (now - found.at) * self._per_second)

    def wait(self, who: str) -> float:
        """The seconds until there is one, which is not taken; 0.0 when there is."""
        return max(0.0, (1.0 - self.left(who)) / self._per_second)


def network_of(address: str) -> str:
    """What counts as one address: an IPv4 address, also where IPv6 carries it, or an IPv6 /64 network."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((int(found), _NETWORK_BITS), strict=False))
