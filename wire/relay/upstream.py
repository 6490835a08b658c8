"""The relay's connection to its controller: its own key, and frames of minions folded into messages.

Part of `wire.relay.relay`, in its thread. What cannot be sent yet is kept, and then the relay reads nothing more from
minions: they are held back by their own connections.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from wire.address import Address
from wire.client import Connected, Connection, DialFailed, Disconnected, HandshakeFailed, Timing
from wire.codec import MAX_FROM_RELAY
from wire.keys import KeyPair, fingerprint
from wire.messages import MOST_RELAYED, FromRelay, KeyRequest, KeyState, Refused, RelayedFrame, ToRelay
from wire.sealed.session import cost_of_piece

log = logging.getLogger("saltern.relay")

KEY_REQUEST_PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds between two questions whether the relay's key is accepted; the last is repeated."""
FOLDED_BYTES = 1024 * 1024
"""Of frames in one message, but for the last."""
UNREAD_BYTES = 3 * 1024 * 1024
"""That may be on the way to the controller before the next message goes. With the largest message these are less than
its limit `connection_bytes` for one connection."""
TOLD_AFTER = 1024 * 1024
"""Bytes that were taken before the controller is told, where no message goes to it."""

UpstreamChange: TypeAlias = bool
"""True: the controller lets this relay in; False: it cannot be reached any more."""


class Upstream:
    """The connection.

    Args:
        relay_id: of this relay.
        controller: its address.
        keys: of this relay.
        timing: see `wire.client.Timing`.
    """

    def __init__(self, relay_id: str, controller: Address, keys: KeyPair, timing: Timing | None) -> None:
        self._id = relay_id
        self._fingerprint = fingerprint(keys.public)
        self.connection = Connection(controller, keys, timing=timing, longest=MAX_FROM_RELAY)
        self.ready = False
        """The controller has accepted this relay."""
        self._frames: deque[RelayedFrame] = deque()
        self.waiting_bytes = 0
        """Of the frames that wait to be sent."""
        self._taken = self._told = 0
        self._sent = self._read_there = 0
        """Bytes of frames, counted as pieces, and what the controller has read of them."""
        self.full = False
        """The queue of the connection had no room."""
        self._asked = 0
        self._ask_at = float("inf")
        self._said: tuple[str, tuple[str, ...]] = "", ()
        """What was logged of the connection last."""

    def __len__(self) -> int:
        """Frames that wait to be sent."""
        return len(self._frames)

    def due(self, deadline: float) -> float:
        """When it has to be looked at, at most `deadline`."""
        return self.connection.due(min(deadline, self._ask_at))

    def add(self, frame: RelayedFrame) -> None:
        """Send this frame with the next message."""
        self._frames.append(frame)
        self.waiting_bytes += len(frame.data)

    def flush(self) -> None:
        """Send what there is room for."""
        self.full = False
        while self.ready and (self._may_send() or self._taken - self._told >= TOLD_AFTER):
            folded = self._fold() if self._may_send() else ()
            if not self.connection.send(FromRelay(frames=folded, taken=self._taken)):
                self.full = True
                return
            self._told = self._taken
            self._sent += sum(cost_of_piece(len(frame.data)) for frame in folded)
            for frame in folded:
                self._frames.popleft()
                self.waiting_bytes -= len(frame.data)

    def _may_send(self) -> bool:
        return bool(self._frames) and self._sent - self._read_there < UNREAD_BYTES

    def _fold(self) -> tuple[RelayedFrame, ...]:
        folded, size = list[RelayedFrame](), 0
        for frame in self._frames:
            size += len(frame.data)
            if folded and (size > FOLDED_BYTES or len(folded) == MOST_RELAYED):
                break
            folded.append(frame)
        return tuple(folded)

    def collect(self, now: float) -> Iterator[Sequence[RelayedFrame] | UpstreamChange]:
        """Frames for minions, True when the controller can be reached now, False when it cannot any more."""
        self.connection.dial_if_due()
        for event in self.connection.collect():
            match event:
                case ToRelay(frames=frames, taken=read):
                    self._read_there = max(self._read_there, read)
                    self._taken += sum(cost_of_piece(len(frame.data)) for frame in frames)
                    yield frames
                case KeyState():
                    yield from self._take_key_state(event, now)
                case Connected():
                    self._asked = 0
                    self._ask(now)
                case Disconnected() | DialFailed():
                    yield from self._lost()
                case HandshakeFailed(reason=reason):
                    self._say("event=controller_refuses relay=%s cause=%s", reason)
                case Refused(message=message):
                    self._say("event=refused_by_controller relay=%s message=%s", message)
        if now >= self._ask_at:
            self._ask(now)

    def _ask(self, now: float) -> None:
        self._ask_at = now + KEY_REQUEST_PAUSES[min(self._asked, len(KEY_REQUEST_PAUSES) - 1)]
        self._asked += 1
        self.connection.send(KeyRequest(id=self._id, role="relay"))

    def _take_key_state(self, message: KeyState, now: float) -> Iterator[UpstreamChange]:
        if message.state == "accepted":
            self._ask_at = float("inf")
            if not self.ready:
                self.ready = True
                self._say("event=connected_to_controller relay=%s")
                yield True
            return
        self._say(
            "event=key_not_accepted relay=%s state=%s fingerprint=%s do=%s",
            message.state,
            self._fingerprint,
            f"compare with `saltern key finger {self._id}` on the controller, then `saltern key accept {self._id}`",
        )
        if self.ready:
            yield from self._lost()
            self._ask(now)

    def _lost(self) -> Iterator[UpstreamChange]:
        self._ask_at = float("inf")
        self._frames.clear()
        self.waiting_bytes = self._taken = self._told = self._sent = self._read_there = 0
        if self.ready:
            self.ready = False
            self._say("event=connection_lost relay=%s do=%s", "minions wait; still trying")
            yield False

    def _say(self, template: str, *values: str) -> None:
        """Log what is new; the relay's id is its first value."""
        if (template, values) != self._said:
            self._said = template, values
            log.warning(template, self._id, *values)

    def polled(self) -> list[Any]:
        """Sockets by which something may come."""
        return list(self.connection.polled())
