"""What peers that mean harm can do: end their own connection, and be counted."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zmq

from wire.codec import decode_to_minion, encode
from wire.limits import MinionLimits, WireLimits
from wire.messages import (
    Blob,
    FindFile,
    GetBlob,
    Heartbeat,
    Hello,
    HelloAck,
    KeepAlive,
    KeyRequest,
    KeyState,
    ListFiles,
    Refused,
    ResultAck,
    RunResult,
)
from wire.server import sending, unread_bytes
from wire.server.connection_watch import bytes_acknowledged
from wire.server.types import Gone, Incoming, Refusal

WELCOME = HelloAck(epoch="e1", alive_interval=15.0)
REQUESTS = [
    Hello(id="web1", grains={}),
    KeepAlive(),
    FindFile(request=1, path="top.sls"),
    ListFiles(request=1),
    GetBlob(request=1, oid="a"),
    RunResult(run_id="r", kind="apply", generation=1, digest="d", outcome="ok"),
]


def _until(condition: Any) -> None:
    deadline = time.monotonic() + 15.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def _round_trip(controller: Any, peer: Any, minion_id: str) -> None:
    peer.send(Hello(id=minion_id, grains={}))
    heard = controller.wait(Incoming, id=minion_id)
    controller.server.send(heard.key, WELCOME)
    peer.wait(HelloAck)


@pytest.mark.parametrize("state", [None, "pending", "rejected"])
def test_a_key_that_is_not_accepted_learns_nothing(controller: Any, state: str | None) -> None:
    stranger = controller.raw(keys := controller.keys_of(None))
    if state is not None:
        controller.know(keys, "web1", state)
    for request in REQUESTS:
        stranger.send(encode(request))
        refusal = controller.wait(Refusal)
        assert (refusal.reason, refusal.key) == ("not-accepted", keys.public)
        assert decode_to_minion(stranger.recv()) == Refused(message="your key is not accepted")
    stranger.send(encode(KeyRequest(id="web1")))
    assert controller.wait(Incoming).id is None
    assert controller.delivered == []


def test_a_key_that_is_not_accepted_is_kept_out_of_the_publish_port(controller: Any) -> None:
    web = controller.peer("web1")
    _round_trip(controller, web, "web1")
    web.connection.receive(0)
    controller.wait_count("subscribers")
    stranger = controller.raw(kind=zmq.SUB, port=controller.server.ports.publish)
    assert controller.wait(Refusal).detail == "asked for the publish port"
    controller.server.publish(Heartbeat(epoch="e1", serial=1, time=1.0))
    assert web.wait(Heartbeat).serial == 1
    assert not stranger.poll(50)


def test_without_curve_nobody_is_heard(controller: Any) -> None:
    context: zmq.Context[Any] = zmq.Context()
    plain = context.socket(zmq.DEALER)
    plain.linger = 0
    plain.connect(f"tcp://127.0.0.1:{controller.server.ports.request}")
    plain.send(encode(KeyRequest(id="web1")))
    controller.wait_count("connections-unheard")
    assert controller.delivered == []
    plain.close()
    context.term()


@pytest.mark.parametrize("message", [Hello(id="db1", grains={"role": "db"}), KeyRequest(id="db1")])
def test_a_lying_id_is_refused(controller: Any, message: Any) -> None:
    controller.peer("db1")
    web = controller.peer("web1")
    web.send(message)
    refusal = controller.wait(Refusal)
    assert (refusal.reason, refusal.id) == ("id-mismatch", "web1")
    assert web.wait(Refused).message == "this is not the id of your key"
    assert controller.delivered == []


@pytest.mark.parametrize(
    "minion_id", ["../minions/x", "a/b", ".", "a\nb", "a\0b", "web1.", "-rf", "w\u00e9b", "a" * 254]
)
def test_an_id_that_no_minion_can_have_is_refused(controller: Any, minion_id: str) -> None:
    stranger = controller.peer()
    stranger.send(KeyRequest(id=minion_id))
    assert controller.wait(Refusal).reason == "bad-id"
    assert "no minion can have" in stranger.wait(Refused).message


@pytest.mark.parametrize("message", [KeyRequest(id="web1", protocol=0), Hello(id="web1", grains={}, protocol=-1)])
def test_a_lower_protocol_is_refused(controller: Any, message: Any) -> None:
    web = controller.peer("web1")
    web.send(message)
    assert controller.wait(Refusal).reason == "protocol"
    assert "upgrade" in web.wait(Refused).message


@pytest.mark.parametrize(
    "frames",
    [
        [b""],
        [b"", encode(KeepAlive())],
        [encode(KeepAlive()), encode(KeepAlive())],
        [encode(KeepAlive()), b""],
        [b"\xc1"],
        [b"\x91" * 100_000],
        [os.urandom(1000)],
        [msgspec.msgpack.encode({"t": "__init__"})],
        [msgspec.msgpack.encode({"t": "hello", "id": ["web1"], "grains": {}})],
        [encode(WELCOME)],
    ],
)
def test_malformed_frames_are_refused_and_the_minion_is_served_on(controller: Any, frames: list[bytes]) -> None:
    raw = controller.raw(controller.keys_of("web1"))
    raw.send_multipart(frames)
    assert controller.wait(Refusal).reason == "malformed"
    assert decode_to_minion(raw.recv()) == Refused(message="the message cannot be read")
    raw.send(encode(KeepAlive()))
    assert controller.wait(Incoming).message == KeepAlive()


@pytest.mark.parametrize(
    "question",
    [
        FindFile(request=7, path="x" * 9000),
        ListFiles(request=7, prefix="x" * 9000),
        GetBlob(request=7, oid="x" * 300),
    ],
    ids=lambda question: type(question).__name__,
)
def test_a_question_that_is_refused_is_refused_by_its_number(controller: Any, question: Any) -> None:
    raw = controller.raw(controller.keys_of("web1"))
    raw.send(encode(question))
    assert controller.wait(Refusal).reason == "malformed"
    assert decode_to_minion(raw.recv()) == Refused(message="the message cannot be read", request=7)


def test_a_stranger_may_not_send_much(controller: Any) -> None:
    stranger = controller.raw()
    frame = encode(KeyRequest(id="a" * 10_000))
    stranger.send(frame)
    refusal = controller.wait(Refusal)
    assert (refusal.reason, refusal.detail) == ("too-large", f"{len(frame)} bytes, and 4096 is the most")


def test_who_sends_only_garbage_loses_the_connection(controller: Any) -> None:
    web = controller.peer("web1")
    _round_trip(controller, web, "web1")
    raw = controller.raw(keys := controller.keys_of("bad"))
    for _ in range(1000):
        with contextlib.suppress(zmq.Again):
            raw.send(b"\xc1", zmq.NOBLOCK)
    assert controller.wait(Refusal, reason="garbage").key == keys.public
    assert controller.wait(Gone).key == keys.public
    _round_trip(controller, web, "web1")


def test_garbage_of_many_does_not_keep_a_good_minion_waiting(controller: Any) -> None:
    bad = [controller.raw(controller.keys_of(f"bad{number}")) for number in range(20)]
    web = controller.peer("web1")
    for number in range(30):
        for raw in bad:
            with contextlib.suppress(zmq.Again):
                raw.send(os.urandom(200), zmq.NOBLOCK)
        if number % 5 == 0:
            _round_trip(controller, web, "web1")
    controller.wait_count("refused.malformed", 20)


def test_a_routing_id_of_another_key_is_not_to_be_had(controller: Any) -> None:
    routing = os.urandom(16).replace(b"\0", b"\1")
    victim_keys, thief_keys = controller.keys_of("victim"), controller.keys_of("thief")
    victim = controller.raw(victim_keys, routing=routing)
    victim.send(encode(Hello(id="victim", grains={})))
    controller.wait(Incoming, id="victim")

    thief = controller.raw(thief_keys, routing=routing)
    for number in range(3):
        with contextlib.suppress(zmq.Again):
            thief.send(encode(Hello(id="thief", grains={"n": number})), zmq.NOBLOCK)
    controller.server.send(victim_keys.public, ResultAck(run_id="secret"))
    assert decode_to_minion(victim.recv()) == ResultAck(run_id="secret")
    assert not thief.poll(50)


def test_a_routing_id_is_worth_nothing_once_its_owner_has_gone(controller: Any) -> None:
    routing = os.urandom(16).replace(b"\0", b"\1")
    victim_keys, thief_keys = controller.keys_of("victim"), controller.keys_of("thief")
    victim = controller.raw(victim_keys, routing=routing)
    victim.send(encode(Hello(id="victim", grains={})))
    controller.wait(Incoming, id="victim")
    victim.close()
    controller.wait(Gone, key=victim_keys.public)

    thief = controller.raw(thief_keys, routing=routing)
    thief.send(encode(Hello(id="thief", grains={})))
    controller.wait(Incoming, id="thief")
    controller.server.send(victim_keys.public, ResultAck(run_id="secret"))
    assert controller.wait(Gone).key == victim_keys.public
    controller.server.send(thief_keys.public, WELCOME)
    assert decode_to_minion(thief.recv()) == WELCOME


@pytest.mark.parametrize("routing", [b"short", b"fifteen bytes 15"[:15]])
def test_a_routing_id_that_could_be_guessed_is_refused(controller: Any, routing: bytes) -> None:
    raw = controller.raw(controller.keys_of("web1"), routing=routing)
    raw.send(encode(Hello(id="web1", grains={})))
    assert controller.wait(Refusal).reason == "routing-id"
    assert not any(isinstance(item, Incoming) for item in controller.delivered)


def test_subscriptions_are_only_so_many(controller: Any) -> None:
    keys = controller.keys_of("web1")
    greedy = controller.raw(keys, kind=zmq.SUB, port=controller.server.ports.publish)
    for number in range(100):
        greedy.subscribe(b"topic%d" % number)
    assert controller.wait(Refusal).reason == "garbage"


_FLOOD = """
import sys, os, zmq
port, server_key, public, secret, size = sys.argv[1:]
s = zmq.Context().socket(zmq.DEALER)
s.curve_serverkey, s.curve_publickey, s.curve_secretkey = server_key.encode(), public.encode(), secret.encode()
s.routing_id = b"\\1" + os.urandom(16)
s.linger = 0
s.sndtimeo = 2000
watch = s.get_monitor_socket(zmq.EVENT_DISCONNECTED)
s.connect("tcp://127.0.0.1:" + port)
s.send(bytes(int(size)))
assert watch.poll(20000), "the connection was not ended"
os._exit(0)
"""


def _peak_memory() -> int:
    """Bytes of the largest resident set since the mark was last reset."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def _reset_peak_memory() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def test_a_huge_frame_ends_its_connection_and_is_never_held(controller: Any) -> None:
    web = controller.peer("web1")
    _round_trip(controller, web, "web1")
    keys = controller.keys_of("huge")
    _reset_peak_memory()
    before = _peak_memory()
    arguments = [str(controller.server.ports.request), controller.keys.public, keys.public, keys.secret, str(96 << 20)]
    subprocess.run([sys.executable, "-c", _FLOOD, *arguments], check=True, timeout=60)
    _round_trip(controller, web, "web1")
    assert _peak_memory() - before < 48 << 20
    assert "in.huge" not in controller.server.counts()


