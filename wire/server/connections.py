"""The connections of both ports: which are let in, which end, and what that means for their keys.

Used by `wire.server.server` and by what reads and sends in its thread. Reads no message.
"""

from __future__ import annotations

import time

import zmq

from wire.limits import WireLimits
from wire.server.connection_watch import ConnectionWatch
from wire.server.delivery_batch import DeliveryBatch
from wire.server.peers import SHORTEST_ROUTING_ID, Meeting, PeerConnection, Peers
from wire.server.relayed_channels import ChannelEnd, RelayedChannel, RelayedChannels
from wire.server.sockets import PUBLISH_DOMAIN, Sockets, end_connection, monitor_events
from wire.server.subscribers import Subscribers
from wire.server.types import Gone, Identity, Registry, is_accepted


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
        self.relayed = RelayedChannels()
        self.subscribers = Subscribers()
        self.turn = 0
        """Of the server's loop."""
        self.open = 0
        """Connections to the request port."""

    def judge_handshake(self, domain: bytes, key: str) -> int:
        """The ZAP status of a handshake: 200 or 400."""
        if is_accepted(self._registry.identity(key)):
            return 400 if domain != PUBLISH_DOMAIN and self.is_refused(key) else 200
        if domain == PUBLISH_DOMAIN:
            self._batch.refuse("not-accepted", key=key, detail="asked for the publish port")
            return 400
        return 200  # `ConnectionWatch` bounds how many there are

    def is_refused(self, key: str) -> bool:
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

    def welcome(self, meeting: Meeting, identity: Identity | None) -> bool:
        """Whether a new connection may stay."""
        connection = meeting.connection
        self._batch.add(Gone(key=key) for key in meeting.gone)
        if meeting.hostile or len(connection.routing) < SHORTEST_ROUTING_ID:
            detail = "somebody else's" if meeting.hostile else f"only {len(connection.routing)} bytes"
            self._batch.refuse("routing-id", key=connection.key, identity=identity, detail=detail)
            self.end(connection)
            return False
        if meeting.superseded is not None:
            self._batch.refuse(
                "superseded", key=connection.key, identity=identity, detail="has opened another connection"
            )
            end_connection(meeting.superseded.number, self._sockets.ports.request)
            self.lose_relay(meeting.superseded)
        relayed = self.relayed.get(connection.key)
        if relayed is not None:
            self.end_channel(relayed, "superseded")
        return True

    def peer(self, key: str) -> PeerConnection | RelayedChannel | None:
        """What reaches this key: a connection of its own, or a relay's."""
        return self.peers.get(key) or self.relayed.get(key)

    def lose(self, connection: PeerConnection) -> None:
        """A connection is over."""
        self.lose_relay(connection)
        if self.peers.forget(connection):
            self._batch.add([Gone(key=connection.key)])

    def lose_relay(self, connection: PeerConnection) -> None:
        """If this connection was a relay's, all who came by it can no longer be reached."""
        self._batch.add(Gone(key=key) for key in self.relayed.forget_line(connection))

    def lose_channel(self, channel: RelayedChannel) -> None:
        """A minion's connection to its relay is over."""
        if not channel.clean:
            self._batch.counts["connection-dropped"] += 1
        if self.relayed.forget(channel):
            self._batch.add([Gone(key=channel.key)])

    def end(self, peer: PeerConnection | RelayedChannel) -> None:
        """End a connection; its record stays until libzmq has seen the end, so that what it sent is dropped."""
        if isinstance(peer, RelayedChannel):
            self.end_channel(peer, "ended")
            return
        peer.ended = True
        end_connection(peer.number, self._sockets.ports.request)
        self.lose_relay(peer)
        if self.peers.unbind(peer):
            self._batch.add([Gone(key=peer.key)])

    def end_channel(self, channel: RelayedChannel, why: ChannelEnd) -> None:
        """End the session of a minion behind a relay."""
        if self.relayed.end(channel, why):
            self._batch.add([Gone(key=channel.key)])

    def prove(self, channel: RelayedChannel, identity: Identity | None) -> None:
        """A minion has proved its key by a relay: what reached it until now is superseded."""
        direct = self.peers.get(channel.key)
        if direct is not None:
            self.end(direct)
        previous = self.relayed.prove(channel)
        if previous is not None:
            self.relayed.end(previous, "superseded")
        if direct is not None or previous is not None:
            detail = f"has connected by the relay {channel.line.relay}"
            self._batch.refuse("superseded", key=channel.key, identity=identity, detail=detail)

    def end_key(self, key: str, refused_seconds: float, connection: int = 0) -> None:
        """End the connections of a key on both ports, and let an accepted one in again after so many seconds.

        `connection`: only if its connection has this serial number; 0: whichever it is.
        """
        peer = self.peer(key)
        if connection and (peer is None or peer.serial != connection):
            return
        self._refuse_for(key, refused_seconds)
        if peer is not None:
            self.end(peer)
        for number in self.subscribers.of(key):
            end_connection(number, self._sockets.ports.publish)
