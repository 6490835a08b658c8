"""What peers can make the controller hold: bytes of messages that are never finished."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools.attack.scene import new_key
from tools.attack.zmtp_curve import CurveClient
from wire.client import Connected
from wire.codec import encode
from wire.keys import KeyPair
from wire.limits import MinionLimits, StrangerLimits, WireLimits
from wire.messages import Hello, HelloAck, KeyRequest
from wire.server.connection_watch import ARRIVAL_BYTES
from wire.server.types import Incoming

MIB = 1024 * 1024
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00CURVE" + bytes(15) + b"\x00" + bytes(31)


def _resident() -> float:
    """MiB of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / MIB


def _wait_until(condition: Callable[[], Any]) -> None:
    """A connection is ended before that is counted."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.01)


ENDLESS = """
import os, sys, time, zmq
port, key = sys.argv[1:]
opened = zmq.Context().socket(zmq.DEALER)
opened.curve_serverkey = key.encode()
opened.curve_publickey, opened.curve_secretkey = zmq.curve_keypair()
opened.routing_id = b"a" * 16
opened.linger, opened.reconnect_ivl = 0, -1
opened.connect(f"tcp://127.0.0.1:{port}")
for _ in range(500_000):
    opened.send(b"x" * 16, zmq.SNDMORE)
