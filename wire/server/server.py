"""The controller's end of the wire: a thread that owns both ports and serves them in batches.

Started by the controller's composition root; `send`, `publish` and `disconnect` may be called from any thread, and
what comes in is handed to `deliver` from the server's own. Must not wait for a peer, look into a message beyond what
`wire.server.admission` checks, or decide who is accepted.

A turn of the loop: handshakes, commands of other threads, frames until there are none or the batch is full, events of
the monitors, one delivery.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import zmq

from wire.address import Bind, PortPair
from wire.codec import MAX_TO_MINION, encode
from wire.errors import MalformedMessage
from wire.keys import KeyPair
from wire.limits import WireLimits
from wire.messages import Heartbeat, KeyState, Refused, ToMinion
from wire.server.commands import Command, Disconnect, Publish, Send, kind_of
from wire.server.connection_watch import ConnectionWatch
from wire.server.connections import Connections
from wire.server.delivery_batch import DeliveryBatch
from wire.server.reception import Reception
from wire.server.relayed_channels import counts_of
from wire.server.sending import Sending
from wire.server.sockets import Sockets, answer_handshakes, open_sockets
from wire.server.types import Delivery, Limits, Registry, RelayCounts
from wire.server.unread_bytes import UnreadBytes

_LOG = logging.getLogger("saltern.wire")

Deliver = Callable[[list[Delivery]], None]


class Server:
    """Both ports of a controller.

    Args:
        bind: its addresses.
        keys: its own.
        registry: says who a key is.
        deliver: takes what came, in the server's thread.
        limits: what one peer, or all of them, can cost.
        borders: the limits of strangers and of minions, and who counts what they refuse.
        expected: how many keys are accepted: `limits.stranger.connections` leaves room for that many.
    """

    def __init__(
        self,
        bind: Bind,
        keys: KeyPair,
        registry: Registry,
        deliver: Deliver,
        *,
        limits: Limits | None = None,
        borders: WireLimits | None = None,
        expected: Callable[[], int] = lambda: 0,
    ) -> None:
        self._bind = bind
        self._keys = keys
        self._registry = registry
        self._deliver = deliver
        self._limits = limits or Limits()
        self._borders = borders or WireLimits()
        self._expected = expected
        self._commands: deque[Command] = deque()
        self._wakeup = -1
        self._waking = threading.Lock()
        self._woken = False
        """The thread has been woken and has not begun to carry out commands; written by others only to True."""
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._held = False
        self._drained = True
        """The last turn left nothing to be read."""
        self._rests = False
        """The thread waits, and nothing was left to be read when it began to."""
        self._drained_at = time.monotonic()
        self._ports: PortPair | None = None
        self._batch = DeliveryBatch()
        self._unread = UnreadBytes(lambda key: self._connections.peer(key))
        self._sockets: Sockets
        self._watch: ConnectionWatch
        self._connections: Connections
        self._sending: Sending
        self._reception: Reception

    @property
    def ports(self) -> PortPair:
        """The bound ports; only after `start`."""
        if self._ports is None:
            raise RuntimeError("the server has not been started")
        return self._ports

    def start(self) -> None:
        """Binds and serves; CannotBind when an address is not to be had."""
        self._sockets = open_sockets(self._bind, self._keys, self._limits)
        self._ports = self._sockets.ports
        self._wakeup = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._watch = ConnectionWatch(self._ports, self._borders, self._expected)
        self._connections = Connections(self._sockets, self._watch, self._batch, self._registry, self._borders)
        self._sending = Sending(
            self._sockets,
            self._connections,
            self._batch,
            self._registry,
            borders=self._borders,
            unread=self._unread,
        )
        self._reception = Reception(
            sockets=self._sockets,
            keys=self._keys,
            connections=self._connections,
            watch=self._watch,
            sending=self._sending,
            batch=self._batch,
            registry=self._registry,
            limits=self._limits,
            borders=self._borders,
        )
        self._thread = threading.Thread(target=self._serve, name="wire", daemon=True)
        self._thread.start()
        self._watch.start()

    def stop(self) -> None:
        """Ends the thread and closes everything; does nothing the second time."""
        if self._thread is None:
            return
        self._stopping = True
        os.eventfd_write(self._wakeup, 1)
        self._thread.join()
        with self._waking:
            self._thread = None
            os.close(self._wakeup)

    def send(self, key: str, message: ToMinion) -> None:
        """Sends to the peer with this key; a `Gone` is delivered when it is not there.

        MalformedMessage when the message is larger than a minion reads.
        """
        self.send_all([(key, message)])

    def send_all(self, messages: Sequence[tuple[str, ToMinion]]) -> None:
        """Sends to the peers with these keys, as `send` does; none is sent when one of them is too large."""
        sends = [_sending_of(key, message) for key, message in messages]
        for each in sends:
            self._unread.queued(len(each.frame))
        self._commands.extend(sends)
        self._wake()

    def publish(self, heartbeat: Heartbeat) -> None:
        """Sends to every accepted key that is subscribed; a subscriber that is too slow misses it."""
        self._submit(Publish(frame=encode(heartbeat)))

    def disconnect(self, key: str, refused_seconds: float = 0.0, connection: int = 0) -> None:
        """Ends the connections of this key on both ports. It may connect again, and is judged anew.

        Args:
            key: of the peer.
            refused_seconds: until it may connect again.
            connection: by which a message came (`Incoming.connection`): one that was opened since is left; 0: any.
        """
        self._submit(Disconnect(key=key, refused_seconds=refused_seconds, connection=connection))

    def hold(self) -> None:
        """Reads no more messages until `resume`: peers are held back by their own queues."""
        if self._rests:
            self._drained_at = time.monotonic()
        self._rests, self._held = False, True

    def resume(self) -> None:
        """Reads messages again."""
        self._rests, self._held = False, False
        self._wake()

    def read_until(self) -> float:
        """All that had come at this time, by the monotonic clock, has been read, and delivered but for some ms.

        Nothing comes to a server that does not run.
        """
        return time.monotonic() if self._rests or self._thread is None else self._drained_at

    def has_room(self, key: str = "") -> bool:
        """Whether something large may be sent now, and to this key: not where too much waits to be read.

        See `MinionLimits.total_unread_bytes` and `answered_bytes`. What is sent all the same is sent.
        """
        limits = self._borders.minion
        if self._unread.total >= limits.total_unread_bytes:
            return False
        return not key or self._unread.of(key) < limits.answered_bytes

    def counts(self) -> Mapping[str, int]:
        """Counters since the start, and `peers`, `connections`, `subscribers` as they are now.

        messages_in, messages_out, bytes_in, bytes_out; in.KIND and out.KIND by message; refused.REASON;
        handshakes-failed; connection-dropped: connections that ended without a goodbye; connections-unheard: that
        ended before anything authenticated came by them; stranger-bytes: that no message was made of; errors: of ours.
        """
        if self._thread is None:
            return dict(self._batch.counts) | {"peers": 0, "connections": 0, "subscribers": 0, "stranger-bytes": 0}
        now = {
            "peers": len(self._connections.peers) + len(self._connections.relayed),
            "connections": self._connections.open,
            "subscribers": len(self._connections.subscribers),
            "stranger-bytes": self._watch.stranger_bytes(),
        }
        return dict(self._batch.counts) | now

    def stranger_connections(self) -> int:
        """Connections to the request port by which no message of an accepted key has come."""
        return self._watch.stranger_connections() if self._thread is not None else 0

    def stranger_bytes(self) -> int:
        """Bytes that these have sent and that are no complete message."""
        return self._watch.stranger_bytes() if self._thread is not None else 0

    def relays(self) -> tuple[RelayCounts, ...]:
        """The relays that are connected."""
        return tuple(map(counts_of, self._connections.relayed.lines())) if self._thread is not None else ()

    # --- in the server's thread

    def _submit(self, command: Command) -> None:
        self._commands.append(command)
        self._wake()

    def _wake(self) -> None:
        if self._woken:
            return  # it looks at what there is to do after it has taken this back
        with self._waking:  # else another thread might write to what `stop` has just closed
            if self._thread is not None:
                self._woken = True
                os.eventfd_write(self._wakeup, 1)

    def _serve(self) -> None:
        try:
            while not self._stopping:
                try:
                    self._take_turn()
                except Exception:
                    # All minions depend on this thread: an error may cost a frame, never the thread.
                    self._batch.counts["errors"] += 1
                    _LOG.exception("the wire's thread goes on after an error")
                    time.sleep(0.05)
        finally:
            self._watch.stop()
            self._sockets.close()

    def _take_turn(self) -> None:
        sockets = self._sockets
        polled: list[Any] = [
            sockets.zap,
            sockets.publish,
            sockets.request_monitor,
            sockets.publish_monitor,
            self._wakeup,
        ]
        if not self._held:
            polled.append(sockets.request)
        held = sockets.request not in polled
        wait = _sooner(self._batch.wait_milliseconds(), self._unread.wait_milliseconds())
        self._rests = self._drained and not held
        ready: set[Any] = {item for item, _ in zmq.zmq_poll([(item, zmq.POLLIN) for item in polled], wait)}
        if self._rests:
            self._drained_at = time.monotonic()
        self._rests = False
        self._connections.turn += 1
        if self._wakeup in ready:
            os.eventfd_read(self._wakeup)
            self._woken = False  # not before: else what wakes it in between would be read with the rest
        if sockets.zap in ready:
            answer_handshakes(sockets.zap, self._connections.judge_handshake)
        self._sending.run(self._commands)
        if sockets.request in ready:
            self._drained = self._reception.read_requests()
        elif not held:
            self._drained = True
        if sockets.publish in ready:
            self._reception.read_subscriptions()
        self._connections.take_events()
        self._sending.flush_relays()
        self._unread.look()
        if batch := self._batch.take():
            self._deliver(batch)


def _sooner(first: int, second: int) -> int:
    """The shorter of two times to wait; -1 is for ever."""
    return max(first, second) if min(first, second) < 0 else min(first, second)


def _sending_of(key: str, message: ToMinion) -> Send:
    frame = encode(message)
    if len(frame) > MAX_TO_MINION:
        raise MalformedMessage(f"a message of {len(frame)} bytes, and {MAX_TO_MINION} is the most that is read")
    return Send(key=key, frame=frame, kind=kind_of(message), to_anyone=isinstance(message, KeyState | Refused))
