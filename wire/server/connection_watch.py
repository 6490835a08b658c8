"""Bytes that connections have received and that nobody has read: libzmq bounds neither what a message of many frames
holds, nor what all unfinished frames hold together.

Made and ended by `wire.server.server`. A thread of its own compares the
kernel's count of received bytes (`tcpi_bytes_received`, tcp(7)) with the bytes of messages that the server has read.
A connection over its limit is shut down. Reads and writes nothing of what connections carry.

What is read counts `FRAME_CREDIT` bytes more than it has, for framing, encryption and heartbeats. The credit of a
connection never exceeds what it has received, so nobody can save it up.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import socket
import struct
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass

from wire.address import PortPair
from wire.limits import WireLimits
from wire.server.sockets import end_connection

FRAME_CREDIT = 512
"""Bytes."""

HEARTBEAT_CREDIT = 16
"""Bytes a second, for the heartbeats of an accepted peer that says nothing else."""

PAUSE = 0.005
"""Seconds between two turns: how long a connection may exceed a limit."""

ARRIVAL_BYTES = 1024
"""What a connection sends until its first message was read: the handshake, and a key request. Thousands arrive at once
when a controller has been restarted."""

ARRIVING = 15.0
"""Seconds for which a connection may be one that is about to prove itself: as long as libzmq waits for a handshake."""

STRANGERS_EVERY = 0.25
"""Seconds between two looks at all connections of strangers: epoll does not report what libzmq has read by then."""

STRANGERS_SHARE = 20
"""Times as long as such a look took, at least, until the next: ten thousand that return at once are all strangers at
first, and the server needs the time to let them in. Meanwhile epoll reports what they send."""

TRIM_AFTER = 5.0
"""Seconds from the end of a stranger's connection, or of one that sent much, until memory is given back."""

TRIM_BYTES = 4 * 1024 * 1024
"""What is much."""

_TCP_INFO_BYTES = 136
_BYTES_ACKED = 120
_BYTES_RECEIVED = 128
"""Offsets of `tcpi_bytes_acked` and `tcpi_bytes_received` in `struct tcp_info` (linux/tcp.h, since Linux 4.1)."""

_LIBC = ctypes.PyDLL(None, use_errno=True)
"""Keeps the interpreter's lock: for calls that are over at once."""

_ACTIVE = select.EPOLLIN | select.EPOLLONESHOT


@dataclass(slots=True, kw_only=True, eq=False)
class WatchedConnection:
    """One TCP connection. The server's thread writes `credit`, `accepted` and `closed`, the watch the rest."""

    number: int
    port: int
    address: str
    publish: bool
    at: float
    opened: float
    accepted: bool = False
    credit: int = 0
    """Bytes that were read, with the credit of each frame."""
    credited: int = 0
    settled: int = 0
    """Of the received bytes, those that were read."""
    unread: int = 0
    """Of the received bytes, those that were not."""
    held: int = 0
    """What a stranger's connection counts for in `_stranger_bytes`."""
    ended: bool = False
    """We have ended it."""
    closed: bool = False
    """It is over."""

    def count(self, now: float) -> None:
        """Compare what was received with what was read. OSError when the connection is over."""
        received = _bytes_received(self.number)
        credit = self.credit
        heartbeats = int((now - self.at) * HEARTBEAT_CREDIT) if self.accepted or self.publish else 0
        if heartbeats:
            self.at = now
        self.settled = min(received, self.settled + credit - self.credited + heartbeats)
        self.credited = credit
        self.unread = received - self.settled


