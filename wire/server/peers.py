"""Which connection a key is reached by: the bindings of key, routing id and connection.

Used by `wire.server.connections` and `wire.server.reception`, in the thread of the server. Opens and closes nothing.

A ROUTER sends to whoever presented a routing id, so a binding is made only by an authenticated frame, belongs to
that key and that connection, and ends with the connection. Connections are numbered by their file descriptor, which
the system hands out again: a record is the same only when number, routing id and key are.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

SHORTEST_ROUTING_ID = 16
"""Bytes; a shorter one might be guessed by somebody who waits for its owner to go."""
SERIALS = itertools.count(1)
"""Of connections and of channels of relays: no two of them have the same, as descriptors may."""


@dataclass(slots=True, kw_only=True, eq=False)
class PeerConnection:
    """One authenticated connection to the request port."""

    number: int
    routing: bytes
    key: str
    born: int
    """Turn of the server's loop in which its first frame came."""
    garbage: int = 0
    asked: float = float("-inf")
    """When its last key request came, by the monotonic clock."""
    sent: int = 0
    """Bytes of the messages that were sent to it."""
    largest: int = 0
    """Bytes of the largest of them."""
    acknowledged: int = 0
    """Bytes that its system had received when the kernel was asked last."""
    ended: bool = False
    """We have ended it: whatever it sent before that is dropped."""
    clean: bool = False
    """It said goodbye."""
    serial: int = field(default_factory=SERIALS.__next__)


@dataclass(slots=True, kw_only=True)
class Meeting:
    """What it means that a frame came by this connection."""

    connection: PeerConnection
    new: bool = False
    hostile: bool = False
    """The routing id is another key's."""
    gone: list[str] = field(default_factory=list)
    """Keys that can no longer be reached."""
    superseded: PeerConnection | None = None
    """An older connection of the same key, to be ended."""


class Peers:
    """The bindings."""

    def __init__(self) -> None:
        self._by_number: dict[int, PeerConnection] = {}
        self._by_routing: dict[bytes, PeerConnection] = {}
        self._by_key: dict[str, PeerConnection] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def get(self, key: str) -> PeerConnection | None:
        """The connection that reaches this key."""
        return self._by_key.get(key)

    def meet(self, *, key: str, routing: bytes, number: int, turn: int) -> Meeting:
        """Binds the sender of an authenticated frame."""
        known = self._by_number.get(number)
        if known is not None and known.routing == routing and known.key == key:
            return Meeting(connection=known)
        return self._bind(PeerConnection(number=number, routing=routing, key=key, born=turn), known)

    def forget(self, connection: PeerConnection) -> bool:
        """Removes a connection that has ended; True when its key can no longer be reached."""
        if self._by_number.get(connection.number) is connection:
            del self._by_number[connection.number]
        return self.unbind(connection)

    def unbind(self, connection: PeerConnection) -> bool:
        """Nothing is sent by this connection any more, though it is not over; True as above."""
        if self._by_routing.get(connection.routing) is connection:
            del self._by_routing[connection.routing]
        if self._by_key.get(connection.key) is not connection:
            return False
        del self._by_key[connection.key]
        return True

    def closed(self, number: int, *, turn: int, reopened: bool) -> PeerConnection | None:
        """The connection that ended with this number, if it was one of ours; `forget` comes next.

        `reopened`: the number has been given to a new connection since. Then one whose first frame came in this very
        turn may be the new one, and is let be: if it is not, sending to it fails, which is noticed.
        """
        connection = self._by_number.get(number)
        if connection is None or (reopened and connection.born == turn):
            return None
        return connection

    def _bind(self, connection: PeerConnection, known: PeerConnection | None) -> Meeting:
        owner = self._by_routing.get(connection.routing)
        meeting = Meeting(connection=connection, new=True, hostile=owner is not None and owner.key != connection.key)
        for old in (known, owner):
            # The number or the routing id is in other hands now, so that connection has ended.
            if old is not None and self.forget(old) and old.key != connection.key:
                meeting.gone.append(old.key)
        self._by_number[connection.number] = connection
        if meeting.hostile or len(connection.routing) < SHORTEST_ROUTING_ID:
            return meeting
        previous = self._by_key.get(connection.key)
        if previous is not None:
            previous.ended = True
            meeting.superseded = previous
        self._by_key[connection.key] = connection
        self._by_routing[connection.routing] = connection
        return meeting
