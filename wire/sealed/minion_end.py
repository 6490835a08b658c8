"""The minion's end of a sealed session, for one connection to a relay.

Made by `wire.client` where the configuration names a relay. Knows no socket: it is given frames, and gives frames.
What a relay says by itself is believed only as a reason to try again.
"""

from __future__ import annotations

from wire.codec import MAX_TO_MINION
from wire.errors import SealBroken
from wire.keys import KeyPair
from wire.sealed.channel_frames import DATA, END, HEAD_BYTES, OPEN, SessionEnded, SessionOpened, channel_frame
from wire.sealed.handshake import MinionHandshake, prologue_of
from wire.sealed.session import WINDOW, SealedSession

_TOLD_AFTER = WINDOW // 4
"""Bytes that are taken before the controller is told."""

_REASONS = {
    "handshake": "the controller behind the relay has another key than `controller_key`, or knows the relay by another",
    "busy": "the relay or the controller has too many connections that are not accepted",
    "upstream": "the relay is not connected to its controller",
    "broken": "the sealed session was broken off: a frame was altered, lost or repeated on the way",
    "superseded": "another connection with this minion's key has taken its place",
    "overflow": "this minion did not read what it was sent",
}


class MinionEnd:
    """One session.

    Args:
        keys: of the minion.
        controller_key: in Z85.
        relay_key: in Z85.
    """

    def __init__(self, keys: KeyPair, controller_key: str, relay_key: str) -> None:
        self._handshake = MinionHandshake(keys, controller_key, prologue_of(relay_key))
        self._session: SealedSession | None = None
        self._told = 0

    def opening(self) -> bytes:
        """The first frame; to be called once."""
        return channel_frame(OPEN, self._handshake.opening())

    def seal(self, message: bytes) -> bytes:
        """The frame of a message. It has to be the next that is sent."""
        assert self._session is not None  # noqa: S101 - nothing is sent before the session is open
        return channel_frame(DATA, self._session.seal(message))

    def taken_frame(self) -> bytes | None:
        """A frame that tells what was taken, when that is time; it has to be the next that is sent."""
        if self._session is None or self._session.taken - self._told < _TOLD_AFTER:
            return None
        self._told = self._session.taken
        return channel_frame(DATA, self._session.seal_taken())

    def take(self, frame: bytes | memoryview) -> bytes | bytearray | SessionOpened | SessionEnded | None:
        """Take a frame: a message, what became of the session, or nothing yet."""
        kind, content = frame[0] if frame else 0, memoryview(frame)[HEAD_BYTES:]
        try:
            if kind == OPEN and self._session is None:
                sending, receiving = self._handshake.finish(content)
                self._session = SealedSession(sending, receiving, longest=MAX_TO_MINION)
                return SessionOpened()
            if kind == DATA and self._session is not None:
                return self._session.open(content)
        except SealBroken as error:
            return SessionEnded(reason=str(error))
        if kind == END:
            said = bytes(content[:32]).decode("ascii", "replace")
            return SessionEnded(reason=_REASONS.get(said, "the relay has ended the session"))
        return SessionEnded(
            reason="what came is no frame of a sealed session: check `relay_key`, and what listens there"
        )
