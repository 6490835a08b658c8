"""Sends to minions behind relays: seals what waits for them, within what they and their relay have room for.

Used by `wire.server.sending` and `wire.server.server`, in the server's thread. What a minion or a relay has not taken
is kept back here, message by message: a minion that does not read takes no room from others of its relay.
"""

from __future__ import annotations

from collections.abc import Iterator

from wire.limits import WireLimits
from wire.messages import MOST_RELAYED, RelayedFrame
from wire.sealed.session import PIECE_BYTES, WINDOW, PieceKind, cost_of_piece
from wire.server.relayed_channels import RelayedChannel, RelayedChannels, RelayLine

MESSAGE_BYTES = 512 * 1024
"""Of frames in one message to a relay, but for the last."""

TOLD_AFTER = 512 * 1024
"""Bytes that were read of a relay before it is told, where nothing goes to it."""


class RelayedSending:
    """What goes to minions behind relays.

    Args:
        channels: of all relays.
        borders: how much may wait for a minion, and for a relay.
    """

    def __init__(self, channels: RelayedChannels, borders: WireLimits) -> None:
        self._channels = channels
        self._borders = borders

    def put(self, channel: RelayedChannel, frame: bytes, *, accepted: bool) -> bool:
        """Queue a message; False when the minion does not read what it is sent."""
        if channel.waiting_bytes > self._borders.minion.unread_bytes + channel.largest:
            return False
        if accepted:
            self.tell_accepted(channel)
        channel.largest = max(channel.largest, len(frame))
        channel.waiting.append(frame)
        channel.waiting_bytes += len(frame)
        self.look(channel)
        return True

    def tell_accepted(self, channel: RelayedChannel) -> None:
        """Have the relay carry as much of this minion as an accepted one may send."""
        if not channel.accepted_told:
            channel.accepted_told = True
            channel.line.add(channel.number, "accepted")

    def look(self, channel: RelayedChannel) -> None:
        """Give the channel its turn, if something waits for it and it has room."""
        if channel.waiting and not channel.ready and _room(channel) > 0:
            channel.ready = True
            channel.line.ready.append(channel)

    def packed(self, line: RelayLine) -> Iterator[tuple[RelayedFrame, ...]]:
        """Seal what may go to a relay now, and give it in messages of a bounded size."""
        while line.ready and line.sent - line.taken < self._borders.relay.unread_bytes:
            channel = line.ready.popleft()
            channel.ready = False
            if not channel.ended:
                _seal_one(channel)
                self.look(channel)
        frames, line.frames = line.frames, []
        if not frames and line.read - line.read_told >= TOLD_AFTER:
            return iter(((),))
        return _messages(frames)


def _seal_one(channel: RelayedChannel) -> None:
    message, start = channel.waiting[0], channel.begun
    end = start + PIECE_BYTES
    more = end < len(message)
    part = memoryview(message)[start:end] if more or start else message
    piece = channel.session.seal(part, PieceKind.MORE if more else PieceKind.LAST)
    channel.waiting_bytes -= len(part)
    channel.begun = end if more else 0
    if not more:
        channel.waiting.popleft()
    channel.sent += cost_of_piece(len(piece))
    channel.line.add(channel.number, "data", piece)


def _room(channel: RelayedChannel) -> int:
    return WINDOW - (channel.sent - channel.session.taken_there)


def _messages(frames: list[RelayedFrame]) -> Iterator[tuple[RelayedFrame, ...]]:
    begin = size = 0
    for position, frame in enumerate(frames):
        if position > begin and (size + len(frame.data) > MESSAGE_BYTES or position - begin >= MOST_RELAYED):
            yield tuple(frames[begin:position])
            begin, size = position, 0
        size += len(frame.data)
    if begin < len(frames):
        yield tuple(frames[begin:])
