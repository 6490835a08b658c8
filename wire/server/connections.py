"""The connections of both ports: which are let in, which end, and what that means for their keys.

Used by `wire.server.server` and by what reads and sends in its thread. Reads no message.
"""

from __future__ import annotations

import time

import zmq

from wire.limits import WireLimits
from wire.server.connection_watch import ConnectionWatch
from wire.server.delivery_batch import DeliveryBatch
from wire.server.peers import PeerConnection, Peers
from wire.server.sockets import PUBLISH_DOMAIN, Sockets, end_connection, monitor_events
from wire.server.subscribers import Subscribers
from wire.server.types import Gone, Registry, is_accepted


class Connections:
    """The connections of one server.

    Args:
        sockets: both ports.
        watch: hears of each connection.
        batch: hears which keys are gone, and what was refused.
        registry: says which keys are accepted.
        borders: how long a minion that exceeded a limit is refused, and who counts that.
    """

    def __init__(
        self,
        sockets: Sockets,
        watch: ConnectionWatch,
        batch: DeliveryBatch,
        registry: Registry,
        borders: WireLimits,
    ) -> None:
        self._sockets = sockets
        self._watch = watch
        self._batch = batch
        self._registry = registry
        self._borders = borders
        self._refused_until: dict[str, float] = {}
        """Accepted key -> when it may connect again, by the monotonic clock."""
        self.peers = Peers()
        self.subscribers = Subscribers()
        self.turn = 0
        """Of the server's loop."""
        self.open = 0
        """Connections to the request port."""

    def judge_handshake(self, domain: bytes, key: str) -> int:
        """The ZAP status of a handshake: 200 or 400."""
        if is_accepted(self._registry.identity(key)):
            return 400 if domain != PUBLISH_DOMAIN and self._is_refused(key) else 200
        if domain == PUBLISH_DOMAIN:
            self._batch.refuse("not-accepted", key=key, detail="asked for the publish port")
            return 400
        return 200  # `ConnectionWatch` bounds how many there are

    def _is_refused(self, key: str) -> bool:
        """Whether a key is not to connect yet, after what it did."""
        until = self._refused_until.get(key)
        if until is None:
            return False
        if time.monotonic() >= until:
            del self._refused_until[key]
            return False
        self._borders.minion_refused("refused-seconds")
        return True

    def _refuse_for(self, key: str, seconds: float) -> None:
        if seconds > 0 and is_accepted(self._registry.identity(key)):
            self._refused_until[key] = time.monotonic() + seconds

    def take_events(self) -> None:
        """Handle events of the monitors. After reading: what a connection sent came before its end."""
        events = list(monitor_events(self._sockets.request_monitor))
        last = {number: event for event, number in events if event in (zmq.EVENT_ACCEPTED, zmq.EVENT_DISCONNECTED)}
        for event, number in events:
            if event == zmq.EVENT_ACCEPTED:
                self.open += 1
                self._watch.opened(number, publish=False)
            elif event == zmq.EVENT_DISCONNECTED:
                self.open -= 1
                over_limit = self._watch.closed(number, publish=False)
                connection = self.peers.closed(number, turn=self.turn, reopened=last[number] == zmq.EVENT_ACCEPTED)
                if connection is not None:
                    self._refuse_for(connection.key, self._borders.minion.refused_seconds if over_limit else 0.0)
                    self._note_end(connection)
                else:
                    self._batch.counts["connections-unheard"] += 1
            else:
                self._batch.counts["handshakes-failed"] += 1
        self._take_subscriber_events()
        self._watch.turned()

    def _take_subscriber_events(self) -> None:
        for event, number in monitor_events(self._sockets.publish_monitor):
            if event == zmq.EVENT_ACCEPTED:
                self._watch.opened(number, publish=True)
            elif event == zmq.EVENT_DISCONNECTED:
                self._watch.closed(number, publish=True)
                self._batch.counts["connections-unheard"] += not self.subscribers.closed(number)
            else:
                self._batch.counts["handshakes-failed"] += 1

    def _note_end(self, connection: PeerConnection) -> None:
        if not (connection.clean or connection.ended):
            self._batch.counts["connection-dropped"] += 1
        self.lose(connection)

    def lose(self, connection: PeerConnection) -> None:
        """A connection is over."""
        if self.peers.forget(connection):
            self._batch.add([Gone(key=connection.key)])

    def end(self, connection: PeerConnection) -> None:
        """End a connection; its record stays until libzmq has seen the end, so that what it sent is dropped."""
        connection.ended = True
        end_connection(connection.number, self._sockets.ports.request)
        if self.peers.unbind(connection):
            self._batch.add([Gone(key=connection.key)])

    def end_key(self, key: str, refused_seconds: float) -> None:
        """End the connections of a key on both ports, and let an accepted one in again after so many seconds."""
        self._refuse_for(key, refused_seconds)
        connection = self.peers.get(key)
        if connection is not None:
            self.end(connection)
        for number in self.subscribers.of(key):
            end_connection(number, self._sockets.ports.publish)
