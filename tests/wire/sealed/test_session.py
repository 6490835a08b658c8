"""Sealed pieces: what goes in comes out, in its order, or the session is broken off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.errors import SealBroken
from wire.sealed.handshake import Cipher
from wire.sealed.session import PieceKind, SealedSession, cost_of_piece


def pair(longest: int = 10_000) -> tuple[SealedSession, SealedSession]:
    first, second = bytes(32), b"\x01" * 32
    one = SealedSession(Cipher(first), Cipher(second), longest=longest)
    return one, SealedSession(Cipher(second), Cipher(first), longest=longest)


def cut(message: bytes, size: int) -> list[tuple[bytes, PieceKind]]:
    parts = [message[at : at + size] for at in range(0, len(message), size)] or [b""]
    return [(part, PieceKind.MORE) for part in parts[:-1]] + [(parts[-1], PieceKind.LAST)]


@given(st.lists(st.binary(max_size=500), max_size=8), st.integers(1, 200))
def test_messages_come_out_as_they_went_in(messages: list[bytes], size: int) -> None:
    here, there = pair()
    sealed = [here.seal(part, kind) for message in messages for part, kind in cut(message, size)]
    opened = [there.open(piece) for piece in sealed]
    assert [bytes(each) for each in opened if each is not None] == messages
    assert there.taken == sum(cost_of_piece(len(piece)) for piece in sealed)


@given(st.lists(st.binary(max_size=50), min_size=2, max_size=6), st.data())
def test_a_piece_that_is_not_the_next_one_is_refused(messages: list[bytes], data: st.DataObject) -> None:
    """Repeated, left out, reordered, or of the other direction."""
    here, there = pair()
    sealed = [here.seal(message) for message in messages]
    order = data.draw(st.lists(st.sampled_from(range(len(sealed))), min_size=1, max_size=8))
    for turn, number in enumerate(order):
        if number != turn:
            with pytest.raises(SealBroken):
                there.open(sealed[number])
            break
        assert there.open(sealed[number]) == messages[number]
    with pytest.raises(SealBroken):
        here.open(sealed[-1])


@given(st.binary(max_size=60), st.data())
def test_an_altered_piece_is_refused(message: bytes, data: st.DataObject) -> None:
    here, there = pair()
    piece = bytearray(here.seal(message))
    piece[data.draw(st.integers(0, len(piece) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(SealBroken):
        there.open(bytes(piece))


@given(st.binary(max_size=60))
def test_what_was_never_sealed_is_refused(text: bytes) -> None:
    with pytest.raises(SealBroken):
        pair()[1].open(text)


@pytest.mark.parametrize("parts", [[101], [60, 41], [0] * 3 + [101], [100, 1]])
def test_a_message_that_is_too_long_is_not_put_together(parts: list[int]) -> None:
    here, there = pair(longest=100)
    with pytest.raises(SealBroken, match="too long"):
        for size in parts:
            there.open(here.seal(bytes(size), PieceKind.MORE))


def test_a_piece_of_no_known_kind_is_refused() -> None:
    here, there = pair()
    sealing = here._sending
    with pytest.raises(SealBroken):
        there.open(sealing.seal(b"\x07hello"))
    here, there = pair()
    with pytest.raises(SealBroken):
        there.open(here._sending.seal(b""))


def test_what_was_taken_never_goes_back() -> None:
    here, there = pair()
    for message in (b"a" * 100, b"b"):
        there.open(here.seal(message))
    here.open(there.seal_taken())
    assert here.taken_there == there.taken
    there.taken = 0
    here.open(there.seal_taken())
    assert here.taken_there == cost_of_piece(117) + cost_of_piece(18)