_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"CURVE".ljust(20, b"\0") + bytes(32)


@pytest.mark.parametrize(
    "content",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50,
        os.urandom(4096),
        b"\0" * 4096,
        b"\xff" * 4096,
        _GREETING + b"\x06" + (1 << 30).to_bytes(8, "big") + bytes(4096),
        _GREETING + b"\x02" + (1 << 62).to_bytes(8, "big") + bytes(4096),
        _GREETING + b"\x04\xc8\x05HELLO" + bytes(194),
        _GREETING[:20] + b"NULL".ljust(20, b"\0") + bytes(24),
    ],
    ids=["http", "random", "zeros", "ones", "gigabyte-command", "huge-message", "forged-hello", "null"],
)
@pytest.mark.parametrize("port", ["request", "publish"])
def test_plain_tcp_garbage_is_shaken_off(controller_with: Any, content: bytes, port: str) -> None:
    controller = controller_with(handshake_seconds=1.0)
    web = controller.peer("web1")
    _round_trip(controller, web, "web1")
    _reset_peak_memory()
    before = _peak_memory()
    with socket.create_connection(("127.0.0.1", getattr(controller.server.ports, port))) as plain:
        plain.settimeout(30)
        with contextlib.suppress(ConnectionError):
            plain.sendall(content)
            while plain.recv(4096):
                pass  # the server greets before it ends the connection
    controller.wait_count("connections-unheard")
    _round_trip(controller, web, "web1")
    assert _peak_memory() - before < 32 << 20


