from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Any

import pytest
import zmq

from wire.address import Address, Bind
from wire.client import Connected, Connection, DialFailed, Disconnected, HandshakeFailed, NotUnderstood, Timing
from wire.codec import MAX_TO_CONTROLLER, encode
from wire.errors import CannotConnect, MalformedMessage
from wire.keys import KeyPair
from wire.messages import Heartbeat, Hello, HelloAck, KeepAlive, RunResult
from wire.server.types import Incoming


def _welcomed(controller: Any, minion_id: str = "web1") -> Any:
    peer = controller.peer(minion_id)
    peer.send(Hello(id=minion_id, grains={}))
    controller.wait(Incoming)
    controller.server.send(peer.keys.public, HelloAck(epoch="e1", alive_interval=15.0))
    peer.wait(HelloAck)
    peer.connection.receive(0)
    controller.wait_count("subscribers")
    return peer


def test_a_connection_is_made_again_when_the_controller_restarts(controller: Any) -> None:
    web = controller.peer("web1")
    web.wait(Connected)
    web.send(Hello(id="web1", grains={}))
    controller.wait(Incoming)
    controller.restart()
    web.wait(Disconnected)
    web.wait(Connected)
    web.send(Hello(id="web1", grains={}))
    assert controller.wait(Incoming).message == Hello(id="web1", grains={})


def test_minions_are_back_after_each_of_five_restarts_with_a_dial_or_two(controller: Any) -> None:
    peers = [controller.peer(f"web{number}") for number in range(3)]
    for peer in peers:
        peer.wait(Connected)
    for restarts in range(1, 6):
        controller.restart()
        for peer in peers:
            peer.wait(Disconnected)
            peer.wait(Connected)
        assert [peer.connection.counts()["connections"] for peer in peers] == [1 + restarts] * 3


def test_a_controller_that_comes_late_is_found(controller: Any) -> None:
    address = controller.address
    controller.server.stop()
    web = controller.peer("web1", address=address)
    web.wait(DialFailed)
    assert not web.connection.send(KeepAlive())
    controller.server = controller._serve(_bind(address))
    web.wait(Connected)


def test_a_controller_with_another_key_is_not_talked_to(controller: Any) -> None:
    public, _ = (key.decode() for key in zmq.curve_keypair())
    ports = controller.server.ports
    address = Address(host="127.0.0.1", publish_port=ports.publish, request_port=ports.request, controller_key=public)
    web = controller.peer("web1", address=address)
    assert "controller_key" in web.wait(HandshakeFailed).reason
    assert "controller_key" in web.wait(HandshakeFailed).reason
    assert not web.connection.send(KeepAlive())
    assert controller.delivered == []


def test_the_callers_descriptors_wake_it(controller: Any) -> None:
    web = controller.peer("web1")
    web.wait(Connected)
    reader, writer = os.pipe()
    try:
        assert web.connection.receive(0, [reader]) == ([], [])
        os.write(writer, b"x")
        assert web.connection.receive(30, [reader]) == ([], [reader])
    finally:
        os.close(reader)
        os.close(writer)


def test_a_beat_that_is_not_newer_is_dropped(controller: Any) -> None:
    web = _welcomed(controller)
    for epoch, serial in [("e1", 1), ("e1", 3), ("e1", 3), ("e1", 2), ("e2", 1), ("e1", 3), ("e1", 4)]:
        controller.server.publish(Heartbeat(epoch=epoch, serial=serial, time=0.0))
    heard = [web.wait(Heartbeat) for _ in range(4)]
    assert [(heartbeat.epoch, heartbeat.serial) for heartbeat in heard] == [("e1", 1), ("e1", 3), ("e2", 1), ("e1", 4)]
    assert web.connection.counts()["stale-beats"] == 3


def test_a_queue_that_is_full_says_so_and_nothing_waits(controller_with: Any) -> None:
    controller = controller_with(queue_in=4)
    web = controller.peer("web1", queue=4)
    web.wait(Connected)
    controller.server.hold()
    controller.server.send("nobody", HelloAck(epoch="e", alive_interval=1.0))  # so that the hold is seen
    result = RunResult(run_id="r", kind="apply", generation=1, digest="d", outcome="ok", error="x" * (4 * 1024 * 1024))
    sent = [web.connection.send(result) for _ in range(100)]
    assert sent[0]
    assert not sent[-1]


def test_a_message_that_no_controller_would_read_is_not_sent(controller: Any) -> None:
    web = controller.peer("web1")
    with pytest.raises(MalformedMessage, match="is the most"):
        web.connection.send(Hello(id="a" * MAX_TO_CONTROLLER, grains={}))


