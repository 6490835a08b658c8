"""Somebody between a minion and its controller: what is recorded, cut off or changed has no effect on either end."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import zmq

from wire.address import Address
from wire.client import Connected, DialFailed, Disconnected, HandshakeFailed, Timing
from wire.codec import encode
from wire.messages import Call, DesiredUpdate, Hello, HelloAck, KeepAlive, KeyRequest, Run, RunResult
from wire.server.types import Incoming

IMPATIENT = Timing(retry_first=0.02, retry_most=0.2, retry_unwelcome=0.2, heartbeat=0.2, silence=0.6)
"""A connection of which nothing more is read is given up soon."""


class Relay:
    """Passes bytes on between whoever connects and the controller, and keeps them.

    Args:
        port: of the controller.
        change: makes of the bytes of one read, and of whether they go to the controller, what is passed on.
    """

    def __init__(self, port: int, change: Callable[[bytes, bool], bytes] = lambda data, _: data) -> None:
        self._port = port
        self._change = change
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.recorded: list[tuple[bytearray, bytearray]] = []
        """Of each connection: what went to the controller, and what came from it."""
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                server = socket.create_connection(("127.0.0.1", self._port))
                to_controller, to_minion = bytearray(), bytearray()
                self.recorded.append((to_controller, to_minion))
                self._open += [client, server]
                for source, target, kept, inward in (
                    (client, server, to_controller, True),
                    (server, client, to_minion, False),
                ):
                    threading.Thread(target=self._copy, args=(source, target, kept, inward), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket, kept: bytearray, inward: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                kept += data
                target.sendall(self._change(data, inward))
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End everything."""
        for one in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@pytest.fixture