LARGE = Blob(request=1, oid="a", offset=0, total=1, data=bytes(1024 * 1024))


def test_a_minion_that_does_not_read_holds_only_so_many_bytes(controller_with: Any) -> None:
    refused: list[str] = []
    limits = MinionLimits(unread_bytes=2 * 1024 * 1024)
    controller = controller_with(borders=WireLimits(minion=limits, minion_refused=refused.append))
    keys = controller.keys_of("web1")
    silent = controller.raw(keys, queue=1)
    silent.send(encode(KeepAlive()))
    controller.wait(Incoming)
    for _ in range(100):
        controller.server.send(keys.public, LARGE)
    assert controller.wait(Refusal).reason == "overflow"
    assert refused == ["unread-bytes"]
    assert controller.server.counts()["out.blob"] < 60


def test_a_minion_that_reads_is_sent_any_number_of_bytes(controller_with: Any) -> None:
    controller = controller_with(borders=WireLimits(minion=MinionLimits(unread_bytes=2 * 1024 * 1024)))
    web = controller.peer("web1")
    _round_trip(controller, web, "web1")
    for _ in range(20):
        controller.server.send(web.keys.public, LARGE)
        web.wait(Blob)
    controller.server.send(web.keys.public, msgspec.structs.replace(LARGE, data=bytes(16 * 1024 * 1024)))
    controller.server.send(web.keys.public, LARGE)
    assert len(web.wait(Blob).data) == 16 * 1024 * 1024
    assert len(web.wait(Blob).data) == 1024 * 1024


