"""The handshake against a published vector, and against whoever alters it."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
import zmq
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from zmq.utils import z85

from wire.errors import SealBroken
from wire.keys import KeyPair
from wire.sealed import handshake
from wire.sealed.handshake import ANSWER_BYTES, OPENING_BYTES, MinionHandshake, answer_opening, prologue_of

PROLOGUE = "4a6f686e2047616c74"
MINION = "e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1"
MINION_EPHEMERAL = "893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a"
CONTROLLER = "4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893"
CONTROLLER_EPHEMERAL = "bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b"
SAID = (
    (
        "4c756477696720766f6e204d69736573",
        "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944718da798efbcd91528520204f904b9bd6c7413dccdc214d9"
        "51e15253e39987f18146e8cd0873654207148333479d4d16c289f0294b29960a72f48e0b7bba2e89083169825e59642148d492020664ccf7",
    ),
    (
        "4d757272617920526f746862617264",
        "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f1448088435361e70b2ed446e6c9ec387d1d6b3b840f194e373979d241"
        "b203c4acafccf5",
    ),
    ("462e20412e20486179656b", "050e9f3c8fac16b68dbce8f8c4bfbf6617c897f9ada4aa29aa19c8"),
    ("4361726c204d656e676572", "344233a6cabb7141d80f3da2fedc311d9646bbb0f505afe403a667"),
    ("4a65616e2d426170746973746520536179", "62cdeeb172ad7ade7aa7d9e069da5790f12331bfa00177787a1d0810c67dc3b2b4"),
    (
        "457567656e2042f6686d20766f6e2042617765726b",
        "029bead1b40992327044d409d9a1f3ad8f36c3c452775d557e18bbeb2e8dfcead32d514024",
    ),
)
"""Noise_IK_25519_ChaChaPoly_SHA256 of the vectors of cacophony: (content, what goes over the wire), in turn."""


def _keys(secret: str) -> KeyPair:
    raw = bytes.fromhex(secret)
    public = X25519PrivateKey.from_private_bytes(raw).public_key().public_bytes_raw()
    return KeyPair(public=z85.encode(public).decode(), secret=z85.encode(raw).decode())


def new_keys() -> KeyPair:
    public, secret = zmq.curve_keypair()
    return KeyPair(public=public.decode(), secret=secret.decode())


def test_it_is_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [(bytes.fromhex(content), bytes.fromhex(sealed)) for content, sealed in SAID]
    # The vector has contents in the two messages of the handshake, where ours have none.
    sealing, number = handshake._Transcript.seal, count()

    def seal(self: Any, content: bytes) -> bytes:
        return sealing(self, content or said[next(number)][0])

    monkeypatch.setattr(handshake._Transcript, "seal", seal)
    monkeypatch.setattr(handshake, "OPENING_BYTES", len(said[0][1]))
    monkeypatch.setattr(handshake, "ANSWER_BYTES", len(said[1][1]))
    ephemeral = [
        X25519PrivateKey.from_private_bytes(bytes.fromhex(key)) for key in (MINION_EPHEMERAL, CONTROLLER_EPHEMERAL)
    ]
    minion, controller, prologue = _keys(MINION), _keys(CONTROLLER), bytes.fromhex(PROLOGUE)
    ours = MinionHandshake(minion, controller.public, prologue, ephemeral[0])
    opening = ours.opening()
    assert opening == said[0][1]
    key, answer, (controller_sends, controller_opens) = answer_opening(controller, opening, prologue, ephemeral[1])
    assert (key, answer) == (minion.public, said[1][1])
    minion_sends, minion_opens = ours.finish(answer)
    for turn, (content, sealed) in enumerate(said[2:]):
        sends, opens = ((minion_sends, controller_opens), (controller_sends, minion_opens))[turn % 2]
        assert sends.seal(content) == sealed
        assert opens.open(sealed) == content


KEYS = {name: new_keys() for name in ("minion", "controller", "relay", "other")}
HERE = prologue_of(KEYS["relay"].public)


def test_both_ends_agree_on_controller_relay_and_version() -> None:
    begun = MinionHandshake(KEYS["minion"], KEYS["controller"].public, HERE)
    opening = begun.opening()
    assert len(opening) == OPENING_BYTES
    for keys, prologue in (
        (KEYS["other"], HERE),  # another controller
        (KEYS["controller"], prologue_of(KEYS["other"].public)),  # another relay
        (KEYS["controller"], HERE.replace(b" 1\0", b" 0\0")),  # another version
    ):
        with pytest.raises(SealBroken):
            answer_opening(keys, opening, prologue)
    key, answer, _ = answer_opening(KEYS["controller"], opening, HERE)
    assert (key, len(answer)) == (KEYS["minion"].public, ANSWER_BYTES)
    begun.finish(answer)


def test_whoever_is_not_the_controller_cannot_answer() -> None:
    begun = MinionHandshake(KEYS["minion"], KEYS["controller"].public, HERE)
    begun.opening()
    other = MinionHandshake(KEYS["minion"], KEYS["other"].public, HERE)
    _, answer, _ = answer_opening(KEYS["other"], other.opening(), HERE)
    with pytest.raises(SealBroken):
        begun.finish(answer)


def test_an_answer_to_an_older_opening_does_not_fit() -> None:
    first = MinionHandshake(KEYS["minion"], KEYS["controller"].public, HERE)
    _, old, _ = answer_opening(KEYS["controller"], first.opening(), HERE)
    second = MinionHandshake(KEYS["minion"], KEYS["controller"].public, HERE)
    second.opening()
    with pytest.raises(SealBroken):
        second.finish(old)


def test_whoever_repeats_an_opening_has_no_keys_for_what_follows() -> None:
    opening = MinionHandshake(KEYS["minion"], KEYS["controller"].public, HERE).opening()
    results = [answer_opening(KEYS["controller"], opening, HERE) for _ in range(2)]
    (_, receiving), (_, other) = (ciphers for _, _, ciphers in results)
    with pytest.raises(SealBroken):
        receiving.open(results[1][2][0].seal(b"x"))
    assert results[0][1] != results[1][1], "a new ephemeral key each time"
    assert receiving is not other


@given(st.integers(0, OPENING_BYTES - 1), st.integers(1, 255))
def test_an_altered_opening_is_refused(at: int, flip: int) -> None:
    opening = bytearray(MinionHandshake(KEYS["minion"], KEYS["controller"].public, HERE).opening())
    opening[at] ^= flip
    with pytest.raises(SealBroken):
        answer_opening(KEYS["controller"], bytes(opening), HERE)


@given(st.integers(0, ANSWER_BYTES - 1), st.integers(1, 255))
def test_an_altered_answer_is_refused(at: int, flip: int) -> None:
    begun = MinionHandshake(KEYS["minion"], KEYS["controller"].public, HERE)
    answer = bytearray(answer_opening(KEYS["controller"], begun.opening(), HERE)[1])
    answer[at] ^= flip
    with pytest.raises(SealBroken):
        begun.finish(bytes(answer))


@given(st.binary(max_size=300))
def test_anything_else_is_refused(text: bytes) -> None:
    begun = MinionHandshake(KEYS["minion"], KEYS["controller"].public, HERE)
    begun.opening()
    for attempt in (lambda: answer_opening(KEYS["controller"], text, HERE), lambda: begun.finish(text)):
        with pytest.raises(SealBroken):
            attempt()


@pytest.mark.parametrize("public", [bytes(32), b"\x01" + bytes(31), b"\xec" + b"\xff" * 30 + b"\x7f"])
def test_public_keys_of_low_order_are_refused(public: bytes) -> None:
    with pytest.raises(SealBroken):
        answer_opening(KEYS["controller"], public + bytes(OPENING_BYTES - 32), HERE)
    begun = MinionHandshake(KEYS["minion"], KEYS["controller"].public, HERE)
    begun.opening()
    with pytest.raises(SealBroken):
        begun.finish(public + bytes(16))
    with pytest.raises(SealBroken):
        MinionHandshake(KEYS["minion"], z85.encode(public).decode(), HERE).opening()
