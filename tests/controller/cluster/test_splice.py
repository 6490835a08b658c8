"""Connections that are passed on: real sockets, a leader that can be slow, silent or gone."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import pytest

from controller.cluster.splice import READ_BYTES, Splice
from controller.config.limits import ClusterLimits
from controller.store.leadership import LeaderAddress

MIB = 1024 * 1024
HERE = "127.0.0.77"
"""Where the splice listens: connections to 127.0.0.1 take no port of it."""


def free_ports(count):
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind((HERE, 0))
        return [probe.getsockname()[1] for probe in probes]


class Leader:
    """Answers each connection with what it gets, or as it is told."""

    def __init__(self, answer):
        self.answer = answer
        self.servers = []
        self.seen = []

    async def start(self, host="127.0.0.1", epoch=1):
        self.servers = [await asyncio.start_server(self._serve, host, 0) for _ in range(2)]
        publish, request = (server.sockets[0].getsockname()[1] for server in self.servers)
        return LeaderAddress(
            epoch=epoch, host=host, publish_port=publish, request_port=request, pool_port=0, key="same"
        )

    async def _serve(self, reader, writer):
        self.seen.append(writer)
        with contextlib.suppress(OSError):
            await self.answer(reader, writer)

    def stop(self):
        for server in self.servers:
            server.close()
        for writer in self.seen:
            writer.transport.abort()


async def echo(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def silent(reader, writer):
    await asyncio.Event().wait()


async def until(condition):
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


class Scene:
    def __init__(self, leader, splice, ports, refused):
        self.leader, self.splice, self.ports, self.refused = leader, splice, ports, refused
        self.writers = []

    async def connect(self, port=1):
        reader, writer = await asyncio.open_connection(HERE, self.ports[port])
        self.writers.append(writer)
        return reader, writer

    async def follow(self, address):
        """Until it listens."""
        await self.splice.follow(address)
        await until(lambda: self.splice.source)
        await self.splice.follow(address)


@pytest.fixture
async def make_scene():
    made = []

    async def make(answer=echo, **limits):
        refused = []
        ports = free_ports(2)
        splice = Splice(HERE, tuple(ports), ClusterLimits(**limits), lambda limit, count=1: refused.append(limit))
        scene = Scene(Leader(answer), splice, ports, refused)
        made.append(scene)
        await scene.follow(await scene.leader.start())
        return scene

    yield make
    for scene in made:
        for writer in scene.writers:
            writer.transport.abort()
        await scene.splice.close()
        scene.leader.stop()


async def test_bytes_go_both_ways_on_both_ports(make_scene):
    scene = await make_scene()
    for port in range(2):
        reader, writer = await scene.connect(port)
        sent = bytes(range(256)) * 8 * 1024
        writer.write(sent)
        assert await reader.readexactly(len(sent)) == sent
        writer.close()
        assert await reader.read() == b""
    await until(lambda: scene.splice.connections == 0)
    assert scene.splice.bytes == {"in": 4 * MIB, "out": 4 * MIB}
    assert scene.splice.held == 0


async def test_what_was_sent_before_the_end_arrives(make_scene):
    async def say_and_leave(reader, writer):
        writer.write(b"x" * MIB)
        writer.close()

    scene = await make_scene(say_and_leave)
    reader, _ = await scene.connect()
    await asyncio.sleep(0.2)
    assert len(await reader.read(-1)) == MIB


async def test_who_reads_nothing_has_little_waiting_for_it(make_scene):
    async def flood(reader, writer):
        while True:
            writer.write(b"x" * MIB)
            await writer.drain()

    scene = await make_scene(flood)
    await scene.connect()
    await until(lambda: scene.splice.held)
    await asyncio.sleep(0.3)
    assert 0 < scene.splice.held <= READ_BYTES


async def test_one_for_which_there_is_no_room_is_ended(make_scene):
    async def flood(reader, writer):
        while True:
            writer.write(b"x" * MIB)
            await writer.drain()

    scene = await make_scene(flood, waiting_bytes=1)  # how much waits depends on what the system takes
    for _ in range(3):
        await scene.connect()
    await until(lambda: scene.splice.connections == 0 and len(scene.refused) == 3)
    assert set(scene.refused) == {"waiting-bytes"}
    assert scene.splice.held == 0


async def test_one_address_has_so_many_connections(make_scene):
    scene = await make_scene(address_connections=3)
    kept = [await scene.connect() for _ in range(3)]
    await until(lambda: scene.splice.connections == 3)
    reader, _ = await scene.connect()
    assert await reader.read() == b""
    assert scene.refused == ["address-connections"]
    kept[0][1].close()
    await until(lambda: scene.splice.connections == 2)
    reader, writer = await scene.connect()
    writer.write(b"again")
    assert await reader.readexactly(5) == b"again"


async def test_connections_without_a_byte_are_ended(make_scene):
    scene = await make_scene(silence_seconds=2.0)
    reader, writer = await scene.connect()
    writer.write(b"once")
    assert await reader.readexactly(4) == b"once"
    assert await asyncio.wait_for(reader.read(), 30) == b""
    assert scene.refused == ["silence-seconds"]


async def test_a_leader_that_says_nothing_is_waited_for_shorter(make_scene):
    scene = await make_scene(silent, silence_seconds=16.0)
    reader, _ = await scene.connect()
    began = asyncio.get_running_loop().time()
    assert await asyncio.wait_for(reader.read(), 30) == b""
    assert asyncio.get_running_loop().time() - began < 10


async def test_with_another_leader_all_connections_end_and_go_there(make_scene):
    scene = await make_scene()
    reader, _ = await scene.connect()
    second = Leader(echo)
    try:
        await scene.follow(await second.start(epoch=2))
        assert await reader.read() == b""
        reader, writer = await scene.connect()
        writer.write(b"to the second")
        assert await reader.readexactly(13) == b"to the second"
        assert len(second.seen) >= 1
    finally:
        second.stop()


async def test_nobody_listens_while_no_leader_serves_and_the_ports_are_free(make_scene):
    scene = await make_scene()
    await scene.splice.follow(None)
    for port in scene.ports:
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(HERE, port)
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind((HERE, port))
            taken.listen()


async def test_a_leader_that_is_gone_and_back_is_found_again(make_scene):
    scene = await make_scene()
    address = scene.splice._leader
    scene.leader.stop()
    for server in scene.leader.servers:
        await server.wait_closed()
    reader, _ = await scene.connect()
    assert await reader.read() == b""
    with pytest.raises(ConnectionRefusedError):  # minions dial the next of their list at once
        await scene.connect()
    await scene.splice.follow(address)
    again = await asyncio.start_server(echo, "127.0.0.1", address.request_port)
    async with again:
        await until(lambda: not scene.splice.source)
        await scene.follow(address)
        reader, writer = await scene.connect()
        writer.write(b"back")
        assert await reader.readexactly(4) == b"back"