class ConnectionWatch:
    """The connections of both ports.

    `opened`, `closed` and `read` are called in the server's thread, which takes the events of libzmq's monitors.

    Args:
        ports: of the server.
        limits: of connections.
        expected: how many keys are accepted. Each may be that of a connection that has not proved itself yet, so that
            all minions find room that return at once.
    """

    def __init__(self, ports: PortPair, limits: WireLimits, expected: Callable[[], int] = lambda: 0) -> None:
        self._ports = ports
        self._limits = limits
        self._expected = expected
        self._current: dict[tuple[bool, int], WatchedConnection] = {}
        """By port and number, for the server's thread."""
        self._proved: set[int] = set()
        """Numbers of connections by which messages of accepted keys came in this turn of the server."""
        self._news: deque[WatchedConnection] = deque()
        """Opened and closed connections, for the watch's thread."""
        self._watched: dict[int, WatchedConnection] = {}
        self._unproved: dict[WatchedConnection, None] = {}
        """Those to the request port by which no message of an accepted key has come, the oldest first."""
        self._stranger_bytes = 0
        """What all of them hold unread, beyond what each sends to arrive."""
        self._requesting = 0
        """Connections to the request port."""
        self._epoll = select.epoll()
        self._resting: list[WatchedConnection] = []
        self._wakeup = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._stopping = False
        self._thread = threading.Thread(target=self._watch, name="wire-watch", daemon=True)
        self._trim_at = 0.0
        self._strangers_at = 0.0

    def start(self) -> None:
        """Watch from now on."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; the sockets may be closed then."""
        self._stopping = True
        os.eventfd_write(self._wakeup, 1)
        self._thread.join()
        os.close(self._wakeup)
        self._epoll.close()

    def stranger_bytes(self) -> int:
        """Unread bytes of all strangers, as they were counted last."""
        return sum(connection.unread for connection in self._unproved.copy())

    def stranger_connections(self) -> int:
        """Connections to the request port by which no message of an accepted key has come."""
        return len(self._unproved)

    # --- in the server's thread

    def opened(self, number: int, *, publish: bool) -> None:
        """A connection was accepted."""
        try:
            with socket.socket(fileno=os.dup(number)) as handle:
                address = str(handle.getpeername()[0])
        except (OSError, IndexError):  # it is over
            return
        connection = self._current[publish, number] = WatchedConnection(
            number=number,
            port=self._ports.publish if publish else self._ports.request,
            address=address,
            publish=publish,
            at=(now := time.monotonic()),
            opened=now,
            accepted=not publish and number in self._proved,
        )
        self._tell(connection)

    def closed(self, number: int, *, publish: bool) -> bool:
        """A connection is over; whether the watch has ended it."""
        connection = self._current.pop((publish, number), None)
        if connection is None:
            return False
        connection.closed = True
        self._tell(connection)
        return connection.ended

    def read(self, number: int, size: int, *, accepted: bool, publish: bool = False) -> None:
        """The server has read a message of so many bytes."""
        connection = self._current.get((publish, number))
        if connection is not None:
            connection.credit += size + FRAME_CREDIT
            connection.accepted = accepted
        if accepted and not publish:
            self._proved.add(number)  # its `opened` may come later in this turn

    def turned(self) -> None:
        """A turn of the server is over: it has told all that was opened and closed before what it has read."""
        self._proved.clear()

    def _tell(self, connection: WatchedConnection) -> None:
        self._news.append(connection)
        os.eventfd_write(self._wakeup, 1)

    # --- in the watch's thread

    def _watch(self) -> None:
        self._epoll.register(self._wakeup, select.EPOLLIN)
        while not self._stopping:
            waits = STRANGERS_EVERY if self._unproved else TRIM_AFTER if self._trim_at else None
            timeout = 0.0 if self._resting else waits
            ready = {number for number, _ in self._epoll.poll(timeout)}
            if self._wakeup in ready:
                os.eventfd_read(self._wakeup)
            self._take_turn(ready)
            time.sleep(PAUSE)

    def _take_turn(self, ready: set[int]) -> None:
        now = time.monotonic()
        active = dict.fromkeys(self._resting)
        self._resting = []
        active.update(dict.fromkeys(self._take_news()))
        active.update((self._watched[number], None) for number in ready if number in self._watched)
        for connection in active:
            self._look(connection, now, again=connection.number in ready)
        if now >= self._strangers_at:
            self._look_at_strangers(now, active)
        self._bound_strangers()
        if self._trim_at and now >= self._trim_at:
            self._trim_at = 0.0
            _give_back_memory()

    def _look_at_strangers(self, now: float, seen: dict[WatchedConnection, None]) -> None:
        """Look at those that were not `seen` in this turn."""
        began = time.monotonic()
        for connection in [each for each in self._unproved if each not in seen]:
            self._compare(connection, now)
        self._strangers_at = now + max(STRANGERS_EVERY, STRANGERS_SHARE * (time.monotonic() - began))

    def _take_news(self) -> list[WatchedConnection]:
        """Connections that were opened since the last turn and are not over."""
        opened = []
        for _ in range(len(self._news)):
            connection = self._news.popleft()
            if connection.closed:
                if not connection.accepted or connection.credit > TRIM_BYTES:
                    self._plan_trim()
                self._no_stranger(connection)
                if self._watched.get(connection.number) is connection:
                    del self._watched[connection.number]
                    self._requesting -= not connection.publish
                continue
            self._watched[connection.number] = connection
            if not connection.publish:
                self._requesting += 1
                self._unproved[connection] = None
            with contextlib.suppress(OSError):  # it is over
                self._epoll.register(connection.number, _ACTIVE)
                opened.append(connection)
        return opened

    def _look(self, connection: WatchedConnection, now: float, *, again: bool) -> None:
        """Compare; one that has just received something is looked at once more, others are reported when they do."""
        if not self._compare(connection, now):
            return
        if again:
            self._resting.append(connection)
        else:
            with contextlib.suppress(OSError):
                self._epoll.modify(connection.number, _ACTIVE)

    def _compare(self, connection: WatchedConnection, now: float) -> bool:
        """Compare, and end one that is over its limit; whether it goes on."""
        if connection.ended or connection.closed:
            return False
        try:
            connection.count(now)
        except OSError:
            return False  # it is over, as the server will tell
        if connection.accepted:
            self._no_stranger(connection)
        elif connection in self._unproved:
            held = max(0, connection.unread - ARRIVAL_BYTES)
            self._stranger_bytes += held - connection.held
            connection.held = held
        if connection.unread > self._limit_of(connection):
            self._end(connection, "subscription-bytes" if connection.publish else "connection-bytes")
        return not connection.ended

    def _limit_of(self, connection: WatchedConnection) -> int:
        if connection.publish:
            return self._limits.minion.subscription_bytes
        return (self._limits.minion if connection.accepted else self._limits.stranger).connection_bytes

    def _bound_strangers(self) -> None:
        """End connections of strangers until there are no more than may be, and they hold no more than they may."""
        excess = len(self._unproved) - self._limits.stranger.connections
        if excess > 0:
            excess -= max(0, self._expected() - (self._requesting - len(self._unproved)))
        if excess > 0:
            by_address = Counter(each.address for each in self._unproved)
            passed_on = {each for each in by_address if self._limits.is_controller(each)}
            arrived = time.monotonic() - ARRIVING
            for _ in range(excess):
                # Another controller has ended those of one address that were too many: it comes after all others.
                most = max(by_address, key=lambda each: (each not in passed_on, by_address[each]))
                by_address -= Counter((most,))  # leaves no address without one
                self._end(self._dispensable(most, arrived), "connections")
        while self._stranger_bytes > self._limits.stranger.total_bytes:
            self._end(max(self._unproved, key=lambda each: each.held), "total-bytes")

    def _dispensable(self, address: str, arrived: float) -> WatchedConnection:
        """The oldest connection of an address, if it was opened before `arrived`; else the newest.

        When more arrive than there is room for, those that came first are let through: were they ended, nobody would
        be, and all would come again.
        """
        oldest = next(each for each in self._unproved if each.address == address)
        return (
            oldest
            if oldest.opened < arrived
            else next(each for each in reversed(self._unproved) if each.address == address)
        )

    def _no_stranger(self, connection: WatchedConnection) -> None:
        """It has proved itself, or is over."""
        if connection in self._unproved:
            del self._unproved[connection]
            self._stranger_bytes -= connection.held
            connection.held = 0

    def _plan_trim(self) -> None:
        self._trim_at = self._trim_at or time.monotonic() + TRIM_AFTER

    def _end(self, connection: WatchedConnection, limit: str) -> None:
        if not connection.ended:
            connection.ended = True
            self._no_stranger(connection)
            end_connection(connection.number, connection.port)
            self._plan_trim()
            proved = connection.accepted or connection.publish
            (self._limits.minion_refused if proved else self._limits.stranger_refused)(limit)


def bytes_acknowledged(number: int) -> int:
    """Bytes that the peer's system has received of a TCP connection, by the kernel's count. OSError when it is over."""
    return _tcp_count(number, _BYTES_ACKED)


def _bytes_received(number: int) -> int:
    return _tcp_count(number, _BYTES_RECEIVED)


def _tcp_count(number: int, offset: int) -> int:
    """A count of the kernel for a TCP connection. OSError when it is over.

    By number: an object that owns a descriptor of libzmq would close it when it is collected.
    """
    info = ctypes.create_string_buffer(_TCP_INFO_BYTES)
    size = ctypes.c_uint(_TCP_INFO_BYTES)
    if _LIBC.getsockopt(number, socket.IPPROTO_TCP, socket.TCP_INFO, info, ctypes.byref(size)) != 0:
        raise OSError(ctypes.get_errno(), "no TCP connection")
    (count,) = struct.unpack_from("=Q", info, offset)
    return int(count)


def _give_back_memory() -> None:
    """Return freed memory to the system: what libzmq has freed in many small pieces stays with malloc otherwise."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
    if trim is not None:
        trim(0)
