"""What minions, and whoever else reaches its port, can do to a relay."""

from __future__ import annotations

import time
from typing import Any

import zmq
from relays import CarriedMinion, LyingRelay, MakeRelay, RunningRelay

from wire.client import Connected, HandshakeFailed
from wire.codec import decode_to_minion, encode
from wire.limits import RelayLimits, StrangerLimits, WireLimits
from wire.messages import Hello, KeyRequest, Refused
from wire.sealed.channel_frames import DATA, END, OPEN, channel_frame
from wire.sealed.minion_end import MinionEnd
from wire.server.types import Incoming


def raw_at(controller: Any, relay: RunningRelay, keys: Any = None) -> Any:
    """A socket at the relay's port that sends what a test says."""
    return controller.raw(keys, port=relay.port, server_key=relay.keys.public)


def still_carries(controller: Any, relay: RunningRelay, minion: str = "web9") -> None:
    peer = controller.peer(minion, address=relay.address())
    peer.wait(Connected)
    peer.send(KeyRequest(id=minion))
    assert controller.wait(Incoming, id=minion).relay == "relay1"


def until_end(raw: Any) -> bytes:
    """What follows the first frame of the kind END."""
    while True:
        frame = raw.recv()
        if frame[0] == END:
            return bytes(frame[1:])


def test_a_minion_that_takes_it_for_a_controller_is_told(controller: Any, relay: RunningRelay) -> None:
    direct = controller.peer("web1", address=relay.address(controller_key=relay.keys.public, relay_key=""))
    direct.wait(Connected)
    direct.send(KeyRequest(id="web1"))
    assert "name it in `relay_key`" in direct.wait(Refused).message


def test_a_relay_before_it_is_told(controller: Any, relay: RunningRelay, relay_with: MakeRelay, caplog: Any) -> None:
    second = relay_with(accept=False, controller=relay.address(controller_key=relay.keys.public, relay_key=""))
    deadline = time.monotonic() + 10
    while "relay behind a relay is not possible" not in caplog.text:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    minion = controller.peer("web1", address=second.address(controller_key=controller.keys.public))
    assert "not connected to its controller" in minion.wait(HandshakeFailed).reason


def test_a_minion_that_takes_a_controller_for_a_relay_is_told(controller: Any) -> None:
    keys, address = controller.keys, controller.address
    wrong = controller.peer(
        "web1", address=type(address)(host="127.0.0.1", request_port=address.request_port, controller_key=keys.public,
                                      relay_key=keys.public)
    )  # fmt: skip
    assert "check `relay_key`" in wrong.wait(HandshakeFailed).reason


def test_frames_of_no_kind_end_their_connection(controller: Any, relay: RunningRelay) -> None:
    raw = raw_at(controller, relay)
    raw.send(b"\x80 nothing")
    assert isinstance(decode_to_minion(raw.recv()), Refused)
    for _ in range(19):
        raw.send(b"\x80 nothing")
    still_carries(controller, relay)
    assert relay.relay.counts()["refused.malformed"] == 20


def test_a_stranger_sends_little_and_seldom(controller: Any, relay_with: MakeRelay) -> None:
    relay = relay_with(borders=WireLimits(relay=RelayLimits(stranger_frames=3, stranger_frames_a_second=0.001)))
    for pieces in ([bytes(100)] * 5, [bytes(5000)]):
        raw = raw_at(controller, relay)
        end = MinionEnd(controller.peer().keys, controller.keys.public, relay.keys.public)
        raw.send(end.opening())
        end.take(raw.recv())
        for piece in pieces:
            raw.send(channel_frame(DATA, end.seal(piece)[1:]))
        controller.wait_count("in.from-relay")
    deadline = time.monotonic() + 10
    while relay.relay.counts()["refused.garbage"] < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    still_carries(controller, relay)


def test_openings_of_an_address_are_bounded(controller: Any, relay_with: MakeRelay) -> None:
    limits = StrangerLimits(address_requests_a_second=1, burst_seconds=3.0, request_seconds=0.001)
    relay = relay_with(borders=WireLimits(stranger=limits))
    raws = [raw_at(controller, relay) for _ in range(6)]
    ends = [MinionEnd(controller.peer().keys, controller.keys.public, relay.keys.public) for _ in raws]
    for raw, end in zip(raws, ends, strict=True):
        raw.send(end.opening())
    said = [raw.recv()[:5] for raw in raws]
    assert [frame[0] for frame in said].count(OPEN) <= 4
    assert channel_frame(END, b"busy") in said


def test_an_opening_that_is_none_is_answered_and_costs_nobody_else(controller: Any, relay: RunningRelay) -> None:
    for opening in (b"", bytes(96), b"x" * 4000):
        raw = raw_at(controller, relay)
        raw.send(channel_frame(OPEN, opening))
        assert until_end(raw) == b"handshake"
    raw = raw_at(controller, relay)
    raw.send(channel_frame(OPEN, b"x" * 5000))
    assert until_end(raw) == b"busy"
    still_carries(controller, relay)


def test_another_connection_of_a_key_takes_the_place_of_the_first(controller: Any, relay: RunningRelay) -> None:
    first = controller.peer("web1", address=relay.address())
    first.wait(Connected)
    first.send(Hello(id="web1", grains={}))
    controller.wait(Incoming, id="web1")
    second = controller.peer("web1", keys=first.keys, address=relay.address())
    second.wait(Connected)
    second.send(Hello(id="web1", grains={"second": True}))
    assert controller.wait(Incoming, id="web1").message.grains == {"second": True}


def test_what_waits_for_the_controller_does_not_wait_for_ever(controller: Any, relay_with: MakeRelay) -> None:
    relay = relay_with(accept=False)
    raw = raw_at(controller, relay)
    raw.send(MinionEnd(controller.peer().keys, controller.keys.public, relay.keys.public).opening())
    start = time.monotonic()
    assert until_end(raw) == b"upstream"
    assert 4.0 < time.monotonic() - start < 10.0


def test_the_relay_of_a_test_carries_as_the_real_one(controller: Any) -> None:
    """What `test_lying_relay` alters is what is carried unaltered."""
    liar = LyingRelay(controller)
    minion: CarriedMinion = liar.minion("web1")
    liar.send(minion.frame(Hello(id="web1", grains={})))
    assert controller.wait(Incoming, id="web1").relay == "liar"
    liar.socket.send(encode(Hello(id="liar", grains={})))
    assert liar.socket.poll(5000, zmq.POLLIN)
