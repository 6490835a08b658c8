"""Many simulated minions in one process: a connection each, in one context of zmq, and one loop.

Run by `minion.swarm.processes`. What a member says is decided in `minion.swarm.member`.

The loop waits for the descriptors by which zmq says that a socket may have something. Such a descriptor speaks once:
all that has come is taken before the loop waits again, and once more after something was sent, because sending takes
the signal too (zmq_getsockopt(3), ZMQ_FD).
"""

from __future__ import annotations

import contextlib
import heapq
import random
import secrets
import select
import time
from collections import Counter
from collections.abc import Sequence

import zmq

from minion.swarm.documents import HeldDocuments
from minion.swarm.member import MemberIdentity, SwarmBehaviour, SwarmMember
from wire.address import Address
from wire.client import Connection, Timing
from wire.messages import Bye

SOCKETS_OF_MEMBER = 4
"""Of zmq: to both ports, and both ends of the monitor."""

DESCRIPTORS_OF_MEMBER = 6
"""One for each socket of zmq, and two TCP connections."""

DESCRIPTORS_OF_PROCESS = 64
"""Beside those of its members."""

MOST_SOCKETS = 65_535
"""That libzmq lets a context have."""

SILENCE = 120.0
"""Seconds without a sign of life until a controller is gone: a machine with thousands of members is busy."""
_SERVED = 64
"""Members that are served before it is looked whose time has come: a document takes some ms, and each says that it is
there."""

_QUEUE = 64


class _Place:
    """A member, its connection, and when the fleet looks at it next."""

    __slots__ = ("connection", "dials_from", "due", "member", "online", "watched")

    def __init__(self, member: SwarmMember, connection: Connection, dials_from: float) -> None:
        self.member = member
        self.connection = connection
        self.dials_from: float | None = dials_from
        """Its turn to dial; None: it has none yet."""
        self.due = float("inf")
        self.online = False
        self.watched: dict[zmq.Socket[bytes], int] = {}


class SwarmFleet:
    """The members of one process.

    Args:
        identities: of the members.
        address: of the controller.
        behaviour: of the members.
        pace: members that begin to connect in a second; they do so again after the controller has gone.
    """

    def __init__(
        self, identities: Sequence[MemberIdentity], address: Address, behaviour: SwarmBehaviour, *, pace: float
    ) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._context.set(zmq.MAX_SOCKETS, MOST_SOCKETS)  # closed ones count until libzmq has come to them
        self._epoll = select.epoll()
        self._by_fd: dict[int, tuple[_Place, zmq.Socket[bytes]]] = {}
        self._timers: list[tuple[float, int, _Place]] = []
        self._pushed = 0
        self._pace = pace
        self._next_dial = time.monotonic()
        self._documents = HeldDocuments()
        self._events: Counter[str] = Counter()
        self._online = 0
        self._most_online = 0
        session = secrets.token_hex(8)
        self._places = [self._place(each, address, behaviour, session) for each in identities]

    def _place(self, identity: MemberIdentity, address: Address, behaviour: SwarmBehaviour, session: str) -> _Place:
        timing = Timing(silence=SILENCE)
        connection = Connection(address, identity.keys, timing=timing, queue=_QUEUE, context=self._context)
        member = SwarmMember(
            identity,
            behaviour,
            self._documents,
            self._events,
            send=connection.send,
            chance=random.random,
            session=session,
        )
        place = _Place(member, connection, self._turn_to_dial(time.monotonic()))
        self._plan(place, place.dials_from or 0.0)
        return place

    def counts(self) -> Counter[str]:
        """What the members have counted, how many are `connected` now, and the `most_connected` until now."""
        online = {"connected": self._online, "most_connected": self._most_online}
        return Counter({**self._events, "members": len(self._places), **online})

    def run(self, until: float, reader: int = -1) -> bool:
        """Serve until that time of the monotonic clock; whether `reader` could be read before."""
        if reader >= 0 and reader not in self._by_fd:
            with contextlib.suppress(FileExistsError):
                self._epoll.register(reader, select.EPOLLIN)
        while (now := time.monotonic()) < until:
            due = self._timers[0][0] if self._timers else until
            ready = self._epoll.poll(max(0.0, min(due, until) - now), maxevents=_SERVED)
            now = time.monotonic()
            if any(fd == reader for fd, _ in ready):
                return True
            said: dict[_Place, list[zmq.Socket[bytes]]] = {}
            for fd, _ in ready:
                if fd in self._by_fd:
                    place, opened = self._by_fd[fd]
                    said.setdefault(place, []).append(opened)
            for place, sockets in said.items():
                self._serve(place, now, sockets)
            while self._timers and self._timers[0][0] <= now:
                _, _, place = heapq.heappop(self._timers)
                if place.due <= now:
                    place.due = float("inf")
                    self._serve(place, now, ())
        return False

    def close(self) -> None:
        """Say Bye, and end all connections."""
        for place in self._places:
            place.connection.send(Bye())
            place.connection.close()
        self._epoll.close()
        self._context.term()

    # --- one member

    def _serve(self, place: _Place, now: float, ready: Sequence[zmq.Socket[bytes]]) -> None:
        """Take what has come by these sockets, and do what is due."""
        connection, member = place.connection, place.member
        self._dial(place, now)
        while True:
            events = connection.collect(ready)
            for event in events:
                member.take(event, now)
            if member.due_at <= now:
                member.tick(now)
            if not events and not connection.unheard:
                break
            ready = ()
        if member.online != place.online:
            place.online = member.online
            self._online += 1 if place.online else -1
            self._most_online = max(self._most_online, self._online)
        self._watch(place)
        self._plan(place, self._due(place))

    def _dial(self, place: _Place, now: float) -> None:
        """Dial when it is due and its turn."""
        connection = place.connection
        if connection.connected or now < connection.due(float("inf")):
            return
        if not connection.polled():
            if place.dials_from is None:
                place.dials_from = self._turn_to_dial(now)
            if now < place.dials_from:
                return
            place.dials_from = None
        connection.dial_if_due()

    def _turn_to_dial(self, now: float) -> float:
        self._next_dial = max(now, self._next_dial + 1 / self._pace)
        return self._next_dial

    def _due(self, place: _Place) -> float:
        due = place.member.due_at
        if not place.connection.connected:
            dial = place.connection.due(float("inf"))
            due = min(due, dial if place.dials_from is None else max(dial, place.dials_from))
        return due

    def _plan(self, place: _Place, due: float) -> None:
        if due < float("inf") and due != place.due:
            self._pushed += 1
            heapq.heappush(self._timers, (due, self._pushed, place))
        place.due = due

    def _watch(self, place: _Place) -> None:
        """Wait for the sockets that it has now."""
        opened = place.connection.polled()
        if len(opened) == len(place.watched) and all(each in place.watched for each in opened):
            return
        for fd in place.watched.values():
            if fd in self._by_fd and self._by_fd[fd][0] is place:
                del self._by_fd[fd]
                with contextlib.suppress(OSError):  # zmq has closed it by now
                    self._epoll.unregister(fd)
        place.watched = {each: int(each.get(zmq.FD)) for each in opened}
        for each, fd in place.watched.items():
            self._by_fd[fd] = place, each
            self._epoll.register(fd, select.EPOLLIN)
