"""The port on which jobs are published: who listens there, and who of them is told of which job.

A stock minion takes everything that is published, decrypts it, and drops what is for others; with `zmq_filtering` it
takes what has its own topic. Here each connection is told less: that of a minion with `zmq_filtering` what has its
topic, any other one what is for the address that it comes from, and what is for everybody. So a job for one minion
is decrypted by that one alone, unless others come from its address.

To those without a topic a publication is one frame, as a master's. Its first field is a mark which minions do not look
at, and which ZeroMQ compares: of an address, or of everybody. With a topic it is two frames, as a master with
`zmq_filtering` sends it; minions of 3007 and later log an error about the first one of them, under a master, too.

Nothing that a connection asks for lets it be told of more than that. All that is published can be read with one key
that each minion has: this saves work, and is no border.

Source: `PublishServer` and `PublishClient` in `salt/transport/zeromq.py`; `xpub.cpp` of libzmq.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import zmq

from gateway.protocol.packing import pack
from wire.address import endpoint
from wire.errors import CannotBind
from wire.server.sockets import end_connection, monitor_events

log = logging.getLogger(__name__)

_HIGH_WATER = 1000
"""Jobs that wait for one minion to read them; with more it loses some, and they are asked after."""
_BACKLOG = 4096
_HANDSHAKE_MS = 15_000
_SUBSCRIPTION_BYTES = 4096
_TOPIC = re.compile(rb"[0-9a-f]{40}")
_SUBSCRIBE = b"\x01"
_EVERYBODY = "*"
_ALIVE_MS = 20_000
_DEAD_MS = 20_000
"""A connection is asked for a sign of life after as long, and has as long to give it: a dead machine ends none."""
_TURN = 200
"""Events that are handled until the event loop has another turn."""
MOST_SUBSCRIPTIONS = 8
"""Of a connection, which libzmq keeps; a salt-minion has at most two."""


def listen(opened: zmq.Socket[Any], host: str, port: int) -> int:
    """Have a socket listen; the port. CannotBind.

    Args:
        opened: the socket.
        host: name or address.
        port: 0: any free one.
    """
    for option, value in (
        (zmq.LINGER, 0),
        (zmq.IPV6, int(":" in host)),
        (zmq.BACKLOG, _BACKLOG),
        (zmq.TCP_KEEPALIVE, 1),
        (zmq.TCP_KEEPALIVE_IDLE, 300),
        (zmq.HANDSHAKE_IVL, _HANDSHAKE_MS),
    ):
        opened.set(option, value)
    address = endpoint(host, port) if port else f"{endpoint(host, 0).rpartition(':')[0]}:*"
    try:
        opened.bind(address)
    except zmq.ZMQError as error:
        raise CannotBind(f"{address}: {error.strerror}") from error
    return int(bytes(opened.get(zmq.LAST_ENDPOINT)).rpartition(b":")[2].strip(b"\0"))


def monitor_of(context: zmq.Context[zmq.Socket[bytes]], watched: zmq.Socket[Any]) -> zmq.Socket[bytes]:
    """What tells of connections to a socket that come and end."""
    place = f"inproc://monitor-{os.urandom(8).hex()}"
    watched.monitor(place, zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
    monitor = context.socket(zmq.PAIR)
    monitor.set(zmq.RCVHWM, 0)  # a full queue would hold up libzmq's own thread
    monitor.connect(place)
    return monitor


def mark_of(address: str) -> bytes:
    """How a publication for an address, or for everybody, begins."""
    return b"\x85" + pack("to") + pack(hashlib.sha256(address.encode()).hexdigest()[:16])


def marked(packed: bytes, address: str) -> bytes:
    """A publication with that beginning.

    Args:
        packed: its four fields.
        address: that it is for; `*`: for everybody.
    """
    return mark_of(address) + packed[1:]


def topic_of(minion_id: str) -> bytes:
    """What a minion with `zmq_filtering` asks for."""
    return hashlib.sha1(minion_id.encode(), usedforsecurity=False).hexdigest().encode()


class JobPort:
    """The port. Made in an event loop; raises CannotBind.

    Args:
        context: of zmq.
        host: name or address that is listened at.
        port: 0: any free one.
        connection: is told of each connection that comes (True) or ends, by its number and address.
    """

    changed: Callable[[str, bool], None]
    """Is told of an address that somebody listens from anew (True), or from which a connection has ended."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        host: str,
        port: int,
        connection: Callable[[int, str, bool], None],
    ) -> None:
        self._connection = connection
        self.changed = lambda address, came: None
        self._socket = context.socket(zmq.XPUB)
        for option, value in (
            (zmq.XPUB_MANUAL, 1),
            (zmq.MAXMSGSIZE, _SUBSCRIPTION_BYTES),
            (zmq.SNDHWM, _HIGH_WATER),
            (zmq.HEARTBEAT_IVL, _ALIVE_MS),
            (zmq.HEARTBEAT_TIMEOUT, _DEAD_MS),
        ):
            self._socket.set(option, value)
        self._monitor = monitor_of(context, self._socket)
        self._connections: dict[int, str] = {}
        """Descriptor -> the address that it is connected to."""
        self._listening: Counter[str] = Counter()
        self._subscriptions: Counter[int] = Counter()
        """Of each connection."""
        self._newcomers: dict[tuple[str, bytes], None] = {}
        """Address, or topic, of those who have begun to listen since the last greeting."""
        self._topics = False
        """Whether anybody has ever asked for a topic."""
        self.port = listen(self._socket, host, port)
        loop = asyncio.get_running_loop()
        for each in (self._socket, self._monitor):
            loop.add_reader(int(each.get(zmq.FD)), self._look)
        self._looks = False
        self._look_soon()

    def publish(self, minions: Mapping[str, str], publication: Mapping[str, Any]) -> None:
        """Say a job.

        Args:
            minions: that it is for: id -> address that the minion listens from; empty: not known.
            publication: as `SharedKey` makes it.
        """
        packed, addresses = pack(dict(publication)), set(minions.values())
        known = all(self.listens(address) for address in addresses)
        frames = [[marked(packed, each)] for each in (sorted(addresses) if known else (_EVERYBODY,))]
        if self._topics:
            frames += [[topic_of(each), packed] for each in minions]
        self._send(frames)

    def greet(self, publication: Callable[[], Mapping[str, Any]]) -> None:
        """Say something to those who have begun to listen; `publication` makes it, where there are any.

        A salt-minion that finds a master where it had another one, or the same one with other keys, says nothing until
        it gets what it cannot read; then it shows its key.
        """
        newcomers, self._newcomers = self._newcomers, {}
        if newcomers:
            packed = pack(dict(publication()))
            self._send([[topic, packed] if topic else [marked(packed, address)] for address, topic in newcomers])

    def _send(self, frames: Iterable[list[bytes]]) -> None:
        for each in frames:
            with contextlib.suppress(zmq.Again):
                self._socket.send_multipart(each, zmq.NOBLOCK)
        self._look_soon()

    def listens(self, address: str) -> bool:
        """Whether there is a connection from this address."""
        return self._listening[address] > 0

    def close(self) -> None:
        """Close it."""
        loop = asyncio.get_running_loop()
        for each in (self._socket, self._monitor):
            loop.remove_reader(int(each.get(zmq.FD)))
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close(linger=0)

    # --- what comes

    def _look_soon(self) -> None:
        """Sending may have taken the sign that something has come."""
        if not self._looks:
            self._looks = True
            asyncio.get_running_loop().call_soon(self._look)

    def _look(self) -> None:
        self._looks = False
        if self._socket.closed:
            return
        try:
            for event, number in monitor_events(self._monitor):
                self._monitored(event, number)
            for _ in range(_TURN):
                self._subscribed(self._socket.recv(zmq.NOBLOCK, copy=False))
            self._look_soon()
        except zmq.Again:
            pass

    def _subscribed(self, frame: zmq.Frame) -> None:
        """Have the connection, of which ZeroMQ remembers that it was the last one to ask, be told of what it may be."""
        data = frame.bytes
        if data[:1] != _SUBSCRIBE:
            return
        try:
            number, address, topic = int(str(frame.get("__fd"))), str(frame.get("Peer-Address") or ""), data[1:]
        except zmq.ZMQError:  # it is over
            return
        self._subscriptions[number] += 1
        if self._subscriptions[number] > MOST_SUBSCRIPTIONS:
            log.warning("event=subscriber_ended address=%s why=%s", address, "it asks for too much")
            end_connection(number, self.port)
        elif not topic:
            for each in (_EVERYBODY, address):
                self._socket.set(zmq.SUBSCRIBE, mark_of(each))
            self._newcomers[address, b""] = None
            self.changed(address, True)
        elif _TOPIC.fullmatch(topic):
            self._topics = True
            self._socket.set(zmq.SUBSCRIBE, topic)
            self._newcomers["", topic] = None
            self.changed(address, True)

    def _monitored(self, event: int, number: int) -> None:
        self._subscriptions.pop(number, None)
        if event == zmq.EVENT_ACCEPTED:
            address = self._connections[number] = peer_of(number)
            self._listening[address] += 1
            self._connection(number, address, True)
        elif number in self._connections:
            address = self._connections.pop(number)
            self._listening[address] -= 1
            if not self._listening[address]:
                del self._listening[address]
            self._connection(number, address, False)
            self.changed(address, False)


def peer_of(descriptor: int) -> str:
    """The address at the other end; empty where the connection has ended already."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as found:
            return str(found.getpeername()[0])
    except (OSError, IndexError):
        return ""
