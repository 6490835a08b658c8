"""Passes connections of minions on to the controller that leads: bytes in both directions, which nobody reads here.

Used by `controller.cluster.standby`, on the loop of a controller that waits. CURVE goes from the minion to the leader,
as all controllers of one database have the same key, so that there is nothing to read. Both ports are listened to while
the leader can be reached; when it cannot, or another one leads, all connections are ended, and minions come again.

What one end does not take waits here, one read of the other end at most: after it nothing more is read.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from functools import partial

import structlog

from controller.cluster.listening import listen
from controller.cluster.places import Places
from controller.config.limits import ClusterLimits
from controller.store.leadership import LeaderAddress
from options.limits import CountRefusal
from wire.server.request_rates import network_of

log = structlog.get_logger("saltern.cluster")

READ_BYTES = 64 * 1024
"""That are read at once."""
_SWEEP_SECONDS = 1.0
_CLOSE_SECONDS = 5.0
"""That the last bytes of a connection may take to be sent."""
_PAUSE_SECONDS = 0.1
"""After no connection could be accepted, as of a process without free descriptors."""


class _End(asyncio.BufferedProtocol):
    """One end of a connection that is passed on."""

    def __init__(self, link: _Link) -> None:
        self._link = link
        self.other: _End | None = None
        self.transport: asyncio.Transport | None = None
        self.held = 0
        """Bytes that wait for this end."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for mypy
        self.transport = transport
        transport.set_write_buffer_limits(high=0)  # whatever waits for this end stops the reading of the other
        if self.other is None or self.other.transport is None:
            transport.pause_reading()  # until there is somewhere to send it

    def get_buffer(self, _: int) -> memoryview:
        return self._link.splice.buffer  # shared: it is read out before anything else is read

    def buffer_updated(self, nbytes: int) -> None:
        self._link.moved(self, nbytes)
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(bytes(self._link.splice.buffer[:nbytes]))

    def pause_writing(self) -> None:
        assert self.transport is not None  # noqa: S101 - for mypy
        self.held = self.transport.get_write_buffer_size()
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()
        self._link.splice.hold(self._link, self.held)

    def resume_writing(self) -> None:
        self._link.splice.held -= self.held
        self.held = 0
        if self.other is not None and self.other.transport is not None and not self.other.transport.is_closing():
            self.other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._link.splice.held -= self.held
        self.held = 0
        self.transport = None
        self._link.lost(self)


class _Link:
    """A minion's connection and the one to the leader."""

    def __init__(self, splice: Splice, network: str, now: float) -> None:
        self.splice = splice
        self.network = network
        self.moved_at = now
        self.closing_at: float | None = None
        self.answered = False
        """The leader has sent something."""
        self.near, self.far = _End(self), _End(self)
        self.near.other, self.far.other = self.far, self.near

    def moved(self, end: _End, size: int) -> None:
        """An end has sent something."""
        self.moved_at = asyncio.get_running_loop().time()
        self.answered = self.answered or end is self.far
        self.splice.bytes["out" if end is self.far else "in"] += size

    def start(self) -> None:
        """Both ends were there; one may be over already."""
        if self.near.transport is None or self.far.transport is None:
            self.abort()
            return
        self.near.transport.resume_reading()
        self.far.transport.resume_reading()

    def lost(self, end: _End) -> None:
        """An end is over: the other ends when it has what was sent to it."""
        other = end.other
        if other is not None and other.transport is not None:
            other.transport.close()
            self.closing_at = asyncio.get_running_loop().time()
        else:
            self.splice.forget(self)

    def abort(self) -> None:
        """End it now."""
        for end in (self.near, self.far):
            if end.transport is not None:
                end.transport.abort()


