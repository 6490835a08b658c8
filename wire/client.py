"""The minion's end of the wire, for its single-threaded loop.

Called by `minion.agent.agent`. Owns no thread and starts none; never waits except in `receive`. Must not decide what a
message means, keep anything on disk, or import more than zmq and msgspec: an idle minion is small.

Every connection gets a new routing id that nobody can guess, and libzmq would keep one over its own reconnects. So
libzmq reconnects nothing here: when a connection ends or does not come about, its sockets are thrown away and new
ones are made after a while that grows.
"""

from __future__ import annotations

import errno
import os
import struct
import time
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import zmq

from wire.address import Address, endpoint
from wire.codec import MAX_TO_CONTROLLER, MAX_TO_MINION, decode_to_minion, encode, unknown_head
from wire.errors import CannotConnect, MalformedMessage
from wire.keys import KeyPair
from wire.messages import Heartbeat, HelloAck, ToController, ToMinion
from wire.sealed.channel_frames import SessionEnded

if TYPE_CHECKING:
    from wire.sealed.minion_end import MinionEnd

_BATCH = 256
_EPOCHS_REMEMBERED = 8
_HANDSHAKE_FAILED = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_AUTH
_WATCHED = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | zmq.EVENT_CLOSED | _HANDSHAKE_FAILED
"""Never EVENT_HANDSHAKE_FAILED_PROTOCOL: libzmq loses the error while it reports it. A connection with a broken message
is then stalled and not ended, and when the peer closes it, a heartbeat aborts the process (`!_io_error`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connected:
    """The controller has proved its key; it has not yet said what it thinks of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnected:
    """The connection is over; a new one is on its way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandshakeFailed:
    """Something listens there, but not as the controller with this key. Tried again after a while."""

    reason: str
    of_own_key: bool = False
    """The controller has proved its key, and does not let ours in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DialFailed:
    """No connection came about; a new dial is on its way. Where something listens, a `HandshakeFailed` says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotUnderstood:
    """The controller sent a message that this version cannot read: it is newer, or the message is broken."""

    name: str
    run_id: str
    """Of the run that it asks for; empty where it asks for none."""
    why: str


ConnectionEvent: TypeAlias = Connected | Disconnected | DialFailed | HandshakeFailed | NotUnderstood


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds."""

    retry_first: float = 0.1
    retry_most: float = 1.3
    """Between two dials, up to half as much more: a minion is back within two seconds of its controller. A connection
    that lasted so long after a welcome sets the wait back to `retry_first`."""
    retry_unwelcome: float = 10.0
    """The same while connections come about and end without a welcome: the controller has too many of them, say."""
    handshake: float = 15.0
    heartbeat: float = 15.0
    silence: float = 30.0
    """The controller has not answered a heartbeat for so long: it is gone."""


