"""The two ports of a Salt master: requests come on one, jobs are published on the other (`gateway.job_port`).

Anybody can connect to them. `wire.server.connection_watch` bounds what connections hold unread, and how many of
strangers there are; here are bounds of what is read, and of who listens.

Source: `RequestServer` in `salt/transport/zeromq.py`.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

import zmq
import zmq.asyncio

from gateway.job_port import JobPort, listen, monitor_of, peer_of
from gateway.limits import GatewayLimits
from gateway.rates import TokenBuckets
from wire.address import PortPair
from wire.limits import WireLimits
from wire.server.connection_watch import ConnectionWatch
from wire.server.request_rates import network_of
from wire.server.sockets import end_connection, monitor_events

log = logging.getLogger(__name__)

_REQUESTS_HIGH_WATER = 2
"""Requests of a connection that were received and not read; a salt-minion sends one at a time."""
_ZERO_COPY_RECV = 10
"""ZMQ_ZERO_COPY_RECV, which pyzmq does not name; see `wire.server.sockets`."""
_COUNTED_BYTES = 64 * 1024
_TURN = 16
"""Requests that are read until the event loop has another turn. With one, those of a fleet that comes back at once
would wait for as many turns, in each of which all that goes on for its minions has its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortRequest:
    """A request, and where its answer goes."""

    route: tuple[bytes, ...]
    data: bytes
    address: str
    """IP address of who asks."""
    size: int
    connection: int
    """Number of its connection."""
    proved: bool
    """Whether a request of an accepted minion has come by it."""


class GatewayAnswer(NamedTuple):
    """What is said, and what came out about who asked."""

    data: bytes
    proved: bool = False
    """The request was an accepted minion's."""
    refused: bool = False