def test_the_kernel_is_asked_once_for_several_messages(controller_with: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(
        sending, "bytes_acknowledged", lambda number: asked.append(number) or bytes_acknowledged(number)
    )
    controller = controller_with(borders=WireLimits(minion=MinionLimits(unread_bytes=4 * 1024 * 1024)))
    web = controller.peer("web1")
    _round_trip(controller, web, "web1")
    for _ in range(30):
        controller.server.send(web.keys.public, LARGE)
        web.wait(Blob)
    assert 0 < len(asked) <= 15


def test_there_is_room_for_more_once_minions_have_read_what_they_were_sent(controller_with: Any) -> None:
    controller = controller_with(borders=WireLimits(minion=MinionLimits(total_unread_bytes=2 * 1024 * 1024)))
    web = controller.peer("web1")
    _round_trip(controller, web, "web1")
    assert controller.server.has_room(web.keys.public)
    large = msgspec.structs.replace(LARGE, data=bytes(16 * 1024 * 1024))

    def counts_at_once() -> bool:
        controller.server.send(web.keys.public, large)
        has_room = controller.server.has_room()
        web.wait(Blob)
        _until(lambda: controller.server.has_room(web.keys.public))
        return not has_room

    # Where this thread does not get the processor in between, a message may have been read before it is looked.
    assert any(counts_at_once() for _ in range(5)), "what was only handed over counts at once"
    for _ in range(1000):
        controller.server.send(web.keys.public, KeyState(state="accepted"))
    assert controller.server.has_room(), "small messages are not counted"


def test_who_reads_nothing_keeps_others_from_what_they_wait_for_no_longer_than_a_while(
    controller_with: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unread_bytes, "IDLE_SECONDS", 0.5)
    controller = controller_with(borders=WireLimits(minion=MinionLimits(total_unread_bytes=4 * 1024 * 1024)))
    web, keys = controller.peer("web1"), controller.keys_of("silent")
    _round_trip(controller, web, "web1")
    silent = controller.raw(keys, queue=1)
    silent.send(encode(KeepAlive()))
    controller.wait(Incoming)
    for _ in range(14):
        controller.server.send(keys.public, LARGE)
    assert not controller.server.has_room()
    _until(controller.server.has_room)
    assert not controller.server.has_room(keys.public), "it has enough to read"
    controller.server.send(web.keys.public, LARGE)
    web.wait(Blob)
    _until(lambda: controller.server.has_room(web.keys.public))


def test_what_waits_for_a_connection_that_has_ended_waits_no_more(controller_with: Any) -> None:
    controller = controller_with(borders=WireLimits(minion=MinionLimits(total_unread_bytes=4 * 1024 * 1024)))
    keys = controller.keys_of("silent")
    silent = controller.raw(keys, queue=1)
    silent.send(encode(KeepAlive()))
    controller.wait(Incoming)
    for _ in range(14):
        controller.server.send(keys.public, LARGE)
    assert not controller.server.has_room()
    silent.close(0)
    controller.wait(Gone)
    _until(lambda: controller.server.has_room(keys.public))
