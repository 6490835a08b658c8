"""Subscribers of the publish port, by connection.

Called by `wire.server.server` alone, from its thread. Opens and closes nothing. ZAP has let only accepted keys in, but
a key can be rejected afterwards, so the server must know whose connection it is.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class _Subscriber:
    key: str
    frames: int = 0
    """Frames received."""


class Subscribers:
    """The connections that have subscribed."""

    def __init__(self) -> None:
        self._by_number: dict[int, _Subscriber] = {}
        self._numbers: dict[str, set[int]] = {}
        """Key -> its connections."""

    def __len__(self) -> int:
        return len(self._by_number)

    def all(self) -> list[tuple[int, str]]:
        """(number of the connection, key) of each."""
        return [(number, subscriber.key) for number, subscriber in self._by_number.items()]

    def of(self, key: str) -> tuple[int, ...]:
        """Numbers of the connections of a key."""
        return tuple(self._numbers.get(key, ()))

    def record(self, key: str, number: int, frame: bytes, *, limit: int) -> bool:
        """Record a frame of a connection; False when it is more than subscriptions, or too many of them.

        Each subscription costs memory as long as the connection lasts, hence the limit.
        """
        subscriber = self._by_number.get(number)
        if subscriber is None or subscriber.key != key:
            self.closed(number)
            subscriber = self._by_number[number] = _Subscriber(key=key)
            self._numbers.setdefault(key, set()).add(number)
        subscriber.frames += 1
        return frame[:1] in (b"\x00", b"\x01") and subscriber.frames <= limit

    def closed(self, number: int) -> bool:
        """The connection has ended; False when it had never subscribed."""
        subscriber = self._by_number.pop(number, None)
        if subscriber is None:
            return False
        numbers = self._numbers[subscriber.key]
        numbers.discard(number)
        if not numbers:
            del self._numbers[subscriber.key]
        return True
