"""Sends to peers and subscribers, in the server's thread. Waits for nobody."""

from __future__ import annotations

from collections import deque
from typing import assert_never

import zmq

from wire.codec import encode
from wire.limits import WireLimits
from wire.messages import ToRelay
from wire.server.commands import Command, Disconnect, Publish, Send
from wire.server.connection_watch import bytes_acknowledged
from wire.server.connections import Connections
from wire.server.delivery_batch import DeliveryBatch
from wire.server.peers import PeerConnection
from wire.server.relayed_channels import RelayedChannel
from wire.server.relayed_sending import RelayedSending
from wire.server.sockets import Sockets, end_connection
from wire.server.types import Gone, Registry, is_accepted
from wire.server.unread_bytes import UnreadBytes


class Sending:
    """What goes out of one server.

    Args:
        sockets: both ports.
        connections: by which messages are sent.
        batch: takes refusals, and whose peer is gone.
        registry: says which keys are accepted.
        borders: how much may wait for a peer, and who counts what is refused.
        unread: counts what waits for all of them; None: nobody asks.
    """

    def __init__(
        self,
        sockets: Sockets,
        connections: Connections,
        batch: DeliveryBatch,
        registry: Registry,
        *,
        borders: WireLimits,
        unread: UnreadBytes | None = None,
    ) -> None:
        self._sockets = sockets
        self._connections = connections
        self._batch = batch
        self._registry = registry
        self._borders = borders
        self._unread = unread
        self.relayed = RelayedSending(connections.relayed, borders)

    def run(self, commands: deque[Command]) -> None:
        """Carry out what other threads have asked for until now."""
        for _ in range(len(commands)):
            command = commands.popleft()
            match command:
                case Send():
                    if self._unread is not None:
                        self._unread.queued(-len(command.frame))
                    self._transmit(command)
                case Publish():
                    self._broadcast(command.frame)
                case Disconnect():
                    self._connections.end_key(command.key, command.refused_seconds, command.connection)
                case _:
                    assert_never(command)

    def _transmit(self, command: Send) -> None:
        peer = self._connections.peer(command.key)
        if peer is None:
            self._batch.counts["refused.unroutable"] += 1
            self._batch.add([Gone(key=command.key)])
            return
        identity = self._registry.identity(command.key)
        if not command.to_anyone and not is_accepted(identity):
            # Last line of defence: the key may have been rejected while this waited.
            detail = f"a {command.kind} for a key that is not accepted was not sent"
            self._batch.refuse("not-accepted", key=command.key, identity=identity, detail=detail)
            return
        self.put(peer, command.frame, command.kind)

    def put(self, peer: PeerConnection | RelayedChannel, frame: bytes, kind: str) -> None:
        """Send to this peer; one that does not read what it is sent is ended."""
        if isinstance(peer, RelayedChannel):
            self._put_by_relay(peer, frame, kind)
        else:
            self._put_by_connection(peer, frame, kind)

    def _put_by_relay(self, channel: RelayedChannel, frame: bytes, kind: str) -> None:
        accepted = is_accepted(self._registry.identity(channel.key))
        if channel.ended or self.relayed.put(channel, frame, accepted=accepted):
            self._note_sent(channel, kind, len(frame))
            return
        self._borders.minion_refused("unread-bytes")
        self._batch.refuse("overflow", key=channel.key, detail="does not read what it is sent: disconnected")
        self._connections.end_channel(channel, "overflow")

    def flush_relays(self) -> None:
        """Send to relays what this turn has for the minions behind them."""
        for line in self._connections.relayed.lines():
            for frames in self.relayed.packed(line):
                line.read_told = line.read
                self.put(line.connection, encode(ToRelay(frames=frames, taken=line.read)), "to-relay")

    def _put_by_connection(self, connection: PeerConnection, frame: bytes, kind: str) -> None:
        if self._reads_nothing(connection):
            self._borders.minion_refused("unread-bytes")
            self._batch.refuse("overflow", key=connection.key, detail="does not read what it is sent: disconnected")
            self._connections.end(connection)
            return
        connection.sent += len(frame)
        connection.largest = max(connection.largest, len(frame))
        try:
            self._sockets.request.send_multipart([connection.routing, frame], zmq.NOBLOCK)
        except zmq.Again:
            self._batch.refuse("overflow", key=connection.key, detail="does not read what it is sent: disconnected")
            self._connections.end(connection)
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
            self._batch.counts["refused.unroutable"] += 1
            self._connections.lose(connection)
        else:
            self._note_sent(connection, kind, len(frame))

    def _note_sent(self, peer: PeerConnection | RelayedChannel, kind: str, size: int) -> None:
        self._batch.count("out", kind, size)
        if self._unread is not None:
            self._unread.sent(peer, size)

    def _reads_nothing(self, connection: PeerConnection) -> bool:
        """Whether more waits for a peer than may. What its system has received counts as read."""
        allowed = self._borders.minion.unread_bytes + connection.largest
        if connection.sent - connection.acknowledged <= allowed:
            return False
        try:
            connection.acknowledged = bytes_acknowledged(connection.number)
        except OSError:
            return False  # it is over, as libzmq will tell
        return connection.sent - connection.acknowledged > allowed

    def _broadcast(self, frame: bytes) -> None:
        for number, key in self._connections.subscribers.all():
            if not is_accepted(self._registry.identity(key)):
                end_connection(number, self._sockets.ports.publish)
        self._sockets.publish.send(frame, zmq.NOBLOCK)
        self._batch.count("out", "beat", len(frame))