class Splice:
    """The connections that are passed on.

    Args:
        host: where this controller listens.
        ports: its publish and request port.
        limits: what they may cost.
        on_refusal: takes the name of a limit that was reached.
    """

    def __init__(self, host: str, ports: tuple[int, int], limits: ClusterLimits, on_refusal: CountRefusal) -> None:
        self._host = host
        self._ports = ports
        self._limits = limits
        self._on_refusal = on_refusal
        self._leader: LeaderAddress | None = None
        self._places = Places[_Link](limits.connections, limits.address_connections)
        self._dials = asyncio.Semaphore(limits.dials)
        self._reaching: asyncio.Task[None] | None = None
        self._accepting: list[asyncio.Task[None]] = []
        self._joining: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.Task[None] | None = None
        self.buffer = memoryview(bytearray(READ_BYTES))
        self.held = 0
        """Bytes that wait for who reads slowly."""
        self.bytes = {"in": 0, "out": 0}
        """That went to the leader, and came from it."""
        self.source = ""
        """Address from which the leader sees this controller; empty: it cannot be reached."""
        self._told = ""
        """What was logged last, as a failure may last."""

    @property
    def connections(self) -> int:
        """That are passed on now."""
        return len(self._places)

    async def follow(self, leader: LeaderAddress | None) -> None:
        """Pass connections on to this controller from now on; called now and then, as it may be there again.

        Returns without waiting for the leader. CannotListen when a port is taken.
        """
        if leader != self._leader:
            await self._stop_listening()
            self._end_all()
            self._leader, self.source = leader, ""
        if self._reaching is not None and self._reaching.done():
            reached, self._reaching = self._reaching, None
            reached.result()
        if leader is not None and self._reaching is None and all(task.done() for task in self._accepting):
            self._accepting = []
            self._reaching = asyncio.create_task(self._reach(leader), name="splice")

    async def close(self) -> None:
        """Give up both ports, and all connections."""
        await self._stop_listening()
        self._end_all()
        tasks = [*self._joining, *([self._sweeper] if self._sweeper else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def hold(self, link: _Link, size: int) -> None:
        """So many bytes wait for an end of a connection, which is ended when there is no room for them."""
        self.held += size
        if self.held > self._limits.waiting_bytes:
            self._on_refusal("waiting-bytes")
            link.abort()

    def forget(self, link: _Link) -> None:
        """It is over."""
        self._places.remove(link.network, link)

    async def _reach(self, leader: LeaderAddress) -> None:
        """Listen when it lets connect; see from where it sees us."""
        try:
            async with asyncio.timeout(self._limits.dial_seconds):
                _, writer = await asyncio.open_connection(leader.host, leader.request_port)
        except (OSError, TimeoutError) as error:
            self._tell_unreached(leader, error)
            self.source = ""
            return
        self.source = str(writer.get_extra_info("sockname")[0])
        writer.transport.abort()
        self._listen(leader)

    def _tell_unreached(self, leader: LeaderAddress, error: Exception) -> None:
        told = f"{leader.host} {leader.request_port}: {error or 'no answer'}"
        if told != self._told:
            log.warning("leader not reached: minions are refused until it is", leader=leader.host, error=told)
            self._told = told

    def _listen(self, leader: LeaderAddress) -> None:
        self._told = ""
        publish, request = self._ports
        with contextlib.ExitStack() as undo:
            listeners = []
            for port, option in ((publish, "publish_port"), (request, "ret_port")):
                listeners.append(listen(self._host, port, option))
                undo.callback(listeners[-1].close)
            undo.pop_all()
        for listener, port in zip(listeners, (leader.publish_port, leader.request_port), strict=True):
            task = asyncio.create_task(self._accept(listener, leader, port), name="splice")
            task.add_done_callback(partial(_close, listener))
            self._accepting.append(task)
        if self._sweeper is None:
            self._sweeper = asyncio.create_task(self._sweep(), name="splice")
        log.info("minions are passed on to the leader", leader=leader.host, port=leader.request_port)

    async def _stop_listening(self) -> None:
        """Give up both ports; connections go on."""
        tasks = [*self._accepting, *([self._reaching] if self._reaching else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._accepting, self._reaching = [], None

    def _end_all(self) -> None:
        for task in self._joining:
            task.cancel()
        for link in self._places.all():
            link.abort()

    async def _accept(self, listener: socket.socket, leader: LeaderAddress, port: int) -> None:
        """Accept connections until the leader cannot be reached."""
        loop = asyncio.get_running_loop()
        while True:
            await self._dials.acquire()
            try:
                accepted, address = await loop.sock_accept(listener)
            except OSError:
                self._dials.release()
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            except BaseException:
                self._dials.release()
                raise
            link = _Link(self, network_of(str(address[0])), loop.time())
            if not self._take(link):
                accepted.close()
                self._dials.release()
                continue
            task = asyncio.create_task(self._join(link, accepted, leader, port))
            self._joining.add(task)
            task.add_done_callback(self._joining.discard)

    def _take(self, link: _Link) -> bool:
        """Whether there is room for it."""
        refused, dispensable = self._places.add(link.network, link)
        if refused:
            self._on_refusal(refused)
        if dispensable is not None:
            dispensable.abort()
        return self._places.has(link.network, link)

    async def _join(self, link: _Link, accepted: socket.socket, leader: LeaderAddress, port: int) -> None:
        """Reach the leader, and begin."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._limits.dial_seconds):
                await loop.create_connection(lambda: link.far, leader.host, port)
            await loop.connect_accepted_socket(lambda: link.near, accepted)
            link.start()
        except (OSError, TimeoutError) as error:
            self._tell_unreached(leader, error)
            self._drop(link, accepted)
            for task in self._accepting:  # `follow` looks whether it can be reached again
                task.cancel()
        except BaseException:
            self._drop(link, accepted)
            raise
        finally:
            self._dials.release()

    def _drop(self, link: _Link, accepted: socket.socket) -> None:
        if link.near.transport is None:
            accepted.close()
        link.abort()
        self.forget(link)

    async def _sweep(self) -> None:
        """End connections by which nothing comes any more."""
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            now = asyncio.get_running_loop().time()
            for link in self._places.all():
                silence = self._limits.silence_seconds / (1 if link.answered else 8)
                if link.closing_at is not None:
                    if now - link.closing_at > _CLOSE_SECONDS:
                        link.abort()
                elif now - link.moved_at > silence:
                    self._on_refusal("silence-seconds")
                    link.abort()


def _close(listener: socket.socket, _: object) -> None:
    listener.close()
