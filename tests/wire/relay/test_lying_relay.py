"""A relay that lies: it can deny service to its own minions, and do nothing else.

In each test the minion's frames pass through the hands of the test, which has a key that the controller has accepted as
that of a relay, and alters, repeats, reorders, mixes or makes up what it carries.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from relays import CarriedMinion, LyingRelay

from wire.codec import decode_to_minion, encode
from wire.limits import RelayLimits, WireLimits
from wire.messages import (
    Blob,
    FromRelay,
    Grains,
    Hello,
    HelloAck,
    KeyRequest,
    KeyState,
    NewKey,
    Refused,
    RelayedFrame,
    RunResult,
)
from wire.server.types import Gone, Identity, Incoming, Refusal


@pytest.fixture
def liar(controller: Any) -> LyingRelay:
    return LyingRelay(controller)


def told(controller: Any, minion: CarriedMinion, number: int) -> RelayedFrame:
    return minion.frame(Grains(grains={"number": number}))


def delivered(controller: Any) -> list[int]:
    """Numbers of what was delivered, when nothing is on its way any more."""
    probe = controller.peer("probe")
    probe.send(Hello(id="probe", grains={}))
    controller.wait(Incoming, id="probe")
    return [each.message.grains["number"] for each in controller.delivered if isinstance(each, Incoming)]


def ended(liar: LyingRelay, minion: CarriedMinion, why: bytes) -> None:
    assert RelayedFrame(minion.channel, "end", why) in liar.read()


@pytest.mark.parametrize(
    "order",
    [(0, 0), (0, 2), (1, 0), (2,), (0, 1, 0), (0, 1, 1)],
    ids=["repeated", "left out", "swapped", "late", "repeated later", "repeated at once"],
)
def test_frames_in_another_order_are_never_delivered(controller: Any, liar: LyingRelay, order: tuple[int, ...]) -> None:
    minion = liar.minion("web1")
    frames = [told(controller, minion, number) for number in range(3)]
    liar.send(*(frames[number] for number in order))
    good = [number for place, number in enumerate(order) if order[: place + 1] == tuple(range(place + 1))]
    assert controller.wait(Refusal).reason == "unsealed"
    ended(liar, minion, b"broken")
    assert delivered(controller) == good
    liar.send(told(controller, minion, 3))  # the session is over for good
    assert delivered(controller) == good


@pytest.mark.parametrize("at", [0, 1, 20, -17, -1])
def test_an_altered_frame_ends_its_session_and_no_other(controller: Any, liar: LyingRelay, at: int) -> None:
    minion, other = liar.minion("web1"), liar.minion("web2")
    frame = told(controller, minion, 1)
    data = bytearray(frame.data)
    data[at] ^= 1
    liar.send(RelayedFrame(frame.channel, "data", bytes(data)), told(controller, other, 2))
    ended(liar, minion, b"broken")
    assert delivered(controller) == [2]


def test_frames_of_one_minion_are_not_anothers(controller: Any, liar: LyingRelay) -> None:
    one, two = liar.minion("web1"), liar.minion("web2")
    liar.send(RelayedFrame(two.channel, "data", told(controller, one, 1).data))
    ended(liar, two, b"broken")
    liar.send(told(controller, one, 2))  # its first frame is kept back: that ends it, too
    assert delivered(controller) == []


def test_what_was_recorded_is_good_for_nothing(controller: Any, liar: LyingRelay) -> None:
    """The opening and all frames of a session, served again on another channel and after a restart."""
    minion = liar.minion("web1")
    frames = [told(controller, minion, number) for number in range(2)]
    liar.send(*frames)
    controller.wait(Incoming, id="web1")
    controller.wait(Incoming, id="web1")
    again = next(liar.channels)
    liar.send(minion.open_frame(again), *(RelayedFrame(again, "data", frame.data) for frame in frames))
    assert controller.wait(Refusal).reason == "unsealed"
    # The session that was recorded goes on: an opening alone takes nothing from anybody.
    liar.send(told(controller, minion, 7))
    assert controller.wait(Incoming, id="web1").message.grains == {"number": 7}
    controller.restart()
    later = LyingRelay(controller)
    later.keys = liar.keys
    later.socket = controller.raw(liar.keys)
    later.send(minion.open_frame(0), *(RelayedFrame(0, "data", frame.data) for frame in frames))
    assert controller.wait(Refusal).reason == "unsealed"
    assert delivered(controller) == []


def test_a_session_is_of_one_relay(controller: Any, liar: LyingRelay) -> None:
    """What a minion says through one relay cannot be told through another, nor by channels of its own."""
    minion, second = liar.minion("web1"), LyingRelay(controller, "liar2")
    second.send(minion.open_frame(0))
    assert controller.wait(Refusal).reason == "unsealed"
    assert second.read() == (RelayedFrame(0, "end", b"handshake"),)
    second.send(RelayedFrame(minion.channel, "data", told(controller, minion, 1).data))
    second.send(RelayedFrame(minion.channel, "end"))
    assert delivered(controller) == []
    assert not any(isinstance(each, Gone) for each in controller.delivered)


def test_an_invented_minion_is_a_stranger(controller: Any, liar: LyingRelay) -> None:
    controller.know(controller.peer().keys, "web1")
    invented = liar.minion()
    liar.send(invented.frame(KeyRequest(id="web1")))
    asked = controller.wait(Incoming)
    assert (asked.id, asked.key, asked.relay) == (None, invented.keys.public, "liar")
    for message in (Hello(id="web1", grains={}), NewKey(public=invented.keys.public), Grains(grains={})):
        liar.send(invented.frame(message))
        assert controller.wait(Refusal).reason == "not-accepted"


def test_an_accepted_minion_cannot_be_another_one(controller: Any, liar: LyingRelay) -> None:
    controller.know(controller.peer().keys, "db1")
    minion = liar.minion("web1")
    liar.send(minion.frame(Hello(id="db1", grains={})))
    assert controller.wait(Refusal).reason == "id-mismatch"


def test_the_key_of_a_relay_speaks_for_nobody(controller: Any, liar: LyingRelay) -> None:
    result = RunResult(run_id="r", kind="call", generation=0, digest="", outcome="ok")
    for message in (Hello(id="liar", grains={}), result, NewKey(public=liar.keys.public)):
        liar.socket.send(encode(message))
        assert controller.wait(Refusal).reason == "role"
        assert isinstance(decode_to_minion(liar.socket.recv()), Refused)
    liar.socket.send(encode(KeyRequest(id="liar")))
    assert controller.wait(Refusal).reason == "role", "nor becomes a minion"
    assert isinstance(decode_to_minion(liar.socket.recv()), Refused)
    minion = liar.minion("web1")
    liar.send(minion.frame(FromRelay()))
    assert controller.wait(Refusal).reason == "role", "nor does a minion carry others"


def test_no_relay_is_behind_a_relay(controller: Any, liar: LyingRelay) -> None:
    second = LyingRelay(controller, "liar2")
    carried = CarriedMinion(liar, controller, second.keys)
    liar.send(carried.open_frame())
    assert controller.wait(Refusal).reason == "role"
    assert liar.read() == (RelayedFrame(carried.channel, "end", b"handshake"),)


def test_nothing_goes_to_a_key_that_was_rejected_meanwhile(controller: Any, liar: LyingRelay) -> None:
    minion = liar.minion("web1")
    liar.send(told(controller, minion, 1))
    controller.wait(Incoming, id="web1")
    controller.know(minion.keys, "web1", "rejected")
    controller.server.send(minion.keys.public, HelloAck(epoch="e", alive_interval=1.0))
    assert controller.wait(Refusal).reason == "not-accepted"
    liar.send(told(controller, minion, 2))
    assert controller.wait(Refusal).reason == "not-accepted"
    controller.server.send(minion.keys.public, KeyState(state="rejected"))
    answers: list[Any] = []
    while KeyState(state="rejected") not in answers:
        answers += [minion.received(frame) for frame in liar.read() if frame.kind == "data"]
    assert not any(isinstance(each, HelloAck) for each in answers)


def test_a_rejected_relay_carries_nothing_more(controller: Any, liar: LyingRelay) -> None:
    minion = liar.minion("web1")
    controller.identities[liar.keys.public] = Identity(id="liar", state="rejected", role="relay")
    liar.send(told(controller, minion, 1))
    assert controller.wait(Refusal).reason == "not-accepted"
    controller.server.disconnect(liar.keys.public)
    controller.wait(Gone, key=liar.keys.public)
    assert delivered(controller) == []


@pytest.mark.parametrize(
    "frames",
    [
        (RelayedFrame(0, "accepted"),),
        (RelayedFrame(5, "open", bytes(96)), RelayedFrame(5, "open", bytes(96))),
        (RelayedFrame(5, "open", bytes(96)), RelayedFrame(4, "open", bytes(96))),
    ],
    ids=["of the controller", "a channel twice", "a channel of before"],
)
def test_what_no_relay_sends_ends_a_relay_that_goes_on_with_it(controller: Any, liar: LyingRelay, frames: Any) -> None:
    direct = controller.peer("db1")
    for _ in range(20):
        liar.send(*frames)
    controller.wait(Refusal, reason="garbage")
    direct.send(Hello(id="db1", grains={}))
    controller.wait(Incoming, id="db1")


def test_openings_are_bounded_and_cost_others_little(controller_with: Any) -> None:
    refused: list[str] = []
    limits = RelayLimits(openings_a_second=50, unproved_channels=20)
    controller = controller_with(borders=WireLimits(relay=limits, relay_refused=refused.append))
    liar, direct = LyingRelay(controller), controller.peer("db1")
    direct.send(Hello(id="db1", grains={}))
    controller.wait(Incoming, id="db1")
    liar.send()
    controller.wait_count("in.from-relay")  # from now on it is a relay, and no stranger
    begun = [CarriedMinion(liar, controller, direct.keys) for _ in range(200)]
    for at in range(0, 200, 50):
        liar.send(*(each.open_frame() for each in begun[at : at + 50]))
    start = time.monotonic()
    direct.send(Grains(grains={}))
    controller.wait(Incoming, id="db1")
    assert time.monotonic() - start < 1.0
    controller.wait_count("in.from-relay", 5)
    assert {"openings-a-second", "unproved-channels"} <= set(refused)
    assert refused.count("openings-a-second") >= 140
    assert controller.server.counts()["peers"] == 2, "no opening has taken the place of the minion itself"


def test_a_relay_that_takes_nothing_is_sent_a_bounded_amount(controller_with: Any) -> None:
    controller = controller_with(borders=WireLimits(relay=RelayLimits(unread_bytes=300_000)))
    liar = LyingRelay(controller)
    minion, other = liar.minion("web1"), controller.peer("db1")
    liar.send(told(controller, minion, 1), taken=0)
    controller.wait(Incoming, id="web1")
    data = bytes(5_000_000)
    controller.server.send(minion.keys.public, Blob(request=1, oid="o", offset=0, total=len(data), data=data))
    controller.wait_count("out.to-relay", 2)
    other.send(Hello(id="db1", grains={}))
    controller.wait(Incoming, id="db1")
    assert controller.server.counts()["bytes_out"] < 6_000_000  # the message itself is counted once
    received = sum(len(frame.data) for frame in liar.read())
    assert received < 300_000 + 70_000
    while received < len(data):  # what it takes is sent on, until the minion takes nothing
        liar.send(taken=2**50)  # it lies about that, too, and gains nothing by it
        if not liar.socket.poll(300):
            break
        received += sum(len(frame.data) for frame in liar.read())
    assert received < 600_000


def test_a_minion_that_does_not_read_holds_up_no_other(controller: Any, liar: LyingRelay) -> None:
    slow, quick = liar.minion("web1"), liar.minion("web2")
    liar.send(told(controller, slow, 1), told(controller, quick, 2))
    controller.wait(Incoming, id="web1")
    controller.wait(Incoming, id="web2")
    data = bytes(3_000_000)
    controller.server.send(slow.keys.public, Blob(request=1, oid="o", offset=0, total=len(data), data=data))
    controller.server.send(quick.keys.public, HelloAck(epoch="e", alive_interval=1.0))
    frames: list[RelayedFrame] = []
    while not any(frame.channel == quick.channel and frame.kind == "data" for frame in frames):
        frames += liar.read()
        liar.send()
    for _ in range(12):  # 3 MB each: the slow one is given up, as it would be on a connection of its own
        controller.server.send(slow.keys.public, Blob(request=1, oid="o", offset=0, total=len(data), data=data))
    assert controller.wait(Refusal).reason == "overflow"
    liar.send(told(controller, quick, 3))
    assert controller.wait(Incoming, id="web2").message.grains == {"number": 3}
