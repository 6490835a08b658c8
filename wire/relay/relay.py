"""A relay: minions connect here, and what they and their controller say to each other is carried, sealed.

Run by `minion.relay.process`, in one thread. It has a key of its own, which the controller has accepted as that of a
relay, and no keys of sessions: it can drop, delay and end, and nothing else. It decides nothing about minions; the
controller tells it which channels are of accepted ones.

A turn of the loop: handshakes, frames of minions until the controller has enough of them, frames for minions, ends of
connections, one folded message.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import zmq

from wire.address import Address, Bind
from wire.client import Timing
from wire.codec import MAX_TO_CONTROLLER, encode
from wire.errors import CannotConnect
from wire.keys import KeyPair
from wire.limits import WireLimits
from wire.messages import Refused, RelayedFrame
from wire.relay.channels import CarriedChannel, CarriedChannels
from wire.relay.upstream import FOLDED_BYTES, Upstream
from wire.sealed.channel_frames import DATA, END, HEAD_BYTES, OPEN, channel_frame
from wire.sealed.session import SEAL_BYTES
from wire.server.connection_watch import ConnectionWatch
from wire.server.connections import Connections
from wire.server.delivery_batch import DeliveryBatch
from wire.server.peers import PeerConnection
from wire.server.relayed_channels import ChannelEnd
from wire.server.request_rates import RequestRates, network_of
from wire.server.sending import Sending
from wire.server.sockets import Sockets, address_of, answer_handshakes, open_sockets, sender
from wire.server.types import Gone, Limits, Refusal

log = logging.getLogger("saltern.relay")

PARKED_SECONDS = 5.0
"""That an opening waits for the controller to be reached; then the minion is told that it is not."""
_LIMITS = Limits(queue_out=5000)
"""What waits for a minion is bounded by bytes (`wire.sealed.session.WINDOW`)."""
_IDLE_SECONDS = 60.0
_NO_SESSION = "this is a relay: name it in `relay_key` (docs/relay.md); a relay behind a relay is not possible"


class Relay:
    """One relay.

    Args:
        relay_id: under which the controller knows it.
        bind: where it listens; it publishes nothing.
        controller: where it connects to.
        keys: of the relay.
        borders: what minions may cost.
        timing: of the connection to the controller.
    """

    def __init__(
        self,
        relay_id: str,
        bind: Bind,
        controller: Address,
        keys: KeyPair,
        *,
        borders: WireLimits | None = None,
        timing: Timing | None = None,
    ) -> None:
        self._borders = borders or WireLimits()
        self._channels = CarriedChannels(self._borders.relay)
        self._batch = DeliveryBatch()
        self._sockets: Sockets = open_sockets(bind, keys, _LIMITS)
        self._watch = ConnectionWatch(self._sockets.ports, self._borders)
        self._connections = Connections(self._sockets, self._watch, self._batch, self._channels, self._borders)
        self._sending = Sending(self._sockets, self._connections, self._batch, self._channels, borders=self._borders)
        self._rates = RequestRates(self._borders.stranger)
        self._upstream = Upstream(relay_id, controller, keys, timing)
        self._parked: dict[PeerConnection, tuple[float, bytes]] = {}
        """Openings that wait for the controller, and until when, the oldest first."""
        self._wakeup = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._stopping = False

    @property
    def port(self) -> int:
        """On which it listens."""
        return self._sockets.ports.request

    def counts(self) -> Mapping[str, int]:
        """Counters since the start, and `channels` and `waiting` (openings, frames) as they are now."""
        now = {"channels": len(self._channels), "waiting": len(self._parked) + len(self._upstream)}
        return Counter(self._batch.counts) | Counter(now)

    def stop(self) -> None:
        """End `run`, from any thread or from a handler of signals."""
        self._stopping = True
        os.eventfd_write(self._wakeup, 1)

    def run(self) -> None:
        """Carry frames until `stop`. Raises CannotConnect when the controller's address is none."""
        self._watch.start()
        try:
            while not self._stopping:
                try:
                    self._take_turn()
                except CannotConnect:
                    raise  # what the configuration has is no address, and never will be
                except Exception:
                    # All minions behind it depend on this: an error may cost a frame, never the relay.
                    log.exception('event=internal_error do="the relay goes on"')
                    time.sleep(0.05)
        finally:
            self._watch.stop()
            self._upstream.connection.close()
            self._sockets.close()
            os.close(self._wakeup)

    def _take_turn(self) -> None:
        ready = self._poll()
        sockets = self._sockets
        self._connections.turn += 1
        if self._wakeup in ready:
            os.eventfd_read(self._wakeup)
        if sockets.zap in ready:
            answer_handshakes(sockets.zap, self._connections.judge_handshake)
        now = time.monotonic()
        if sockets.request in ready:
            self._read_minions(now)
        self._read_controller(now)
        self._connections.take_events()
        self._take_ends()
        self._give_up_waiting(now)
        self._upstream.flush()

    def _poll(self) -> set[Any]:
        sockets, now = self._sockets, time.monotonic()
        polled: list[tuple[Any, int]] = [
            (each, zmq.POLLIN) for each in (sockets.zap, sockets.request_monitor, self._wakeup)
        ]
        blocked = len(self._upstream) > 0
        # What is left of the turn before could not be sent: minions wait until it can.
        flags = zmq.POLLIN | zmq.POLLOUT if self._upstream.full else zmq.POLLIN
        polled += [(each, flags) for each in self._upstream.polled()]
        if not blocked:
            polled.append((sockets.request, zmq.POLLIN))
        deadline = next((until for until, _ in self._parked.values()), now + _IDLE_SECONDS)
        deadline = self._upstream.due(deadline)
        return {item for item, _ in zmq.zmq_poll(polled, max(0, int((deadline - now) * 1000) + 1))}

    # --- from minions

    def _read_minions(self, now: float) -> None:
        """Read frames until there are none, or the next message to the controller is full."""
        for _ in range(_LIMITS.batch):
            if self._upstream.waiting_bytes >= FOLDED_BYTES:
                return
            try:
                frames = self._sockets.request.recv_multipart(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                return
            self._receive(frames, now)

    def _receive(self, frames: list[zmq.Frame], now: float) -> None:
        sent_by = sender(frames[-1])
        if sent_by is None:
            return
        key, number = sent_by
        meeting = self._connections.peers.meet(
            key=key, routing=frames[0].bytes, number=number, turn=self._connections.turn
        )
        connection = meeting.connection
        if connection.ended:
            return
        identity = self._channels.identity(key)
        self._watch.read(number, sum(map(len, frames)), accepted=identity is not None)
        if meeting.new and not self._connections.welcome(meeting, identity):
            return
        if meeting.superseded is not None:
            self._close(self._channels.of(meeting.superseded))
        frame = frames[1].bytes if len(frames) == 2 else b""
        match frame[:HEAD_BYTES]:
            case b"\x01":
                self._open(connection, frame[HEAD_BYTES:], network_of(address_of(frames[1])), now)
            case b"\x02":
                self._carry(connection, frame[HEAD_BYTES:], now)
            case _:
                self._batch.counts["refused.malformed"] += 1
                connection.garbage += 1
                self._sending.put(connection, encode(Refused(message=_NO_SESSION)), "refused")
                if connection.garbage >= _LIMITS.garbage:
                    self._connections.end(connection)

    def _open(self, connection: PeerConnection, opening: bytes, address: str, now: float) -> None:
        """Have the controller open a session, now or when it can be reached."""
        self._close(self._channels.of(connection))
        limit = self._rates.refuse(address, connection.asked, now)
        connection.asked = now
        full = len(self._channels) + len(self._parked) >= self._borders.relay.channels
        if limit is not None or full or len(opening) > _LIMITS.unaccepted_bytes:
            self._batch.counts["refused.busy"] += 1
            self._tell_end(connection, "busy")
        elif self._upstream.ready:
            self._upstream.add(RelayedFrame(self._channels.open(connection, now).number, "open", opening))
        else:
            self._parked.pop(connection, None)
            self._parked[connection] = now + PARKED_SECONDS, opening

    def _carry(self, connection: PeerConnection, piece: bytes, now: float) -> None:
        channel = self._channels.of(connection)
        if channel is None:
            self._batch.counts["frames-late"] += 1  # it is over, which the minion did not know
            return
        most = (MAX_TO_CONTROLLER if channel.accepted else _LIMITS.unaccepted_bytes) + SEAL_BYTES
        if len(piece) > most or not self._channels.may_send(channel, now):
            self._batch.refuse("garbage", key=connection.key, detail="too much for a key that is not accepted")
            self._connections.end(connection)
            return
        self._batch.count("in", "sealed", len(piece))
        self._upstream.add(RelayedFrame(channel.number, "data", piece))

    def _take_ends(self) -> None:
        """Tell the controller of connections that are over."""
        for delivery in self._batch.take():
            match delivery:
                case Gone(key=key):
                    channel = self._channels.of_key(key)
                    if channel is not None and self._connections.peers.get(key) is not channel.connection:
                        self._close(channel)
                case Refusal(reason=reason, key=key, detail=detail):
                    log.info("event=minion_refused reason=%s key=%s detail=%s", reason, key, detail)
        self._parked = {each: kept for each, kept in self._parked.items() if self._is_there(each)}

    def _is_there(self, connection: PeerConnection) -> bool:
        return self._connections.peers.get(connection.key) is connection

    def _close(self, channel: CarriedChannel | None) -> None:
        """A channel is over by its minion's doing."""
        if channel is not None:
            self._channels.close(channel)
            if self._upstream.ready:
                self._upstream.add(RelayedFrame(channel.number, "end"))

    # --- from the controller

    def _read_controller(self, now: float) -> None:
        for change in self._upstream.collect(now):
            if change is True:
                parked, self._parked = self._parked, {}
                for connection, (_, opening) in parked.items():
                    if self._is_there(connection):
                        number = self._channels.open(connection, now).number
                        self._upstream.add(RelayedFrame(number, "open", opening))
            elif change is False:
                for channel in self._channels.all():
                    self._channels.close(channel)
                    self._tell_end(channel.connection, "upstream")
            else:
                self._take_frames(change)

    def _take_frames(self, frames: Sequence[RelayedFrame]) -> None:
        for frame in frames:
            channel = self._channels.numbered(frame.channel)
            if channel is None or channel.connection.ended:
                continue  # its minion has gone, as the controller will hear
            match frame.kind:
                case "open":
                    self._sending.put(channel.connection, channel_frame(OPEN, frame.data), "opened")
                case "data":
                    self._sending.put(channel.connection, channel_frame(DATA, frame.data), "sealed")
                case "accepted":
                    channel.accepted = True
                    # Before it has sent anything as such: its Hello may be large.
                    self._watch.read(channel.connection.number, 0, accepted=True)
                case "end":
                    self._channels.close(channel)
                    self._sending.put(channel.connection, channel_frame(END, frame.data), "end")

    def _give_up_waiting(self, now: float) -> None:
        while self._parked:
            connection, (until, _) = next(iter(self._parked.items()))
            if now < until:
                return
            del self._parked[connection]
            self._tell_end(connection, "upstream")

    def _tell_end(self, connection: PeerConnection, why: ChannelEnd) -> None:
        if not connection.ended:
            self._sending.put(connection, channel_frame(END, why.encode("ascii")), "end")