opened.send(b"")  # libzmq's own clients send nothing of a message that has no end
print("sent", flush=True)
time.sleep(60)
"""
"""Half a million frames of one message, from a process whose memory is not measured."""


@pytest.fixture
def refusals() -> list[tuple[str, str]]:
    return []


@pytest.fixture
def watched(controller_with: Any, refusals: list[tuple[str, str]]) -> Any:
    """A controller whose refusals are listed."""

    def make(**limits: Any) -> Any:
        return controller_with(
            borders=WireLimits(
                **limits,
                stranger_refused=lambda limit: refusals.append(("stranger", limit)),
                minion_refused=lambda limit: refusals.append(("minion", limit)),
            )
        )

    return make


def test_a_stranger_cannot_fill_the_memory_with_one_message_of_many_frames(watched: Any, refusals: Any) -> None:
    controller = watched()
    before = _resident()
    command = [sys.executable, "-c", ENDLESS, str(controller.server.ports.request), controller.keys.public]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as stranger:
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == "sent\n"
        time.sleep(1)
        held = _resident() - before
        stranger.kill()
    assert refusals == [("stranger", "connection-bytes")]
    assert held < 32


@pytest.fixture
def curve_client() -> Any:
    """Connects clients whose messages need not end: strangers, or one with a key that the controller knows."""
    opened = []

    def connect(controller: Any, key: KeyPair | None = None) -> CurveClient:
        port = controller.server.ports.request
        opened.append(CurveClient("127.0.0.1", port, controller.keys.public, key or new_key()))
        return opened[-1]

    yield connect
    for client in opened:
        client.close()


def _frames_until_ended(client: CurveClient, most: int, size: int = 16) -> int:
    for sent in range(most):
        try:
            client.send_frame(b"x" * size, more=True)
        except OSError:
            return sent
    return most


def test_a_message_that_never_ends_ends_its_connection(watched: Any, refusals: Any, curve_client: Any) -> None:
    controller = watched()
    client = curve_client(controller)
    client.send_frame(encode(KeyRequest(id="web1")), more=False)
    assert controller.wait(Incoming).message == KeyRequest(id="web1")
    assert _frames_until_ended(client, 20_000) < 20_000
    assert client.ended(5)
    _wait_until(lambda: refusals)
    assert refusals == [("stranger", "connection-bytes")]


def test_messages_that_never_end_are_bounded_together(watched: Any, refusals: Any, curve_client: Any) -> None:
    most = 32 * 1024
    controller = watched(stranger=StrangerLimits(total_bytes=most))
    clients = [curve_client(controller) for _ in range(8)]
    for client in clients:
        _frames_until_ended(client, 150)
    assert any(client.ended(0.5) for client in clients)
    _wait_until(lambda: refusals)
    assert set(refusals) == {("stranger", "total-bytes")}
    _wait_until(lambda: controller.server.stranger_bytes() <= most + 8 * ARRIVAL_BYTES)


def test_unfinished_frames_without_a_key_end_their_connections(watched: Any, refusals: Any) -> None:
    controller = watched()
    header = b"\x06" + (16 * MIB).to_bytes(8, "big")
    before, opened = _resident(), []
    for _ in range(20):
        connection = socket.create_connection(("127.0.0.1", controller.server.ports.request), timeout=5)
        opened.append(connection)
        with contextlib.suppress(OSError):
            connection.sendall(GREETING)
            connection.recv(64)
            connection.sendall(header + b"x" * (16 * MIB - 1))
    held = _resident() - before
    _wait_until(lambda: len(refusals) == 20)
    for connection in opened:
        connection.close()
    assert held < 64


def test_connections_of_strangers_are_bounded_and_the_busiest_address_pays(watched: Any, refusals: Any) -> None:
    controller = watched(stranger=StrangerLimits(connections=20))
    port = controller.server.ports.request
    honest = socket.create_connection(("127.0.0.1", port), timeout=5, source_address=("127.0.0.2", 0))
    many = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(40)]
    _wait_until(lambda: len(refusals) >= 21)
    assert refusals == [("stranger", "connections")] * 21
    honest.sendall(GREETING)
    assert honest.recv(10)
    for connection in (honest, *many):
        connection.close()


def _ended(connection: socket.socket) -> bool:
    """Whether the server has ended a connection that waits for nothing."""
    connection.settimeout(0.2)
    try:
        while connection.recv(100):  # the greeting
            continue
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def test_of_many_that_arrive_together_the_first_are_let_through(watched: Any, refusals: Any) -> None:
    controller = watched(stranger=StrangerLimits(connections=5))
    port = controller.server.ports.request
    many = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(20)]
    _wait_until(lambda: len(refusals) == 15)
    assert [number for number, connection in enumerate(many) if not _ended(connection)] == [0, 1, 2, 3, 4]
    assert len(refusals) == 15
    for connection in many:
        connection.close()


def test_all_minions_that_return_at_once_find_room(watched: Any, refusals: Any) -> None:
    controller = watched(stranger=StrangerLimits(connections=2, total_bytes=1))
    minions = [new_key() for _ in range(12)]
    for number, key in enumerate(minions):
        controller.know(key, f"web{number}")
    raws = [controller.raw(key) for key in minions]
    for number, raw in enumerate(raws):
        raw.send(encode(Hello(id=f"web{number}", grains={})))
    for number in range(12):
        controller.wait(Incoming, id=f"web{number}")
    assert refusals == []


def test_strangers_that_ask_for_acceptance_leave_room_for_minions(watched: Any, refusals: Any) -> None:
    controller = watched(stranger=StrangerLimits(connections=3))
    strangers = [controller.raw() for _ in range(8)]
    for number, stranger in enumerate(strangers):
        stranger.send(encode(KeyRequest(id=f"s{number}")))
    _wait_until(lambda: ("stranger", "connections") in refusals)
    _greet_until_heard(controller, controller.peer("web1"))


def _greet_until_heard(controller: Any, web: Any) -> None:
    """Greet by each connection, as a minion does: one that is new among too many may be ended before it has greeted."""

    def heard() -> bool:
        fresh, web.seen = web.seen + web.connection.receive(0.05)[0], []
        if any(isinstance(each, Connected) for each in fresh):
            web.connection.send(Hello(id="web1", grains={}))
        return any(isinstance(each, Incoming) and each.id == "web1" for each in controller.delivered)

    _wait_until(heard)


def test_frames_that_come_one_by_one_hold_little_more_than_their_bytes(watched: Any, curve_client: Any) -> None:
    """libzmq keeps a buffer of 8 KiB for each of them when it receives without copying: 40 MiB here."""
    controller = watched()
    clients = [curve_client(controller) for _ in range(20)]
    before = _resident()
    for _ in range(250):
        for client in clients:
            client.send_frame(b"x" * 16, more=True)
    deadline = time.monotonic() + 20
    while controller.server.stranger_bytes() < 20 * 250 * 50 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert controller.server.stranger_bytes() >= 20 * 250 * 50, "all of it has arrived"
    assert _resident() - before < 12


def test_an_accepted_minion_is_bounded_too(watched: Any, refusals: Any, curve_client: Any) -> None:
    controller = watched(minion=MinionLimits(connection_bytes=MIB))
    key = new_key()
    controller.know(key, "web1")
    minion = curve_client(controller, key)
    minion.send_frame(encode(Hello(id="web1", grains={})), more=False)
    controller.wait(Incoming, id="web1")
    _frames_until_ended(minion, 256, size=64 * 1024)
    _wait_until(lambda: refusals)
    assert refusals == [("minion", "connection-bytes")]
    raw = controller.raw(key)
    _wait_until(lambda: len(refusals) > 1)
    raw.close()
    assert set(refusals[1:]) == {("minion", "refused-seconds")}


def test_long_conversations_are_not_over_any_limit(watched: Any, refusals: Any) -> None:
    controller = watched(minion=MinionLimits(connection_bytes=3 * MIB))
    web = controller.peer("web1")
    web.send(KeyRequest(id="web1"))
    controller.wait(Incoming, id="web1")
    for number in range(20):
        web.send(Hello(id="web1", grains={"large": str(number) * MIB}))
        controller.server.send(controller.wait(Incoming, id="web1").key, HelloAck(epoch="e", alive_interval=15))
        web.wait(HelloAck)
    assert refusals == []
