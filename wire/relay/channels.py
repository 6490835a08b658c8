"""The minions that a relay carries: a channel for each connection, and which keys the controller has accepted.

Used by `wire.relay.relay` alone. Opens and closes nothing. An accepted key may send as much as a controller reads;
all others little and seldom.
"""

from __future__ import annotations

from dataclasses import dataclass

from wire.limits import RelayLimits
from wire.server.peers import PeerConnection
from wire.server.types import Identity

_ACCEPTED = Identity(id="", state="accepted")


@dataclass(slots=True, kw_only=True, eq=False)
class CarriedChannel:
    """The session of one connection."""

    connection: PeerConnection
    number: int
    accepted: bool = False
    tokens: float
    """Frames that it may send at once while its key is not accepted."""
    at: float


class CarriedChannels:
    """All channels; the `Registry` of the relay's port.

    Args:
        limits: of minions that are not accepted.
    """

    def __init__(self, limits: RelayLimits) -> None:
        self._limits = limits
        self._last = -1
        self._by_number: dict[int, CarriedChannel] = {}
        self._by_connection: dict[PeerConnection, CarriedChannel] = {}
        self._by_key: dict[str, CarriedChannel] = {}

    def __len__(self) -> int:
        return len(self._by_number)

    def identity(self, key: str) -> Identity | None:
        """See `wire.server.types.Registry`: whether the controller has accepted this key."""
        channel = self._by_key.get(key)
        return _ACCEPTED if channel is not None and channel.accepted else None

    def open(self, connection: PeerConnection, now: float) -> CarriedChannel:
        """A new channel for this connection."""
        self._last += 1
        channel = CarriedChannel(connection=connection, number=self._last, tokens=self._limits.stranger_frames, at=now)
        self._by_number[channel.number] = channel
        self._by_connection[connection] = self._by_key[connection.key] = channel
        return channel

    def of(self, connection: PeerConnection) -> CarriedChannel | None:
        """The channel of a connection."""
        return self._by_connection.get(connection)

    def of_key(self, key: str) -> CarriedChannel | None:
        """The channel that was opened last by this key."""
        return self._by_key.get(key)

    def numbered(self, number: int) -> CarriedChannel | None:
        """The channel with this number."""
        return self._by_number.get(number)

    def all(self) -> tuple[CarriedChannel, ...]:
        """All of them."""
        return tuple(self._by_number.values())

    def close(self, channel: CarriedChannel) -> None:
        """The channel is over."""
        self._by_number.pop(channel.number, None)
        if self._by_connection.get(channel.connection) is channel:
            del self._by_connection[channel.connection]
        if self._by_key.get(channel.connection.key) is channel:
            del self._by_key[channel.connection.key]

    def may_send(self, channel: CarriedChannel, now: float) -> bool:
        """Whether a frame of the channel is carried now."""
        if channel.accepted:
            return True
        limits = self._limits
        earned = (now - channel.at) * limits.stranger_frames_a_second
        channel.tokens = min(limits.stranger_frames, channel.tokens + earned)
        channel.at = now
        channel.tokens -= 1
        return channel.tokens >= 0
