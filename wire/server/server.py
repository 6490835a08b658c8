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
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any, assert_never

import zmq

from wire.address import Bind, PortPair
from wire.errors import MalformedMessage
from wire.keys import KeyPair
from wire.messages import MAX_TO_MINION, Bye, Heartbeat, KeyState, Refused, ToController, ToMinion, encode
from wire.server.admission import ANSWERS, admit
from wire.server.commands import Command, Disconnect, Publish, Send
from wire.server.peers import SHORTEST_ROUTING_ID, Meeting, PeerConnection, Peers
from wire.server.sockets import (
    PUBLISH_DOMAIN,
    Sockets,
    answer_handshakes,
    end_connection,
    monitor_events,
    open_sockets,
    sender,
)
from wire.server.subscribers import Subscribers
from wire.server.types import Delivery, Gone, Identity, Incoming, Limits, Refusal, RefusalReason, Registry

_LOG = logging.getLogger("saltern.wire")

_REPORTED_REFUSALS = 100
"""Refusals of one delivery; more than these are only counted."""

Deliver = Callable[[list[Delivery]], None]


class Server:
    """Both ports of a controller."""

    def __init__(
        self, bind: Bind, keys: KeyPair, registry: Registry, deliver: Deliver, *, limits: Limits | None = None
    ) -> None:
        self._bind = bind
        self._keys = keys
        self._registry = registry
        self._deliver = deliver
        self._limits = limits or Limits()
        self._commands: deque[Command] = deque()
        self._wakeup = -1
        self._waking = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._held = False
        self._ports: PortPair | None = None
        self._peers = Peers()
        self._subscribers = Subscribers()
        self._counts: Counter[str] = Counter()
        self._batch: list[Delivery] = []
        self._refusals = 0
        self._turn = 0
        self._open = 0
        self._sockets: Sockets

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
        self._thread = threading.Thread(target=self._serve, name="wire", daemon=True)
        self._thread.start()

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
        frame = encode(message)
        if len(frame) > MAX_TO_MINION:
            raise MalformedMessage(f"a message of {len(frame)} bytes, and {MAX_TO_MINION} is the most that is read")
        to_anyone = isinstance(message, KeyState | Refused)
        self._submit(Send(key=key, frame=frame, kind=_kind(message), to_anyone=to_anyone))

    def publish(self, heartbeat: Heartbeat) -> None:
        """Sends to every accepted key that is subscribed; a subscriber that is too slow misses it."""
        self._submit(Publish(frame=encode(heartbeat)))

    def disconnect(self, key: str) -> None:
        """Ends the connections of this key on both ports. It may connect again, and is judged anew."""
        self._submit(Disconnect(key=key))

    def hold(self) -> None:
        """Reads no more messages until `resume`: peers are held back by their own queues."""
        self._held = True

    def resume(self) -> None:
        """Reads messages again."""
        self._held = False
        self._wake()

    def counts(self) -> Mapping[str, int]:
        """Counters since the start, and `peers`, `connections`, `subscribers` as they are now.

        messages_in, messages_out, bytes_in, bytes_out; in.KIND and out.KIND by message; refused.REASON;
        handshakes-failed; connection-dropped: connections that ended without a goodbye; connections-unheard: that
        ended before anything authenticated came by them; errors: of ours.
        """
        now = {"peers": len(self._peers), "connections": self._open, "subscribers": len(self._subscribers)}
        return dict(self._counts) | now

    # --- in the server's thread

    def _submit(self, command: Command) -> None:
        self._commands.append(command)
        self._wake()

    def _wake(self) -> None:
        with self._waking:  # else another thread might write to what `stop` has just closed
            if self._thread is not None:
                os.eventfd_write(self._wakeup, 1)

    def _serve(self) -> None:
        try:
            while not self._stopping:
                try:
                    self._take_turn()
                except Exception:
                    # All minions depend on this thread: an error may cost a frame, never the thread.
                    self._counts["errors"] += 1
                    _LOG.exception("the wire's thread goes on after an error")
                    time.sleep(0.05)
        finally:
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
        ready: set[Any] = {item for item, _ in zmq.zmq_poll([(item, zmq.POLLIN) for item in polled], -1)}
        self._turn += 1
        if self._wakeup in ready:
            os.eventfd_read(self._wakeup)
        if sockets.zap in ready:
            answer_handshakes(sockets.zap, self._judge_handshake)
        self._run_commands()
        if sockets.request in ready:
            self._read_requests()
        if sockets.publish in ready:
            self._read_subscriptions()
        self._watch()
        if self._batch:
            batch, self._batch, self._refusals = self._batch, [], 0
            self._deliver(batch)

    def _judge_handshake(self, domain: bytes, key: str) -> int:
        if self._accepted(self._registry.identity(key)):
            return 200
        if domain == PUBLISH_DOMAIN:
            self._refuse("not-accepted", key=key, detail="asked for the publish port")
            return 400
        unaccepted = self._open - len(self._peers) + self._peers.unaccepted()
        if unaccepted > self._limits.unaccepted_peers:
            self._refuse("overflow", key=key, detail="too many peers that are not accepted")
            return 300
        return 200

    def _run_commands(self) -> None:
        for _ in range(len(self._commands)):
            command = self._commands.popleft()
            match command:
                case Send():
                    self._transmit(command)
                case Publish():
                    self._broadcast(command.frame)
                case Disconnect():
                    self._end_key(command.key)
                case _:
                    assert_never(command)

    def _transmit(self, command: Send) -> None:
        connection = self._peers.get(command.key)
        if connection is None:
            self._counts["refused.unroutable"] += 1
            self._batch.append(Gone(key=command.key))
            return
        identity = self._registry.identity(command.key)
        if not command.to_anyone and not self._accepted(identity):
            # Last line of defence: the key may have been rejected while this waited.
            detail = f"a {command.kind} for a key that is not accepted was not sent"
            self._refuse("not-accepted", key=command.key, identity=identity, detail=detail)
            return
        self._put(connection, command.frame, command.kind)

    def _put(self, connection: PeerConnection, frame: bytes, kind: str) -> None:
        try:
            self._sockets.request.send_multipart([connection.routing, frame], zmq.NOBLOCK)
        except zmq.Again:
            self._refuse("overflow", key=connection.key, detail="does not read what it is sent: disconnected")
            self._end(connection)
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
            self._counts["refused.unroutable"] += 1
            self._lose(connection)
        else:
            self._count("out", kind, len(frame))

    def _broadcast(self, frame: bytes) -> None:
        for number, key in self._subscribers.all():
            if not self._accepted(self._registry.identity(key)):
                end_connection(number, self.ports.publish)
        self._sockets.publish.send(frame, zmq.NOBLOCK)
        self._count("out", "beat", len(frame))

    def _read_requests(self) -> None:
        size = 0
        for _ in range(self._limits.batch):
            try:
                frames = self._sockets.request.recv_multipart(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                return
            self._receive(frames)
            size += len(frames[-1])
            if size > self._limits.batch_bytes:
                return

    def _receive(self, frames: list[zmq.Frame]) -> None:
        sent_by = sender(frames[-1])
        if sent_by is None:
            return
        key, number = sent_by
        routing = frames[0].bytes
        meeting = self._peers.meet(key=key, routing=routing, number=number, turn=self._turn)
        connection = meeting.connection
        if connection.ended:
            return
        identity = self._registry.identity(key)
        if meeting.new and not self._welcome(meeting, identity):
            return
        self._peers.note(key, identity)
        if len(frames) != 2:
            detail = f"{len(frames) - 1} frames where one is expected"
            outcome: Incoming | Refusal = Refusal(reason="malformed", key=key, detail=detail)
        else:
            outcome = admit(frames[1].buffer, key=key, identity=identity, limits=self._limits)
        if isinstance(outcome, Incoming):
            connection.clean = isinstance(outcome.message, Bye)
            self._count("in", _kind(outcome.message), len(frames[1]))
            self._batch.append(outcome)
        else:
            self._refuse_frame(connection, outcome)

    def _welcome(self, meeting: Meeting, identity: Identity | None) -> bool:
        """Whether a new connection may stay."""
        connection = meeting.connection
        self._batch.extend(Gone(key=key) for key in meeting.gone)
        if meeting.hostile or len(connection.routing) < SHORTEST_ROUTING_ID:
            detail = "somebody else's" if meeting.hostile else f"only {len(connection.routing)} bytes"
            self._refuse("routing-id", key=connection.key, identity=identity, detail=detail)
            self._end(connection)
            return False
        if meeting.superseded is not None:
            self._refuse("superseded", key=connection.key, identity=identity, detail="has opened another connection")
            end_connection(meeting.superseded.number, self.ports.request)
        if not self._accepted(identity) and self._peers.unaccepted() >= self._limits.unaccepted_peers:
            self._refuse("overflow", key=connection.key, detail="too many peers that are not accepted")
            self._end(connection)
            return False
        return True

    def _refuse_frame(self, connection: PeerConnection, refusal: Refusal) -> None:
        self._record(refusal)
        connection.garbage += 1
        if connection.garbage >= self._limits.garbage:
            self._refuse("garbage", key=refusal.key, detail=f"{connection.garbage} refused frames: disconnected")
            self._end(connection)
        else:
            self._put(connection, encode(Refused(message=ANSWERS.get(refusal.reason, "refused"))), "refused")

    def _read_subscriptions(self) -> None:
        for _ in range(self._limits.batch):
            try:
                frames = self._sockets.publish.recv_multipart(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                return
            sent_by = sender(frames[-1])
            if sent_by is None:
                continue
            key, number = sent_by
            if not self._subscribers.record(key, number, frames[-1].bytes, limit=self._limits.subscriptions):
                self._refuse("garbage", key=key, detail="on the publish port: disconnected")
                end_connection(number, self.ports.publish)

    def _watch(self) -> None:
        """Handle events of the monitors. After reading: what a connection sent came before its end."""
        events = list(monitor_events(self._sockets.request_monitor))
        last = {number: event for event, number in events if event in (zmq.EVENT_ACCEPTED, zmq.EVENT_DISCONNECTED)}
        for event, number in events:
            if event == zmq.EVENT_ACCEPTED:
                self._open += 1
            elif event == zmq.EVENT_DISCONNECTED:
                self._open -= 1
                connection = self._peers.closed(number, turn=self._turn, reopened=last[number] == zmq.EVENT_ACCEPTED)
                if connection is not None:
                    self._note_end(connection)
                else:
                    self._counts["connections-unheard"] += 1
            else:
                self._counts["handshakes-failed"] += 1
        for event, number in monitor_events(self._sockets.publish_monitor):
            if event == zmq.EVENT_DISCONNECTED:
                self._counts["connections-unheard"] += not self._subscribers.closed(number)
            elif event != zmq.EVENT_ACCEPTED:
                self._counts["handshakes-failed"] += 1

    def _note_end(self, connection: PeerConnection) -> None:
        if not (connection.clean or connection.ended):
            self._counts["connection-dropped"] += 1
        self._lose(connection)

    def _lose(self, connection: PeerConnection) -> None:
        if self._peers.forget(connection):
            self._batch.append(Gone(key=connection.key))

    def _end(self, connection: PeerConnection) -> None:
        """Ends a connection; its record stays until libzmq has seen the end, so that what it sent is dropped."""
        connection.ended = True
        end_connection(connection.number, self.ports.request)
        if self._peers.unbind(connection):
            self._batch.append(Gone(key=connection.key))

    def _end_key(self, key: str) -> None:
        connection = self._peers.get(key)
        if connection is not None:
            self._end(connection)
        for number, subscriber in self._subscribers.all():
            if subscriber == key:
                end_connection(number, self.ports.publish)

    def _refuse(
        self, reason: RefusalReason, *, key: str | None, identity: Identity | None = None, detail: str = ""
    ) -> None:
        self._record(Refusal(reason=reason, key=key, id=identity.id if identity is not None else None, detail=detail))

    def _record(self, refusal: Refusal) -> None:
        self._counts[f"refused.{refusal.reason}"] += 1
        self._refusals += 1
        if self._refusals <= _REPORTED_REFUSALS:
            self._batch.append(refusal)

    def _count(self, direction: str, kind: str, size: int) -> None:
        self._counts[f"messages_{direction}"] += 1
        self._counts[f"bytes_{direction}"] += size
        self._counts[f"{direction}.{kind}"] += 1

    def _accepted(self, identity: Identity | None) -> bool:
        return identity is not None and identity.state == "accepted"


def _kind(message: ToController | ToMinion) -> str:
    return str(type(message).__struct_config__.tag)