class Connection:
    """A connection to one controller that is made again whenever it ends.

    Args:
        address: of the controller, or of the relay before it.
        keys: that are shown there.
        timing: see `Timing`.
        queue: messages that wait in each direction.
        context: of several connections of one process, which its owner ends after them; without it there is one for
            this connection alone.
        longest: bytes of the largest message that the controller reads.
    """

    def __init__(
        self,
        address: Address,
        keys: KeyPair,
        *,
        timing: Timing | None = None,
        queue: int = 64,
        context: zmq.Context[zmq.Socket[bytes]] | None = None,
        longest: int = MAX_TO_CONTROLLER,
    ) -> None:
        self._address = address
        self._keys = keys
        self._timing = timing or Timing()
        self._queue = queue
        self._longest = longest
        self._owns_context = context is None
        self._context: zmq.Context[zmq.Socket[bytes]] = context or zmq.Context()
        self._dealer: zmq.Socket[bytes] | None = None
        self._monitor: zmq.Socket[bytes] | None = None
        self._subscriber: zmq.Socket[bytes] | None = None
        self._connected = False
        self._welcomed = False
        """The controller has answered a Hello on this connection."""
        self._wait = self._timing.retry_first
        self._since = 0.0
        self._due = 0.0
        """When to dial if there are no sockets, else when to give up on a dial that says nothing."""
        self._serials: dict[str, int] = {}
        self._pending: list[ToMinion | ConnectionEvent] = []
        self._sealed: MinionEnd | None = None
        """The session with the controller, behind a relay."""
        self._unsent: bytes | None = None
        """A sealed frame for which the queue had no room: it has to go before all others."""
        self._counts: Counter[str] = Counter()
        self._unheard: set[zmq.Socket[bytes]] = set()
        """Sockets that may have something of which libzmq does not tell again (zmq_getsockopt(3), ZMQ_FD): after a
        message was sent, and after as many were read as are read at once."""

    @property
    def connected(self) -> bool:
        """Whether messages can be sent now."""
        return self._connected

    @property
    def unheard(self) -> bool:
        """Whether `collect` has to be called again before one waits for the sockets' descriptors."""
        return bool(self._unheard)

    def counts(self) -> Mapping[str, int]:
        """messages_in, messages_out, malformed, stale-beats, connections, handshakes-failed."""
        return dict(self._counts)

    def change_keys(self, keys: KeyPair) -> None:
        """End the connection, and make the next ones with these keys."""
        self._keys = keys
        if self._dealer is not None:
            self._retry()

    def change_controller_key(self, public: str) -> None:
        """Expect this key of the controller from the next dial on."""
        self._address = replace(self._address, controller_key=public)

    def change_address(self, address: Address, wait: float) -> None:
        """End the connection, where there is one, and dial this address after so many seconds."""
        if self._dealer is not None:
            self._retry()
        self._address, self._wait = address, self._timing.retry_first
        self._due = time.monotonic() + wait

    def is_welcome(self) -> None:
        """The controller has answered on this connection, though it may never say Hello: once lost, dial soon."""
        self._welcomed = True

    def send(self, message: ToController) -> bool:
        """Sends without waiting; False when there is no connection or its queue is full: try again later.

        MalformedMessage when the message is larger than a controller reads.
        """
        frame = encode(message)
        if len(frame) > self._longest:
            raise MalformedMessage(f"a message of {len(frame)} bytes, and {self._longest} is the most that is read")
        if not self._connected:
            return False
        return self._send_sealed(frame) if self._sealed is not None else self._send_frame(frame)

    def _send_frame(self, frame: bytes) -> bool:
        if self._dealer is None:
            return False
        try:
            self._dealer.send(frame, zmq.NOBLOCK)
        except zmq.Again:
            return False
        self._counts["messages_out"] += 1
        self._unheard.add(self._dealer)
        return True

    def _send_sealed(self, frame: bytes) -> bool:
        """Seal and send; what is sealed has its place in the order, and is kept until there is room."""
        if self._sealed is None or not self._send_unsent():
            return False
        self._unsent = self._sealed.seal(frame)
        self._send_unsent()
        return True

    def _send_unsent(self) -> bool:
        if self._unsent is not None and self._send_frame(self._unsent):
            self._unsent = None
        return self._unsent is None

    def receive(
        self, timeout: float, readers: Sequence[int] = ()
    ) -> tuple[list[ToMinion | ConnectionEvent], list[int]]:
        """What has come, and which of the descriptors `readers` can be read; waits up to `timeout` seconds for any.

        What one call returns is in its order: after a `Disconnected` comes nothing of the connection that it ended.
        """
        found, ready = receive_any([self], timeout, readers)
        return [event for _, event in found], ready

    def close(self) -> None:
        """Ends the connection for good; waits up to a second for what is queued to leave."""
        if self._dealer is not None:
            self._dealer.disable_monitor()  # first: libzmq waits for ever with an event for a monitor that is closed
        for opened in (self._subscriber, self._monitor):
            if opened is not None:
                opened.close(linger=0)
        if self._dealer is not None:
            self._dealer.close(linger=1000 if self._connected else 0)
        self._dealer = self._monitor = self._subscriber = None
        self._unheard.clear()
        self._connected = False
        if self._owns_context:
            self._context.term()

    # --- connecting

    def dial_if_due(self) -> None:
        """Dial when it is time to, or give a dial up that says nothing. For whoever polls."""
        now = time.monotonic()
        if self._connected or now < self._due:
            return
        if self._dealer is not None:
            self._retry()  # nothing came of it, not even an error: a name that does not resolve, say
            return
        self._begin_sealed()
        try:
            dealer, monitor = self._sockets()
        except zmq.ZMQError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            self._retry()  # libzmq closes what was closed in its own time, and some descriptors come back then
            return
        self._dealer, self._monitor = dealer, monitor
        self._unheard |= {dealer, monitor}
        self._due = now + self._timing.handshake
        self._connect(dealer, self._address.request_port)

    def _sockets(self) -> tuple[zmq.Socket[bytes], zmq.Socket[bytes]]:
        """A socket to dial with, and what tells of its connection. ZMQError when no descriptors are left."""
        dealer = self._secured(zmq.DEALER, MAX_TO_MINION)
        try:
            # A leading zero byte is libzmq's own.
            dealer.set(zmq.ROUTING_ID, b"\x01" + os.urandom(16))
            dealer.set(zmq.IMMEDIATE, 1)  # nothing is queued for a connection that is not there
            dealer.set(zmq.RECONNECT_IVL, -1)
            name = f"inproc://monitor-{os.urandom(8).hex()}"
            dealer.monitor(name, _WATCHED)
            monitor = self._context.socket(zmq.PAIR)
        except zmq.ZMQError:
            dealer.disable_monitor()
            dealer.close(linger=0)
            raise
        monitor.set(zmq.RCVHWM, 0)  # a full queue would hold up libzmq's own thread
        monitor.connect(name)
        return dealer, monitor

    def _begin_sealed(self) -> None:
        """Prepare a session with the controller, where a relay is between."""
        self._sealed = self._unsent = None
        if self._address.relay_key:
            from wire.sealed.minion_end import MinionEnd  # brings OpenSSL: 9 MiB that a minion without relay saves

            self._sealed = MinionEnd(self._keys, self._address.controller_key, self._address.relay_key)

    def _subscribe(self) -> None:
        """Listens on the publish port, from the moment that a controller that wants it has welcomed us there."""
        if self._subscriber is not None:
            self._unheard.discard(self._subscriber)
            self._subscriber.close(linger=0)
        self._subscriber = self._secured(zmq.SUB, 64 * 1024)
        self._subscriber.set(zmq.RECONNECT_IVL, 500)
        self._subscriber.set(zmq.RECONNECT_IVL_MAX, int(self._timing.retry_most * 1000))
        self._subscriber.set(zmq.SUBSCRIBE, b"")
        self._unheard.add(self._subscriber)
        self._connect(self._subscriber, self._address.publish_port)

    def _connect(self, opened: zmq.Socket[bytes], port: int) -> None:
        try:
            opened.connect(endpoint(self._address.host, port))
        except zmq.ZMQError as error:
            raise CannotConnect(f"{endpoint(self._address.host, port)} is no address: {error.strerror}") from error

    def _secured(self, kind: int, largest: int) -> zmq.Socket[bytes]:
        opened = self._context.socket(kind)
        options: dict[int, int | bytes] = {
            zmq.LINGER: 0,
            zmq.SNDHWM: self._queue,
            zmq.RCVHWM: self._queue,
            zmq.MAXMSGSIZE: largest + 1024,  # CURVE's own bytes come on top
            zmq.CONNECT_TIMEOUT: int(self._timing.handshake * 1000),
            zmq.HANDSHAKE_IVL: int(self._timing.handshake * 1000),
            zmq.HEARTBEAT_IVL: int(self._timing.heartbeat * 1000),
            zmq.HEARTBEAT_TIMEOUT: int(self._timing.silence * 1000),
            zmq.CURVE_SERVERKEY: (self._address.relay_key or self._address.controller_key).encode("ascii"),
            zmq.CURVE_PUBLICKEY: self._keys.public.encode("ascii"),
            zmq.CURVE_SECRETKEY: self._keys.secret.encode("ascii"),
            zmq.IPV6: int(":" in self._address.host),
        }
        for option, value in options.items():
            opened.set(option, value)
        return opened

    def _retry(self, *, reached: bool = False) -> None:
        """End the connection, and dial again after a while. `reached`: something was there, and has ended it."""
        now, timing = time.monotonic(), self._timing
        if self._welcomed and now - self._since >= timing.retry_most:
            self._wait = timing.retry_first
        most = timing.retry_unwelcome if reached and not self._welcomed else timing.retry_most
        self._hang_up()
        # Spread over half to one and a half of the wait, so that a fleet does not return as one.
        self._due = now + min(self._wait, most) * (0.5 + int.from_bytes(os.urandom(2), "big") / 0xFFFF)
        self._wait = min(self._wait * 2, most)

    def _hang_up(self) -> None:
        self._pending.append(Disconnected() if self._connected else DialFailed())
        if self._dealer is not None:
            self._dealer.disable_monitor()
        for opened in (self._dealer, self._monitor, self._subscriber):
            if opened is not None:
                opened.close(linger=0)
        self._dealer = self._monitor = self._subscriber = None
        self._unheard.clear()
        self._connected = self._welcomed = False

    # --- receiving

    def due(self, deadline: float) -> float:
        """Until when it need not be looked at, at most `deadline`."""
        if self._pending:
            return 0.0
        return deadline if self._connected else min(deadline, self._due)

    def polled(self) -> list[zmq.Socket[bytes]]:
        """Sockets by which something may come."""
        return [item for item in (self._dealer, self._monitor, self._subscriber) if item is not None]

    def collect(self, ready: Container[zmq.Socket[bytes]] | None = None) -> list[ToMinion | ConnectionEvent]:
        """What has come, without waiting. For whoever polls.

        Args:
            ready: sockets that may have something, beside `unheard` ones; None: all.
        """
        found, self._pending = self._pending, []
        over = reached = False
        for event, value in self._events(ready):
            if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                if self._sealed is None:
                    found.append(self._opened())
                else:
                    self._send_frame(self._sealed.opening())
            else:
                # A handshake of something that speaks otherwise ends without a word.
                if event & _HANDSHAKE_FAILED or (event == zmq.EVENT_DISCONNECTED and not (self._connected or over)):
                    self._counts["handshakes-failed"] += 1
                    reached = True
                    found.append(
                        HandshakeFailed(
                            reason=_explain(event, value), of_own_key=event == zmq.EVENT_HANDSHAKE_FAILED_AUTH
                        )
                    )
                over = True
        messages, ended = self._messages(ready)
        found.extend(messages)
        if over or ended:
            self._retry(reached=reached or self._connected)
            found.extend(self._pending)
            self._pending = []
        return found

    def _opened(self) -> Connected:
        self._connected = True
        self._since = time.monotonic()
        self._counts["connections"] += 1
        return Connected()

    def _events(self, ready: Container[zmq.Socket[bytes]] | None) -> list[tuple[int, int]]:
        return [struct.unpack("=Hi", frames[0].buffer) for frames in self._waiting(self._monitor, ready)]

    def _messages(self, ready: Container[zmq.Socket[bytes]] | None) -> tuple[list[ToMinion | ConnectionEvent], bool]:
        """What has come, and whether the session behind a relay is over."""
        found: list[ToMinion | ConnectionEvent] = []
        ended = False
        for frames in self._waiting(self._dealer, ready):
            if self._sealed is None:
                self._take(self._read(frames), found)
            elif not self._unseal(self._sealed, frames, found):
                ended = True
                break
        for frames in self._waiting(self._subscriber, ready):
            message = self._read(frames)
            if isinstance(message, Heartbeat):
                found.extend([message] if self._is_fresh(message) else [])
            elif not isinstance(message, NotUnderstood):
                self._counts["malformed"] += message is not None
        self._counts["messages_in"] += len(found)
        return found, ended

    def _waiting(
        self, opened: zmq.Socket[bytes] | None, ready: Container[zmq.Socket[bytes]] | None
    ) -> list[list[zmq.Frame]]:
        waiting: list[list[zmq.Frame]] = []
        if opened is None or not (ready is None or opened in ready or opened in self._unheard):
            return waiting
        while len(waiting) < _BATCH:
            try:
                waiting.append(opened.recv_multipart(zmq.NOBLOCK, copy=False))
            except zmq.Again:
                self._unheard.discard(opened)
                return waiting
        self._unheard.add(opened)
        return waiting

    def _take(self, message: ToMinion | NotUnderstood | None, found: list[ToMinion | ConnectionEvent]) -> None:
        if message is None or isinstance(message, Heartbeat):
            self._counts["malformed"] += message is not None
            return
        if isinstance(message, HelloAck):
            self._welcomed = True
            if message.heartbeats and self._sealed is None:
                self._subscribe()
        found.append(message)

    def _unseal(self, sealed: MinionEnd, frames: list[zmq.Frame], found: list[ToMinion | ConnectionEvent]) -> bool:
        """Take a frame of a relay; False when the session is over."""
        taken = sealed.take(frames[0].buffer if len(frames) == 1 else b"")
        if isinstance(taken, bytes | bytearray):
            self._take(self._decode(taken), found)
        elif isinstance(taken, SessionEnded):
            if not self._connected:
                self._counts["handshakes-failed"] += 1
                found.append(HandshakeFailed(reason=taken.reason))
            return False
        elif taken is not None:
            found.append(self._opened())
        if self._unsent is None:
            self._unsent = sealed.taken_frame()
        self._send_unsent()
        return True

    def _read(self, frames: list[zmq.Frame]) -> ToMinion | NotUnderstood | None:
        if len(frames) == 1:
            return self._decode(frames[0].buffer)
        self._counts["malformed"] += 1
        return None

    def _decode(self, frame: bytes | bytearray | memoryview) -> ToMinion | NotUnderstood | None:
        try:
            return decode_to_minion(frame)
        except MalformedMessage as error:
            why = str(error)[:200]
        self._counts["malformed"] += 1
        head = unknown_head(frame)
        return None if head is None else NotUnderstood(name=head.t, run_id=head.run_id, why=why)

    def _is_fresh(self, heartbeat: Heartbeat) -> bool:
        """Whether the heartbeat is newer than all others of its epoch."""
        if heartbeat.serial <= self._serials.get(heartbeat.epoch, -1):
            self._counts["stale-beats"] += 1
            return False
        self._serials[heartbeat.epoch] = heartbeat.serial
        while len(self._serials) > _EPOCHS_REMEMBERED:
            del self._serials[next(iter(self._serials))]
        return True


