"""How much of what was sent waits for peers to read it, all of them together: who has more to send can wait with it.

Filled in the server's thread by `wire.server.sending`, and by `wire.server.server` when something is handed to it;
read from any thread. A bound of each connection alone (`unread_bytes`) is none of a fleet of ten thousand.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from wire.server.connection_watch import bytes_acknowledged
from wire.server.peers import PeerConnection
from wire.server.relayed_channels import RelayedChannel

Peer: TypeAlias = PeerConnection | RelayedChannel

LEAST = 16 * 1024
"""Bytes of a message that is counted, and of what may still wait when a peer counts as having read it."""
LOOK_SECONDS = 0.02
"""Between two looks at how much has been read, or `LOOK_SHARE` times as long as the last one took."""
LOOK_SHARE = 20
IDLE_SECONDS = 5.0
"""A peer that has not read `LEAST` bytes for so long is not counted: what waits for it is bounded for itself, and it
shall not keep others from what they wait for."""


@dataclass(slots=True)
class _Waiting:
    """What waits for a peer."""

    sent: int
    """Bytes that count as read once its system has received as many."""
    unread: int
    moved_at: float
    """When it was last seen to have read `LEAST` bytes more, by the monotonic clock."""
    acknowledged: int = 0
    """What its system had received then."""


class UnreadBytes:
    """The messages of at least `LEAST` bytes that are on their way.

    Args:
        peer: what reaches a key now.
    """

    def __init__(self, peer: Callable[[str], Peer | None]) -> None:
        self._peer = peer
        self._waiting: dict[Peer, _Waiting] = {}
        self._look_at = 0.0
        """When to look again, by the monotonic clock."""
        self._measured = 0
        self._queued = 0
        """Bytes that were handed over and not sent."""
        self._lock = threading.Lock()

    @property
    def total(self) -> int:
        """Bytes that wait for all peers."""
        return self._queued + self._measured

    def of(self, key: str) -> int:
        """Bytes that wait for this key, as of now, without those that were only just handed over."""
        peer = self._peer(key)
        found = self._waiting.get(peer) if peer is not None else None
        if peer is None or found is None:
            return 0
        return peer.waiting_bytes if isinstance(peer, RelayedChannel) else found.sent - _acknowledged(peer)

    def queued(self, size: int) -> None:
        """A message was handed over (negative: is sent now, or will not be)."""
        if abs(size) >= LEAST:
            with self._lock:
                self._queued += size

    # --- in the server's thread

    def sent(self, peer: Peer, size: int) -> None:
        """A message was given to libzmq, or to what seals for a relay."""
        known = self._waiting.get(peer)
        if known is None:
            if size < LEAST:
                return
            # What the kernel has counted until now holds handshake and envelopes, too.
            start = _acknowledged(peer)
            known = self._waiting[peer] = _Waiting(start, 0, time.monotonic(), start)
        known.sent += size
        known.unread += size
        self._measured += size

    def wait_milliseconds(self) -> int:
        """When to look again; -1: nothing waits."""
        return int(LOOK_SECONDS * 1000) if self._waiting else -1

    def look(self) -> None:
        """Find out how much has been read, where it is time."""
        now = time.monotonic()
        if not self._waiting or now < self._look_at:
            return
        total = 0
        for peer, waiting in list(self._waiting.items()):
            if peer.ended or self._peer(peer.key) is not peer or not _still_unread(peer, waiting, now):
                del self._waiting[peer]
            elif now < waiting.moved_at + IDLE_SECONDS:
                total += waiting.unread
        self._measured = total
        self._look_at = now + max(LOOK_SECONDS, LOOK_SHARE * (time.monotonic() - now))


def _still_unread(peer: Peer, waiting: _Waiting, now: float) -> bool:
    acknowledged = _acknowledged(peer)
    if acknowledged >= waiting.acknowledged + LEAST:
        waiting.acknowledged, waiting.moved_at = acknowledged, now
    waiting.unread = peer.waiting_bytes if isinstance(peer, RelayedChannel) else waiting.sent - acknowledged
    return waiting.unread >= LEAST


def _acknowledged(peer: Peer) -> int:
    """What its system has received; what counts of a minion behind a relay was sealed for it."""
    if isinstance(peer, RelayedChannel):
        return peer.sent
    try:
        return bytes_acknowledged(peer.number)
    except OSError:
        return peer.sent  # it is over, as libzmq will tell