def test_what_is_malformed_is_dropped_and_counted() -> None:
    """A controller that sends nonsense: the connection holds, and what is good gets through."""
    public, secret = zmq.curve_keypair()
    own_public, own_secret = zmq.curve_keypair()
    context: zmq.Context[Any] = zmq.Context()
    router = context.socket(zmq.ROUTER)
    router.linger = 0
    router.curve_server = 1
    router.curve_publickey, router.curve_secretkey = public, secret
    port = router.bind_to_random_port("tcp://127.0.0.1")
    keys = KeyPair(public=own_public.decode(), secret=own_secret.decode())
    address = Address(host="127.0.0.1", request_port=port, publish_port=port, controller_key=public.decode())
    connection = Connection(address, keys)
    found: list[Any] = []
    while not found:
        found = connection.receive(1)[0]
    connection.send(KeepAlive())
    routing = router.recv_multipart()[0]
    good = encode(Heartbeat(epoch="e", serial=1, time=0.0))  # a beat has no business on this port
    for frames in ([b"\xc1"], [b""], [b"a", b"b"], [encode(KeepAlive())], [good], [b"\x91" * 10_000]):
        router.send_multipart([routing, *frames])
    router.send_multipart([routing, encode(HelloAck(epoch="e", alive_interval=1.0))])
    found = []
    while not any(isinstance(one, HelloAck) for one in found):
        found += connection.receive(1)[0]
    assert found[-1] == HelloAck(epoch="e", alive_interval=1.0)
    assert [(type(one), one.name, one.run_id) for one in found[:-1]] == [(NotUnderstood, "alive", "")]
    assert connection.counts()["malformed"] == 6
    connection.close()
    router.close()
    context.term()


WITHOUT_DESCRIPTORS = """
import os, resource, sys, zmq
from wire.address import Address
from wire.client import Connection, DialFailed, Timing
from wire.keys import KeyPair

public, secret = (key.decode() for key in zmq.curve_keypair())
address = Address(host="127.0.0.1", request_port=1, publish_port=1, controller_key=public)
context = zmq.Context()
context.socket(zmq.PAIR).close()  # its threads have their descriptors from now on
connection = Connection(address, KeyPair(public=public, secret=secret), timing=Timing(), context=context)
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + int(sys.argv[1]), hard))
connection.dial_if_due()
print(connection.collect(), connection.polled())
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
print(connection.receive(5)[0])
"""


@pytest.mark.parametrize("left", [0, 1])
def test_without_descriptors_a_minion_dials_later(left: int) -> None:
    command = [sys.executable, "-c", WITHOUT_DESCRIPTORS, str(left)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.splitlines() == ["[DialFailed()] []", "[DialFailed()]"], done.stderr


def test_an_address_that_is_none_is_said() -> None:
    public, secret = (key.decode() for key in zmq.curve_keypair())
    address = Address(host="not an address", request_port=1, publish_port=1, controller_key=public)
    connection = Connection(address, KeyPair(public=public, secret=secret), timing=Timing())
    with pytest.raises(CannotConnect, match="not an address"):
        connection.receive(0)
    connection.close()


def _bind(address: Address) -> Bind:
    return Bind(publish_port=address.publish_port, request_port=address.request_port)


def test_a_minion_dials_again_within_two_seconds() -> None:
    timing = Timing()
    assert timing.retry_most * 1.5 <= 2.0, "half as much again is added by chance"


def test_a_minion_that_is_told_so_does_not_listen_to_heartbeats(controller: Any) -> None:
    peer = controller.peer("web1")
    peer.send(Hello(id="web1", grains={}))
    controller.wait(Incoming)
    controller.server.send(peer.keys.public, HelloAck(epoch="e1", alive_interval=15.0, heartbeats=False))
    peer.wait(HelloAck)
    assert len(peer.connection.polled()) == 2, "the connection and its monitor"
    controller.restart()
    peer.wait(Disconnected)
    peer.wait(Connected)


def test_connections_that_end_without_a_welcome_are_made_again_after_longer_and_longer(controller: Any) -> None:
    timing = Timing(retry_first=0.05, retry_most=0.1, retry_unwelcome=60.0)
    peer = controller.peer("web1", timing=timing)
    waits = []
    for _ in range(4):
        peer.wait(Connected)
        peer.send(Hello(id="web1", grains={}))
        controller.wait(Incoming)
        controller.server.disconnect(peer.keys.public)
        peer.wait(Disconnected)
        ended = time.monotonic()
        waits.append(peer.connection.due(float("inf")) - ended)
    assert waits[-1] > 0.15 > 0.1 > waits[0], waits
