"""Minions behind relays: the sealed session of each, and by which connection of a relay its frames go.

Used by `wire.server.connections`, `relayed_reception` and `relayed_sending`, in the thread of the server. Opens and
closes nothing. A channel is a minion's only after a frame of its session was opened; until then nobody is told of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from wire.messages import RelayedFrame
from wire.sealed.session import SealedSession, cost_of_piece
from wire.server.peers import SERIALS, PeerConnection
from wire.server.types import RelayCounts

ChannelEnd: TypeAlias = Literal["handshake", "busy", "ended", "broken", "overflow", "superseded", "upstream"]
"""Why a channel is over, as relays and minions are told. Nothing is decided by it but how long to wait."""


@dataclass(slots=True, kw_only=True, eq=False)
class RelayedChannel:
    """A minion behind a relay."""

    line: RelayLine
    number: int
    key: str
    session: SealedSession
    proved: bool = False
    """A frame of its session was opened: it is the minion with this key, now."""
    accepted_told: bool = False
    """The relay knows that the minion's key is accepted."""
    garbage: int = 0
    asked: float = float("-inf")
    """When its last key request came, by the monotonic clock."""
    waiting: deque[bytes] = field(default_factory=deque)
    """Messages for it that are not sealed yet."""
    begun: int = 0
    """Bytes of the first of them that are."""
    waiting_bytes: int = 0
    largest: int = 0
    """Bytes of the largest message to it."""
    sent: int = 0
    """What went to it, counted as in `wire.sealed.session.WINDOW`."""
    ready: bool = False
    """It is in `RelayLine.ready`."""
    ended: bool = False
    clean: bool = False
    """It said goodbye."""
    serial: int = field(default_factory=SERIALS.__next__)


@dataclass(slots=True, kw_only=True, eq=False)
class RelayLine:
    """The connection of a relay."""

    connection: PeerConnection
    relay: str
    """Id of the relay."""
    channels: dict[int, RelayedChannel] = field(default_factory=dict)
    unproved: dict[RelayedChannel, None] = field(default_factory=dict)
    """Those that were only opened, the oldest first."""
    last: int = -1
    """Number of the channel that was opened last."""
    openings: float = 0.0
    """How many may be opened at once."""
    openings_at: float = float("-inf")
    frames: list[RelayedFrame] = field(default_factory=list)
    """That go to the relay next."""
    ready: deque[RelayedChannel] = field(default_factory=deque)
    """Those for which something waits and that may have it, in turn."""
    sent: int = 0
    """Bytes of frames that were sent, counted as pieces."""
    taken: int = 0
    """Of these, what the relay has taken."""
    read: int = 0
    """Bytes of frames that came, counted as pieces."""
    read_told: int = 0
    """Of these, what the relay was told."""
    frames_in: int = 0
    frames_out: int = 0

    def add(self, number: int, kind: Literal["open", "data", "accepted", "end"], data: bytes = b"") -> None:
        """Send this frame at the end of the turn."""
        self.frames.append(RelayedFrame(channel=number, kind=kind, data=data))
        self.sent += cost_of_piece(len(data))
        self.frames_out += 1


def counts_of(line: RelayLine) -> RelayCounts:
    """What is told of a relay; for any thread."""
    channels = tuple(line.channels.values())
    return RelayCounts(
        relay=line.relay,
        minions=sum(channel.proved for channel in channels),
        frames_in=line.frames_in,
        frames_out=line.frames_out,
        waiting_bytes=sum(channel.waiting_bytes for channel in channels),
    )


class RelayedChannels:
    """The channels of all relays."""

    def __init__(self) -> None:
        self._lines: dict[PeerConnection, RelayLine] = {}
        self._by_key: dict[str, RelayedChannel] = {}

    def __len__(self) -> int:
        """Minions that are reached by a relay."""
        return len(self._by_key)

    def lines(self) -> Iterator[RelayLine]:
        """The connections of relays."""
        return iter(tuple(self._lines.values()))

    def get(self, key: str) -> RelayedChannel | None:
        """The channel that reaches this key."""
        return self._by_key.get(key)

    def line(self, connection: PeerConnection, relay: str) -> RelayLine:
        """That of a relay's connection, new where it has none."""
        line = self._lines.get(connection)
        if line is None:
            line = self._lines[connection] = RelayLine(connection=connection, relay=relay)
        return line

    def prove(self, channel: RelayedChannel) -> RelayedChannel | None:
        """The minion has proved its key: it is reached by this channel. The channel that reached it until now."""
        channel.proved = True
        channel.line.unproved.pop(channel, None)
        previous = self._by_key.get(channel.key)
        self._by_key[channel.key] = channel
        return previous

    def end(self, channel: RelayedChannel, why: ChannelEnd) -> bool:
        """The channel is over, and the relay is told; True when its key can no longer be reached."""
        if not channel.ended:
            channel.line.add(channel.number, "end", why.encode("ascii"))
        return self.forget(channel)

    def forget(self, channel: RelayedChannel) -> bool:
        """The channel is over, as the relay knows; True as above."""
        channel.ended = True
        channel.line.channels.pop(channel.number, None)
        channel.line.unproved.pop(channel, None)
        if self._by_key.get(channel.key) is not channel:
            return False
        del self._by_key[channel.key]
        return True

    def forget_line(self, connection: PeerConnection) -> list[str]:
        """The connection of a relay is over, if it was one; the keys that can no longer be reached."""
        line = self._lines.pop(connection, None)
        if line is None:
            return []
        return [channel.key for channel in tuple(line.channels.values()) if self.forget(channel)]