def receive_any(
    connections: Sequence[Connection], timeout: float, readers: Sequence[int] = ()
) -> tuple[list[tuple[Connection, ToMinion | ConnectionEvent]], list[int]]:
    """What has come by any of several connections, as `Connection.receive` does by one."""
    deadline = time.monotonic() + timeout
    while True:
        for connection in connections:
            connection.dial_if_due()
        ready = _poll(connections, deadline, readers)
        found = [(connection, event) for connection in connections for event in connection.collect()]
        descriptors = [reader for reader in readers if reader in ready]
        if found or descriptors or time.monotonic() >= deadline:
            return found, descriptors


def _poll(connections: Sequence[Connection], deadline: float, readers: Sequence[int]) -> set[Any]:
    deadline = min((connection.due(deadline) for connection in connections), default=deadline)
    # Rounded up: a poll that ends a moment early would spin until its time has come.
    wait = int(max(0.0, deadline - time.monotonic()) * 1000) + 1 if deadline > time.monotonic() else 0
    polled: list[Any] = [item for connection in connections for item in connection.polled()]
    return {item for item, _ in zmq.zmq_poll([(item, zmq.POLLIN) for item in (*polled, *readers)], wait)}


def _explain(event: int, value: int) -> str:
    match event:
        case zmq.EVENT_HANDSHAKE_FAILED_AUTH:
            return f"the controller does not let this key in (ZAP status {value})"
        case zmq.EVENT_DISCONNECTED:
            return "the handshake broke off: what listens there speaks something else, or has another key"
        case _:
            return "the connection was closed in the handshake: check `controller_key`, and what listens on that port"
