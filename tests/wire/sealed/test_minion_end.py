"""What a minion makes of the frames of its relay, whoever has made them."""

from __future__ import annotations

import zmq
from hypothesis import given
from hypothesis import strategies as st

from wire.codec import MAX_TO_CONTROLLER
from wire.keys import KeyPair
from wire.sealed.channel_frames import DATA, END, OPEN, SessionEnded, SessionOpened, channel_frame
from wire.sealed.handshake import answer_opening, prologue_of
from wire.sealed.minion_end import MinionEnd
from wire.sealed.session import WINDOW, PieceKind, SealedSession


def new_keys() -> KeyPair:
    public, secret = zmq.curve_keypair()
    return KeyPair(public=public.decode(), secret=secret.decode())


CONTROLLER, RELAY, MINION = new_keys(), new_keys(), new_keys()


def opened() -> tuple[MinionEnd, SealedSession]:
    """Both ends of a session that is open."""
    end = MinionEnd(MINION, CONTROLLER.public, RELAY.public)
    key, answer, (sending, receiving) = answer_opening(CONTROLLER, end.opening()[1:], prologue_of(RELAY.public))
    assert key == MINION.public
    assert end.take(channel_frame(OPEN, answer)) == SessionOpened()
    return end, SealedSession(sending, receiving, longest=MAX_TO_CONTROLLER)


def test_messages_go_both_ways() -> None:
    end, controller = opened()
    assert controller.open(end.seal(b"from the minion")[1:]) == b"from the minion"
    assert end.take(channel_frame(DATA, controller.seal(b"to the minion"))) == b"to the minion"


def test_it_tells_what_it_has_taken_before_the_window_is_used_up() -> None:
    end, controller = opened()
    sent, told = 0, 0
    for _ in range(40):
        piece = controller.seal(bytes(50_000), PieceKind.LAST)
        sent += len(piece) + 256
        end.take(channel_frame(DATA, piece))
        frame = end.taken_frame()
        if frame is not None:
            assert controller.open(frame[1:]) is None
            told += 1
        assert sent - controller.taken_there < WINDOW
    assert 3 < told < 40
    assert end.taken_frame() is None


@given(st.binary(max_size=200))
def test_no_frame_of_a_relay_is_a_message(frame: bytes) -> None:
    """Whatever it makes up, the session ends: neither a message nor a second session comes of it."""
    fresh = MinionEnd(MINION, CONTROLLER.public, RELAY.public)
    fresh.opening()
    for end in (fresh, opened()[0]):
        assert isinstance(end.take(frame), SessionEnded)


def test_a_second_answer_in_an_open_session_ends_it() -> None:
    end, _ = opened()
    other = MinionEnd(MINION, CONTROLLER.public, RELAY.public)
    _, answer, _ = answer_opening(CONTROLLER, other.opening()[1:], prologue_of(RELAY.public))
    assert isinstance(end.take(channel_frame(OPEN, answer)), SessionEnded)


def test_a_frame_that_is_repeated_ends_the_session() -> None:
    end, controller = opened()
    frame = channel_frame(DATA, controller.seal(b"once"))
    assert end.take(frame) == b"once"
    assert isinstance(end.take(frame), SessionEnded)


def test_why_a_relay_ends_it_is_text_of_ours_alone() -> None:
    for said in (b"busy", b"\x1b[31mcall this number", b"", b"handshake" * 1000):
        ended = opened()[0].take(channel_frame(END, said))
        assert isinstance(ended, SessionEnded)
        assert "call" not in ended.reason.split()
