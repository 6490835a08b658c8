"""How many connections there may be, in all and of one address. Pure: opens and ends none.

Used for connections of minions that are passed on (`controller.cluster.splice`).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Held = TypeVar("Held", bound=Hashable)


class Places(Generic[Held]):
    """Those that are there.

    Args:
        most: of them.
        most_of_address: of one address.
    """

    def __init__(self, most: int, most_of_address: int) -> None:
        self._most = most
        self._most_of_address = most_of_address
        self._count = 0
        self._by_address: dict[str, dict[Held, None]] = {}
        """Those of an address, the newest last."""

    def __len__(self) -> int:
        return self._count

    def all(self) -> list[Held]:
        """All of them."""
        return [each for held in self._by_address.values() for each in held]

    def has(self, address: str, item: Held) -> bool:
        """Whether it has a place."""
        return item in self._by_address.get(address, ())

    def add(self, address: str, item: Held) -> tuple[str, Held | None]:
        """Give it a place: the limit that was reached (empty: none), and the one that made room for it.

        When all places are taken, the newest of the address with the most of them makes room; where that is the
        address of the new one, or has no more, the new one is refused.
        """
        own = len(self._by_address.get(address, ()))
        if own >= self._most_of_address:
            return "address-connections", None
        dispensable = None
        if self._count >= self._most:
            busiest = max(self._by_address, key=lambda each: len(self._by_address[each]))
            if len(self._by_address[busiest]) <= own + 1:
                return "connections", None
            dispensable = next(reversed(self._by_address[busiest]))
            self.remove(busiest, dispensable)
        self._by_address.setdefault(address, {})[item] = None
        self._count += 1
        return ("connections" if dispensable is not None else ""), dispensable

    def remove(self, address: str, item: Held) -> None:
        """Its place is free; nothing when it has none."""
        held = self._by_address.get(address)
        if held is None or item not in held:
            return
        del held[item]
        self._count -= 1
        if not held:
            del self._by_address[address]
