"""Keys that wait for acceptance: how many there may be, and which one makes room for another.

Called by `KeyRegistry`, on the loop. Whoever reaches the port can make pending keys, so the list is bounded, in all and
for each address. When it is full, a key makes room that has not asked for `FORGOTTEN_AFTER`; else the newest key of the
address with the most pending keys. A key that keeps asking, from an address with few keys, keeps its place. Addresses
are known since the start of the controller.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from options.limits import CountRefusal, uncounted
from wire.limits import StrangerLimits, nobody

FORGOTTEN_AFTER = 3600.0
"""Seconds. A minion that waits for acceptance asks every 15 s."""


@dataclass(slots=True, kw_only=True)
class _Asked:
    address: str
    at: float


class PendingKeys:
    """The keys that wait, by who asked when.

    Args:
        limits: how many there may be.
        on_refusal: see `options.limits.CountRefusal`.
        is_controller: whether an address is that of another controller, through which many minions come: their keys
            count in all, and not for the address.
    """

    def __init__(
        self,
        limits: StrangerLimits,
        on_refusal: CountRefusal = uncounted,
        is_controller: Callable[[str], bool] = nobody,
    ) -> None:
        self._is_controller = is_controller
        self._limits = limits
        self._on_refusal = on_refusal
        self._asked: OrderedDict[str, _Asked] = OrderedDict()
        """The one that has not asked for longest first."""
        self._of_address: dict[str, dict[str, None]] = {}
        """Address -> its keys, the newest last."""

    def __len__(self) -> int:
        return len(self._asked)

    def reset(self, keys: Iterable[str]) -> None:
        """These keys wait, and no others."""
        now_pending = set(keys)
        for key in [key for key in self._asked if key not in now_pending]:
            self.remove(key)
        for key in now_pending - self._asked.keys():
            self._asked[key] = _Asked(address="", at=0.0)
            self._asked.move_to_end(key, last=False)
            self._of_address.setdefault("", {})[key] = None

    def ask(self, key: str, address: str, now: float) -> None:
        """A pending key asks, for the first time or again."""
        known = self._asked.pop(key, None)
        if known is not None and known.address and known.address != address:
            address = known.address  # it counts where it first came from
        elif known is None or known.address != address:
            if known is not None:
                self._leave(key, known.address)
            self._of_address.setdefault(address, {})[key] = None
        self._asked[key] = _Asked(address=address, at=now)

    def remove(self, key: str) -> None:
        """The key does not wait any more."""
        asked = self._asked.pop(key, None)
        if asked is not None:
            self._leave(key, asked.address)

    def make_room(self, address: str, now: float) -> str | None:
        """Which key must go so that a new one of this address can wait; empty: none; None: the new one is refused."""
        own = len(self._of_address.get(address, ()))
        if own >= self._limits.address_pending_keys and not self._is_controller(address):
            self._on_refusal("address-pending-keys")
            return None
        if len(self._asked) < self._limits.pending_keys:
            return ""
        self._on_refusal("pending-keys")
        oldest, asked = next(iter(self._asked.items()))
        if now - asked.at > FORGOTTEN_AFTER:
            return oldest
        busiest = max(self._of_address.values(), key=len)
        return next(reversed(busiest)) if len(busiest) > own + 1 else None

    def _leave(self, key: str, address: str) -> None:
        keys = self._of_address[address]
        del keys[key]
        if not keys:
            del self._of_address[address]
