"""Deliveries of the wire that wait for the loop: a queue for each peer, served in turn (deficit round robin).

Called by `controller.messages.backpressure`. A peer that sends many or large messages waits behind its own; others wait
for one quantum of them. Deliveries of one peer stay in their order. Peers may be parked: their deliveries wait, and
those of others are taken. Knows no thread and no clock.

Shreedhar and Varghese, "Efficient fair queueing using deficit round robin", SIGCOMM 1995.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from wire.limits import MinionLimits
from wire.server.types import Delivery, Gone, Incoming
from wire.values import most_memory

QUANTUM = 16
"""Cost that a peer may take in one round."""

BYTES_OF_ONE = 16 * 1024
"""A message costs one, and one more for each so many bytes."""


@dataclass(slots=True)
class _Peer:
    waiting: deque[Delivery] = field(default_factory=deque)
    deficit: int = 0
    memory: int = 0
    """Bytes that its deliveries take at most."""


class FairQueue:
    """The queues.

    Args:
        limits: of the messages in them.
    """

    def __init__(self, limits: MinionLimits | None = None) -> None:
        self._limits = limits or MinionLimits()
        self._peers: OrderedDict[str, _Peer] = OrderedDict()
        self._parked: dict[str, _Peer] = {}
        self._length = 0
        self.memory = 0
        """Bytes that the deliveries of peers that are not parked take at most."""

    def __len__(self) -> int:
        """Deliveries of peers that are not parked."""
        return self._length

    def longest(self) -> int:
        """Deliveries of the peer, of those that are not parked, that most are waiting of."""
        return max((len(peer.waiting) for peer in self._peers.values()), default=0)

    def put(self, batch: Iterable[Delivery]) -> int:
        """Add deliveries; how many wait of the one of these peers, but for parked ones, that most are waiting of."""
        longest = 0
        for delivery in batch:
            key, memory = delivery.key or "", self._memory_of(delivery)
            peer = self._parked.get(key)
            if peer is None:
                peer = self._peers.setdefault(key, _Peer())
                self._length += 1
                self.memory += memory
                longest = max(longest, len(peer.waiting) + 1)
            peer.waiting.append(delivery)
            peer.memory += memory
        return longest

    def park(self, key: str) -> None:
        """Let the deliveries of a peer wait, those too that come later, until `unpark`."""
        if key not in self._parked:
            peer = self._parked[key] = self._peers.pop(key) if key in self._peers else _Peer()
            self._length -= len(peer.waiting)
            self.memory -= peer.memory

    def unpark(self, key: str) -> None:
        """The peer has its turn among the others again."""
        peer = self._parked.pop(key, None)
        if peer is not None and peer.waiting:
            self._peers[key] = peer
            self._length += len(peer.waiting)
            self.memory += peer.memory

    def drop_excess(self) -> list[str]:
        """Drop messages of peers until all deliveries are within the limits; the keys of these peers.

        Of parked peers, those with too many messages and then those with the largest; then of those that have several
        messages and more than half of the memory that all may take. That a peer is gone is kept.
        """
        over = [key for key, peer in self._parked.items() if len(peer.waiting) > self._limits.queued_messages]
        total = self.memory + sum(peer.memory for key, peer in self._parked.items() if key not in over)
        largest = sorted(self._parked.keys() - set(over), key=lambda key: self._parked[key].memory)
        while total > self._limits.queued_bytes and largest and self._parked[largest[-1]].memory:
            over.append(largest.pop())
            total -= self._parked[over[-1]].memory
        for key in over:
            self._parked[key] = _without_messages(self._parked[key])
        while total > self._limits.queued_bytes and (hoarder := self._hoarder()) is not None:
            peer = self._peers.pop(hoarder)
            left = _without_messages(peer)
            if left.waiting:
                self._peers[hoarder] = left
            self._length -= len(peer.waiting) - len(left.waiting)
            self.memory -= peer.memory
            total -= peer.memory
            over.append(hoarder)
        return over

    def is_parked(self, key: str) -> bool:
        """Whether the deliveries of a peer wait until `unpark`."""
        return key in self._parked

    def _hoarder(self) -> str | None:
        """The peer that is not parked and holds most, if that is several messages and more than half of the limit."""
        several = [key for key, peer in self._peers.items() if len(peer.waiting) > 1]
        largest = max(several, key=lambda key: self._peers[key].memory, default=None)
        if largest is None or self._peers[largest].memory <= self._limits.queued_bytes / 2:
            return None
        return largest

    def take(self, most: int, memory: int = 2**63) -> list[Delivery]:
        """The next deliveries, `most` at the most, and no more of them once they may take `memory` bytes."""
        taken: list[Delivery] = []
        least = self.memory - memory
        while self._peers and len(taken) < most and self.memory > least:
            key, peer = next(iter(self._peers.items()))
            if peer.deficit <= 0:
                peer.deficit += QUANTUM
            while peer.waiting and peer.deficit > 0 and len(taken) < most and self.memory > least:
                taken.append(peer.waiting.popleft())
                memory_of_one = self._memory_of(taken[-1])
                self.memory -= memory_of_one
                peer.memory -= memory_of_one
                peer.deficit -= cost_of(taken[-1])
            if not peer.waiting:
                del self._peers[key]
            elif peer.deficit <= 0:
                self._peers.move_to_end(key)
        self._length -= len(taken)
        return taken

    def _memory_of(self, delivery: Delivery) -> int:
        return most_memory(delivery.size, self._limits) if isinstance(delivery, Incoming) else 0


def _without_messages(peer: _Peer) -> _Peer:
    """What is kept of a peer whose messages are dropped: that it is gone."""
    gone = [each for each in peer.waiting if isinstance(each, Gone)]
    return _Peer(waiting=deque(gone[-1:]))


def cost_of(delivery: Delivery) -> int:
    """What a delivery costs of a quantum."""
    return 1 + delivery.size // BYTES_OF_ONE if isinstance(delivery, Incoming) else 1