def relay(controller: Any) -> Iterator[Callable[..., Relay]]:
    made: list[Relay] = []

    def make(**options: Any) -> Relay:
        made.append(Relay(controller.server.ports.request, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def through(controller: Any, port: int) -> Address:
    return Address(
        host="127.0.0.1",
        publish_port=controller.server.ports.publish,
        request_port=port,
        controller_key=controller.keys.public,
    )


def talk(controller: Any, web: Any) -> None:
    """A message of several kinds each way."""
    web.send(Hello(id="web1", grains={"os": "Debian"}))
    heard = controller.wait(Incoming)
    for message in (
        HelloAck(epoch="e1", alive_interval=15.0),
        DesiredUpdate(generation=1, base="", digest="d", patch=["v", {}]),
        Run(run_id="r1", kind="apply", generation=1, digest="d"),
        Call(run_id="r2", fun="cmd.run", args=("id",)),
    ):
        controller.server.send(heard.key, message)
        web.wait(type(message))
    web.send(RunResult(run_id="r1", kind="apply", generation=1, digest="d", outcome="ok"))
    controller.wait(Incoming)


@pytest.mark.parametrize("restarted", [False, True])
def test_a_recorded_conversation_says_nothing_to_the_controller(controller: Any, relay: Any, restarted: bool) -> None:
    between = relay()
    web = controller.peer("web1", address=through(controller, between.port))
    talk(controller, web)
    web.connection.close()
    recorded = bytes(between.recorded[0][0])
    if restarted:
        controller.restart()
    controller.delivered.clear()
    unheard = controller.server.counts().get("connections-unheard", 0)
    with socket.create_connection(("127.0.0.1", controller.server.ports.request)) as thief:
        thief.settimeout(15)
        thief.sendall(recorded)
        with contextlib.suppress(ConnectionError):
            while thief.recv(65536):
                pass
    controller.wait_count("connections-unheard", unheard + 1)
    assert not [each for each in controller.delivered if isinstance(each, Incoming)]


def test_a_recorded_conversation_says_nothing_to_a_minion(controller: Any, relay: Any) -> None:
    between = relay()
    web = controller.peer("web1", address=through(controller, between.port))
    talk(controller, web)
    web.connection.close()
    recorded = bytes(between.recorded[0][1])
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def play() -> None:
            with contextlib.suppress(OSError):
                while True:
                    with listener.accept()[0] as player, contextlib.suppress(OSError):
                        player.sendall(recorded)
                        while player.recv(65536):
                            pass

        threading.Thread(target=play, daemon=True).start()
        again = controller.peer(keys=web.keys, address=through(controller, listener.getsockname()[1]))
        again.wait(HandshakeFailed)
        again.wait(HandshakeFailed)
        assert not [each for each in again.seen if not isinstance(each, DialFailed | HandshakeFailed)]
        listener.shutdown(socket.SHUT_RDWR)


def test_what_was_said_is_not_said_again_on_the_same_connection(controller: Any, relay: Any) -> None:
    """Bytes of a message that was read are put into the stream a second time: the connection ends, another is made."""

    def twice(data: bytes, inward: bool) -> bytes:
        return data * 2 if inward and doubling.is_set() else data

    doubling = threading.Event()
    between = relay(change=twice)
    web = controller.peer("web1", address=through(controller, between.port), timing=IMPATIENT)
    web.wait(Connected)
    web.send(KeepAlive(held="1"))
    controller.wait(Incoming)
    doubling.set()
    web.send(KeepAlive(held="2"))
    controller.wait_count("connection-dropped")
    doubling.clear()
    web.wait(Disconnected)
    web.wait(Connected)
    web.send(KeepAlive(held="3"))
    heard = [controller.wait(Incoming).message.held]
    heard += [] if heard == ["3"] else [controller.wait(Incoming).message.held]
    assert heard in (["3"], ["2", "3"])


@pytest.mark.parametrize("inward", [True, False])
@pytest.mark.parametrize("damage", ["flipped", "cut", "random"])
def test_what_was_changed_on_the_way_is_not_read(controller: Any, relay: Any, inward: bool, damage: str) -> None:
    """The connection ends, the minion makes another, and what was changed is neither delivered nor obeyed."""
    damaging = threading.Event()

    def change(data: bytes, direction: bool) -> bytes:
        if not damaging.is_set() or direction != inward:
            return data
        damaging.clear()
        if damage == "cut":
            return data[: len(data) // 2] + os.urandom(len(data))
        return data[:-1] + bytes([data[-1] ^ 1]) if damage == "flipped" else data[:2] + os.urandom(len(data) - 2)

    between = relay(change=change)
    web = controller.peer("web1", address=through(controller, between.port), timing=IMPATIENT)
    web.wait(Connected)
    web.send(Hello(id="web1", grains={}))
    key = controller.wait(Incoming).key
    damaging.set()
    if inward:
        web.send(KeepAlive(held="changed"))
    else:
        controller.server.send(key, Call(run_id="changed", fun="cmd.run"))
    web.wait(Connected)
    assert not [each for each in web.seen if isinstance(each, Call)]
    assert not [each for each in controller.delivered if isinstance(each, Incoming)]
    web.send(Hello(id="web1", grains={}))
    controller.wait(Incoming)


def test_a_public_key_without_its_secret_is_nobodys(controller: Any) -> None:
    """Whoever knows a minion's public key only does not get past the handshake."""
    victim = controller.peer("web1").keys
    _, secret = zmq.curve_keypair()
    thief = controller.raw(type(victim)(public=victim.public, secret=secret.decode()))
    thief.send(encode(KeyRequest(id="web1")))
    controller.wait_count("connections-unheard")
    assert controller.delivered == []


@pytest.mark.parametrize("mechanism", ["NULL", "PLAIN"])
def test_a_minion_talks_to_nobody_without_curve(controller: Any, mechanism: str) -> None:
    """The mechanism is not negotiated: a listener that offers a weaker one is left alone, and the minion goes on."""
    context: zmq.Context[Any] = zmq.Context()
    listener = context.socket(zmq.ROUTER)
    listener.linger = 0
    listener.plain_server = mechanism == "PLAIN"
    port = listener.bind_to_random_port("tcp://127.0.0.1")
    web = controller.peer("web1", address=through(controller, port))
    web.wait(HandshakeFailed)
    assert not web.connection.send(KeepAlive())
    assert not listener.poll(50)
    listener.close()
    context.term()


def test_a_controller_takes_no_password_in_place_of_curve(controller: Any) -> None:
    context: zmq.Context[Any] = zmq.Context()
    plain = context.socket(zmq.DEALER)
    plain.linger = 0
    plain.plain_username, plain.plain_password = b"web1", b"secret"
    plain.connect(f"tcp://127.0.0.1:{controller.server.ports.request}")
    plain.send(encode(KeyRequest(id="web1")))
    controller.wait_count("connections-unheard")
    assert controller.delivered == []
    plain.close()
    context.term()
