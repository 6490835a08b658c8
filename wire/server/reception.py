"""Reads what comes in at both ports: whose frame it is, whether its connection may stay, and whether it is let through.

Used by `wire.server.server` in its thread. What a frame may hold is decided by `wire.server.admission`.
"""

from __future__ import annotations

import time
from dataclasses import replace

import zmq

from wire.codec import encode
from wire.limits import WireLimits
from wire.messages import Bye, KeyRequest, Refused
from wire.server.admission import ANSWERS, admit
from wire.server.commands import kind_of
from wire.server.connection_watch import ConnectionWatch
from wire.server.connections import Connections
from wire.server.delivery_batch import DeliveryBatch
from wire.server.peers import SHORTEST_ROUTING_ID, Meeting, PeerConnection
from wire.server.request_rates import RequestRates, network_of
from wire.server.sending import Sending
from wire.server.sockets import Sockets, address_of, end_connection, sender
from wire.server.types import Gone, Identity, Incoming, Limits, Refusal, Registry, is_accepted
from wire.values import most_memory


class Reception:
    """What comes in to one server.

    Args:
        sockets: both ports.
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
        self._rates = RequestRates(borders.stranger)

    def read_requests(self) -> None:
        """Read frames until there are none or the batch is full."""
        size = 0
        for _ in range(self._limits.batch):
            try:
                frames = self._sockets.request.recv_multipart(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                return
            self._receive(frames)
            size += most_memory(len(frames[-1]), self._borders.minion)
            if size > self._limits.batch_bytes:
                return

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
        if meeting.new and not self._welcome(meeting, identity):
            return
        if len(frames) != 2:
            detail = f"{len(frames) - 1} frames where one is expected"
            outcome: Incoming | Refusal = Refusal(reason="malformed", key=key, detail=detail)
        else:
            outcome = admit(frames[1].buffer, key=key, identity=identity, limits=self._limits, borders=self._borders)
        if isinstance(outcome, Incoming) and isinstance(outcome.message, KeyRequest):
            outcome = replace(outcome, address=network_of(address_of(frames[1])))
            if not is_accepted(identity) and not self._may_ask(connection, outcome.address):
                return
        if isinstance(outcome, Incoming):
            connection.clean = isinstance(outcome.message, Bye)
            self._batch.count("in", kind_of(outcome.message), len(frames[1]))
            self._batch.add([outcome])
        else:
            self._refuse_frame(connection, outcome)

    def _may_ask(self, connection: PeerConnection, address: str) -> bool:
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

    def _welcome(self, meeting: Meeting, identity: Identity | None) -> bool:
        """Whether a new connection may stay."""
        connection = meeting.connection
        self._batch.add(Gone(key=key) for key in meeting.gone)
        if meeting.hostile or len(connection.routing) < SHORTEST_ROUTING_ID:
            detail = "somebody else's" if meeting.hostile else f"only {len(connection.routing)} bytes"
            self._batch.refuse("routing-id", key=connection.key, identity=identity, detail=detail)
            self._connections.end(connection)
            return False
        if meeting.superseded is not None:
            self._batch.refuse(
                "superseded", key=connection.key, identity=identity, detail="has opened another connection"
            )
            end_connection(meeting.superseded.number, self._sockets.ports.request)
        return True

    def _refuse_frame(self, connection: PeerConnection, refusal: Refusal) -> None:
        self._batch.record(refusal)
        if not self._note_garbage(connection):
            answer = Refused(message=ANSWERS.get(refusal.reason, "refused"), request=refusal.request)
            self._sending.put(connection, encode(answer), "refused")

    def _note_garbage(self, connection: PeerConnection) -> bool:
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
