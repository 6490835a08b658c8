"""Reads what comes in at both ports: whose frame it is, whether its connection may stay, and whether it is let through.

Used by `wire.server.server` in its thread. What a frame may hold is decided by `wire.server.admission`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import zmq

from wire.codec import encode
from wire.keys import KeyPair
from wire.limits import WireLimits
from wire.messages import Bye, FromRelay, KeyRequest, Refused
from wire.server.admission import ANSWERS, admit
from wire.server.commands import kind_of
from wire.server.connection_watch import ConnectionWatch
from wire.server.connections import Connections
from wire.server.delivery_batch import DeliveryBatch
from wire.server.peers import PeerConnection
from wire.server.relayed_channels import RelayedChannel
from wire.server.relayed_reception import RelayedReception
from wire.server.request_rates import RequestRates, network_of
from wire.server.sending import Sending
from wire.server.sockets import Sockets, address_of, end_connection, sender
from wire.server.types import Identity, Incoming, Limits, Refusal, Registry, is_accepted
from wire.values import most_memory


class Reception:
    """What comes in to one server.

    Args:
        sockets: both ports.
        keys: of the controller.
        connections: by which frames come.
        watch: hears what was read.
        sending: answers refused frames.
        batch: takes messages and refusals.
        registry: says who a key is.
        limits: what one peer may cost.
        borders: the limits of both borders, and who counts what they refuse.
    """

    def __init__(
        self,
        *,
        sockets: Sockets,
        keys: KeyPair,
        connections: Connections,
        watch: ConnectionWatch,
        sending: Sending,
        batch: DeliveryBatch,
        registry: Registry,
        limits: Limits,
        borders: WireLimits,
    ) -> None:
        self._sockets = sockets
        self._connections = connections
        self._watch = watch
        self._sending = sending
        self._batch = batch
        self._registry = registry
        self._limits = limits
        self._borders = borders
        self._rates = RequestRates(borders.stranger, borders.is_controller)
        self._relayed = RelayedReception(
            keys=keys,
            connections=connections,
            sending=sending.relayed,
            batch=batch,
            registry=registry,
            limits=limits,
            borders=borders,
            handle=self._take_opened,
        )

    def read_requests(self) -> bool:
        """Read frames until there are none or the batch is full; whether there are none."""
        size = 0
        for _ in range(self._limits.batch):
            try:
                frames = self._sockets.request.recv_multipart(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                return True
            self._receive(frames)
            size += most_memory(len(frames[-1]), self._borders.minion)
            if size > self._limits.batch_bytes:
                return False
        return False

    def _receive(self, frames: list[zmq.Frame]) -> None:
        sent_by = sender(frames[-1])
        if sent_by is None:
            return
        key, number = sent_by
        routing = frames[0].bytes
        meeting = self._connections.peers.meet(key=key, routing=routing, number=number, turn=self._connections.turn)
        connection = meeting.connection
        if connection.ended:
            return
        identity = self._registry.identity(key)
        self._watch.read(number, sum(map(len, frames)), accepted=is_accepted(identity))
        if meeting.new and not self._connections.welcome(meeting, identity):
            return
        if len(frames) != 2:
            detail = f"{len(frames) - 1} frames where one is expected"
            self._refuse_frame(connection, Refusal(reason="malformed", key=key, detail=detail))
            return
        outcome = self._admit(frames[1].buffer, connection, identity)
        if isinstance(outcome, Incoming) and isinstance(outcome.message, FromRelay):
            self._batch.count("in", kind_of(outcome.message), len(frames[1]))
            if not self._relayed.take(connection, outcome.id or "", outcome.message):
                self._refuse_frame(
                    connection, Refusal(reason="malformed", key=key, id=outcome.id, detail="no relay sends this")
                )
        else:
            self._take(connection, outcome, identity, lambda: self._place_of(frames[1]), len(frames[1]))

    def _admit(
        self, frame: bytes | bytearray | memoryview, peer: PeerConnection | RelayedChannel, identity: Identity | None
    ) -> Incoming | Refusal:
        return admit(
            frame,
            key=peer.key,
            identity=identity,
            limits=self._limits,
            borders=self._borders,
            connection=peer.serial,
        )

    def _place_of(self, frame: zmq.Frame) -> str:
        """What limits of one address are about: the network of the peer, or the controller that it came through."""
        address = address_of(frame)
        return address if self._borders.is_controller(address) else network_of(address)

    def _take_opened(self, channel: RelayedChannel, frame: bytes | bytearray, identity: Identity | None) -> None:
        """Take a message of a minion behind a relay."""
        outcome = self._admit(frame, channel, identity)
        if isinstance(outcome, Incoming):
            outcome = replace(outcome, relay=channel.line.relay)
        self._take(channel, outcome, identity, lambda: f"relay {channel.line.relay}", len(frame))

    def _take(
        self,
        peer: PeerConnection | RelayedChannel,
        outcome: Incoming | Refusal,
        identity: Identity | None,
        address: Callable[[], str],
        size: int,
    ) -> None:
        """Hand over a message that was let through, and answer one that was not.

        Args:
            peer: that sent it.
            outcome: of its admission.
            identity: of its key.
            address: the network that it came from, for key requests.
            size: bytes of the frame.
        """
        if isinstance(outcome, Refusal):
            self._refuse_frame(peer, outcome)
            return
        if isinstance(outcome.message, KeyRequest):
            outcome = replace(outcome, address=address())
            if not is_accepted(identity) and not self._may_ask(peer, outcome.address):
                return
        peer.clean = isinstance(outcome.message, Bye)
        self._batch.count("in", kind_of(outcome.message), size)
        self._batch.add([outcome])

    def _may_ask(self, connection: PeerConnection | RelayedChannel, address: str) -> bool:
        """Whether a key that is not accepted may ask now; if not, it gets no answer and asks again later."""
        now = time.monotonic()
        limit = self._rates.refuse(address, connection.asked, now)
        connection.asked = now
        if limit is None:
            return True
        self._borders.stranger_refused(limit)
        if limit == "request-seconds":  # no minion does this, so it counts as garbage
            self._note_garbage(connection)
        return False

    def _refuse_frame(self, connection: PeerConnection | RelayedChannel, refusal: Refusal) -> None:
        self._batch.record(refusal)
        if not self._note_garbage(connection):
            answer = Refused(message=ANSWERS.get(refusal.reason, "refused"), request=refusal.request)
            self._sending.put(connection, encode(answer), "refused")

    def _note_garbage(self, connection: PeerConnection | RelayedChannel) -> bool:
        """Count a refused frame; True when the connection was ended for it."""
        connection.garbage += 1
        if connection.garbage < self._limits.garbage:
            return False
        self._batch.refuse("garbage", key=connection.key, detail=f"{connection.garbage} refused frames: disconnected")
        self._connections.end(connection)
        return True

    def read_subscriptions(self) -> None:
        """Read who subscribes; one that sends anything else is ended."""
        for _ in range(self._limits.batch):
            try:
                frames = self._sockets.publish.recv_multipart(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                return
            sent_by = sender(frames[-1])
            if sent_by is None:
                continue
            key, number = sent_by
            self._watch.read(number, len(frames[-1]), accepted=True, publish=True)
            if not self._connections.subscribers.record(
                key, number, frames[-1].bytes, limit=self._limits.subscriptions
            ):
                self._batch.refuse("garbage", key=key, detail="on the publish port: disconnected")
                end_connection(number, self._sockets.ports.publish)
