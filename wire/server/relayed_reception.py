"""Reads what a relay carries: openings of sealed sessions, and their pieces.

Used by `wire.server.reception` in the server's thread. A relay is believed in nothing: who a minion is follows from
its session alone, and a frame that is not the next one of its session ends that session.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import assert_never

from wire.codec import MAX_TO_CONTROLLER
from wire.errors import SealBroken
from wire.keys import KeyPair
from wire.limits import WireLimits
from wire.messages import FromRelay, RelayedFrame
from wire.sealed.handshake import answer_opening, prologue_of
from wire.sealed.session import SEAL_BYTES, SealedSession, cost_of_piece
from wire.server.connections import Connections
from wire.server.delivery_batch import DeliveryBatch
from wire.server.peers import PeerConnection
from wire.server.relayed_channels import ChannelEnd, RelayedChannel, RelayLine
from wire.server.relayed_sending import RelayedSending
from wire.server.types import Identity, Limits, Registry, is_accepted

HandleFrame = Callable[[RelayedChannel, bytes | bytearray, Identity | None], None]


class RelayedReception:
    """What relays carry to one server.

    Args:
        keys: of the controller.
        connections: of relays, and the channels by them.
        sending: to minions that have taken something.
        batch: takes refusals.
        registry: says who a key is.
        limits: what one peer may cost.
        borders: what a relay may cost, and who counts what is refused.
        handle: takes a minion's frame that was opened.
    """

    def __init__(
        self,
        *,
        keys: KeyPair,
        connections: Connections,
        sending: RelayedSending,
        batch: DeliveryBatch,
        registry: Registry,
        limits: Limits,
        borders: WireLimits,
        handle: HandleFrame,
    ) -> None:
        self._keys = keys
        self._connections = connections
        self._sending = sending
        self._batch = batch
        self._registry = registry
        self._limits = limits
        self._borders = borders
        self._handle = handle

    def take(self, connection: PeerConnection, relay: str, message: FromRelay) -> bool:
        """Take the frames of a relay's message; False when no relay would send such a message."""
        line = self._connections.relayed.line(connection, relay)
        line.frames_in += len(message.frames)
        line.read += sum(cost_of_piece(len(frame.data)) for frame in message.frames)
        line.taken = min(line.sent, max(line.taken, message.taken))
        for frame in message.frames:
            if connection.ended:
                return True
            if not self._take_frame(line, frame):
                return False
        return True

    def _take_frame(self, line: RelayLine, frame: RelayedFrame) -> bool:
        channel = line.channels.get(frame.channel)
        match frame.kind:
            case "open":
                if frame.channel <= line.last:
                    return False
                line.last = frame.channel
                why = self._open(line, frame)
                if why is not None:
                    line.add(frame.channel, "end", why.encode("ascii"))
            case "data":
                if channel is None:  # it was ended, which the relay did not know
                    self._batch.counts["relay-frames-late"] += 1
                else:
                    self._take_piece(channel, frame.data)
            case "end":
                if channel is not None:
                    self._connections.lose_channel(channel)
            case "accepted":
                return False
            case _:
                assert_never(frame.kind)
        return True

    def _open(self, line: RelayLine, frame: RelayedFrame) -> ChannelEnd | None:
        """Begin a session; why not, where it cannot be."""
        if not self._may_open(line, time.monotonic()):
            return "busy"
        try:
            prologue = prologue_of(line.connection.key)
            key, answer, (sending, receiving) = answer_opening(self._keys, frame.data, prologue)
        except SealBroken as error:
            detail = f"opened a session that was made for another controller, relay or version: {error}"
            self._batch.refuse("unsealed", key=line.connection.key, identity=self._identity(line), detail=detail)
            return "handshake"
        identity = self._registry.identity(key)
        if identity is not None and identity.role == "relay":
            self._batch.refuse("role", key=key, identity=identity, detail="a relay behind a relay")
            return "handshake"
        if self._connections.is_refused(key):
            return "busy"
        session = SealedSession(sending, receiving, longest=self._limits.unaccepted_bytes)
        channel = RelayedChannel(line=line, number=frame.channel, key=key, session=session)
        line.channels[frame.channel] = channel
        line.unproved[channel] = None
        line.add(frame.channel, "open", answer)
        if len(line.unproved) > self._borders.relay.unproved_channels:
            self._borders.relay_refused("unproved-channels")
            self._connections.end_channel(next(iter(line.unproved)), "busy")
        return None

    def _identity(self, line: RelayLine) -> Identity | None:
        return self._registry.identity(line.connection.key)

    def _may_open(self, line: RelayLine, now: float) -> bool:
        limits = self._borders.relay
        if len(line.channels) >= limits.channels:
            self._borders.relay_refused("channels")
            return False
        rate = limits.openings_a_second
        line.openings = min(rate, line.openings + (now - line.openings_at) * rate)
        line.openings_at = now
        if line.openings < 1:
            self._borders.relay_refused("openings-a-second")
            return False
        line.openings -= 1
        return True

    def _take_piece(self, channel: RelayedChannel, piece: bytes) -> None:
        identity = self._registry.identity(channel.key)
        longest = MAX_TO_CONTROLLER if is_accepted(identity) else self._limits.unaccepted_bytes
        channel.session.longest = longest
        try:
            if len(piece) > longest + SEAL_BYTES:
                raise SealBroken(f"a piece of {len(piece)} bytes, and {longest} is the most")
            opened = channel.session.open(piece)
        except SealBroken as error:
            detail = f"by the relay {channel.line.relay}: {error}"
            self._batch.refuse("unsealed", key=channel.key, identity=identity, detail=detail)
            self._connections.end_channel(channel, "broken")
            return
        if not channel.proved:
            self._connections.prove(channel, identity)
            if is_accepted(identity):
                self._sending.tell_accepted(channel)
        self._sending.look(channel)
        if opened is not None:
            self._handle(channel, opened, identity)