class SaltPorts:
    """The ports. Made in an event loop; raises CannotBind.

    Args:
        host: name or address that is listened at.
        publish_port: 0: any free one.
        request_port: 0: any free one.
        limits: see `GatewayLimits`.
    """

    def __init__(self, host: str, publish_port: int, request_port: int, limits: GatewayLimits) -> None:
        self._context = zmq.asyncio.Context()
        self._context.set(_ZERO_COPY_RECV, 0)
        self._limits = limits
        self._expected: Callable[[], int] = lambda: 0
        self._on_refusal: Callable[[str], None] = lambda _: None
        self._router = self._context.socket(zmq.ROUTER)
        self._router.set(zmq.MAXMSGSIZE, limits.request_bytes)
        self._router.set(zmq.RCVHWM, _REQUESTS_HIGH_WATER)
        # Minions of 3006.27 and later choose their routing ids: `salt-call` has the same one as the daemon beside it.
        self._router.set(zmq.ROUTER_HANDOVER, 1)
        plain: zmq.Context[zmq.Socket[bytes]] = zmq.Context.shadow(self._context.underlying)
        self._monitor = monitor_of(plain, self._router)
        self.request_port = listen(self._router, host, request_port)
        self.jobs = JobPort(plain, host, publish_port, self._subscriber)
        self._watch = ConnectionWatch(
            PortPair(publish=self.jobs.port, request=self.request_port),
            WireLimits(
                stranger=limits.stranger,
                minion=limits.minion,
                stranger_refused=lambda limit: self._on_refusal(limit),
                minion_refused=lambda limit: self._on_refusal(limit),
            ),
            lambda: self._expected(),
        )
        self._proved: set[int] = set()
        """Connections by which a request of an accepted minion came."""
        self._waiting: Counter[int] = Counter()
        """Requests of a connection that wait for their answers."""
        self._bytes: Counter[str] = Counter()
        """Network -> bytes of its requests that wait for their answers."""
        self._networks: dict[int, str] = {}
        """Connection -> network."""
        self._network_refusals = TokenBuckets(
            rate=limits.network_refusals_a_second, burst=limits.network_refusals, longest=limits.network_seconds
        )
        self._refused: Counter[int] = Counter()
        """Requests of a connection that were refused."""
        self._ended: set[int] = set()
        """Connections that we have ended, and whose end was not seen yet: what they have sent is dropped."""
        self._subscribers: dict[int, str] = {}
        """Connection -> network, the oldest first."""
        self._open = asyncio.Semaphore(limits.queued_requests)
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(
        self,
        answer: Callable[[PortRequest], Awaitable[GatewayAnswer]],
        *,
        expected: Callable[[], int],
        on_refusal: Callable[[str], None],
    ) -> None:
        """Read requests, and send what `answer` gives, until cancelled.

        Args:
            answer: to one request.
            expected: how many minions are accepted; called from any thread.
            on_refusal: is told of limits, by their names, from any thread.
        """
        self._expected, self._on_refusal = expected, on_refusal
        loop = asyncio.get_running_loop()
        self._watch.start()
        number = int(self._monitor.get(zmq.FD))
        try:
            loop.add_reader(number, self._take_events)
            for count in itertools.count():
                await self._open.acquire()
                if not count % _TURN:
                    # What is there already is received without a turn of the loop: others would have none.
                    await asyncio.sleep(0)
                frames = await self._router.recv_multipart(copy=False)
                self._take_events()
                asked = self._admitted(frames)
                if asked is None:
                    self._open.release()
                    continue
                task = loop.create_task(self._answer(asked, answer))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        finally:
            loop.remove_reader(number)
            self._watch.stop()

    def _admitted(self, frames: list[zmq.Frame]) -> PortRequest | None:
        """What came, where its connection may ask now."""
        last = frames[-1]
        try:
            connection, address = int(str(last.get("__fd"))), str(last.get("Peer-Address") or "")
        except zmq.ZMQError:  # it is over
            return None
        size = sum(len(frame) for frame in frames)
        self._watch.read(connection, size, accepted=connection in self._proved)
        if connection in self._ended:
            return None
        if self._waiting[connection] >= self._limits.connection_requests:
            self._refuse(connection, size, "connection-requests")
            return None
        network, most = network_of(address), self._limits.queued_bytes
        of_all, of_network = self._bytes.total() + size, self._bytes[network] + size
        share = most // 2 if connection in self._proved else most // 8
        if size > _COUNTED_BYTES and (of_all > most or of_network > share):
            self._refuse(connection, size, "queued-bytes")
            return None
        self._bytes[network] = of_network
        self._waiting[connection] += 1
        route = tuple(frame.bytes for frame in frames[:-1])
        return PortRequest(
            route=route,
            data=last.bytes,
            address=address,
            size=size,
            connection=connection,
            proved=connection in self._proved,
        )

    async def _answer(self, asked: PortRequest, answer: Callable[[PortRequest], Awaitable[GatewayAnswer]]) -> None:
        try:
            data, proved, refused = await answer(asked)
            if proved and asked.connection not in self._proved:
                self._proved.add(asked.connection)
                self._watch.read(asked.connection, 0, accepted=True)
            if refused:
                self._refuse(asked.connection, len(asked.data))
            await self._router.send_multipart([*asked.route, data])
        except zmq.ZMQError as error:
            log.debug("event=answer_not_sent address=%s error=%s", asked.address, error)
        except Exception:
            log.exception("event=request_failed address=%s", asked.address)
        finally:
            if self._waiting[asked.connection] > 0:  # a number may be another connection's by now
                self._waiting[asked.connection] -= 1
            network = network_of(asked.address)
            self._bytes[network] -= asked.size
            if not self._bytes[network]:
                del self._bytes[network]
            self._open.release()

    def _refuse(self, connection: int, size: int, limit: str = "") -> None:
        """A request was refused, perhaps for a limit; a stranger's connection with too many of them is ended."""
        if limit:
            self._on_refusal(limit)
        network = self._networks.get(connection)
        if network is None or connection in self._proved:
            return
        self._refused[connection] += 1
        self._network_refusals.spend(network, 1 + size // _COUNTED_BYTES, time.monotonic())
        if self._refused[connection] > self._limits.connection_refusals:
            self._end(connection, "connection-refusals")
        elif self._is_noisy(network):
            self._end(connection, "network-refusals")

    def _is_noisy(self, network: str) -> bool:
        return self._network_refusals.wait(network, time.monotonic()) > 0

    def _end(self, connection: int, limit: str) -> None:
        self._on_refusal(limit)
        self._ended.add(connection)
        end_connection(connection, self.request_port)

    # --- connections

    def _take_events(self) -> None:
        for event, number in monitor_events(self._monitor):
            for about in (self._proved, self._ended):
                about.discard(number)
            for counts in (self._waiting, self._refused):
                counts.pop(number, None)
            self._networks.pop(number, None)
            if event == zmq.EVENT_ACCEPTED:
                self._watch.opened(number, publish=False)
                network = self._networks[number] = network_of(peer_of(number))
                if self._is_noisy(network):
                    self._end(number, "network-refusals")
            else:
                self._watch.closed(number, publish=False)
        self._watch.turned()

    def _subscriber(self, number: int, address: str, came: bool) -> None:
        self._subscribers.pop(number, None)
        if came:
            self._watch.opened(number, publish=True)
            self._note_subscriber(number, address)
        else:
            self._watch.closed(number, publish=True)
        self._watch.turned()

    def _note_subscriber(self, number: int, address: str) -> None:
        """Somebody listens, as it seems; of too many the newest of the busiest network goes."""
        self._subscribers[number] = network_of(address)
        if len(self._subscribers) <= self._limits.subscribers + 2 * self._expected():
            return
        busiest = Counter(self._subscribers.values()).most_common(1)[0][0]
        newest = next(each for each in reversed(self._subscribers) if self._subscribers[each] == busiest)
        del self._subscribers[newest]
        self._on_refusal("subscribers")
        end_connection(newest, self.jobs.port)

    def close(self) -> None:
        """Close both."""
        for task in self._tasks:
            task.cancel()
        self.jobs.close()
        self._router.disable_monitor()
        self._monitor.close(linger=0)
        self._context.destroy(linger=0)
