"""A session between a minion and its controller through a relay: messages as sealed pieces, and how many may be on
their way.

Used by both ends (`wire.sealed.minion_end`, `wire.server.relayed_channels`). Knows no socket. A large message goes in
several pieces, so that it does not hold up those of other minions. What was taken of them is told by a piece, and
no more than `WINDOW` goes out beyond it: so much lies in a relay for a minion that does not read.
"""

from __future__ import annotations

import enum
from typing import Final

from wire.errors import SealBroken
from wire.sealed.handshake import Cipher

PIECE_BYTES: Final = 64 * 1024
"""Of a message that goes to a minion, in one piece."""
WINDOW: Final = 512 * 1024
"""Bytes to a minion that it has not taken yet, each piece counted with `PIECE_COST` more."""
PIECE_COST: Final = 256
SEAL_BYTES: Final = 17
"""That a piece is longer than its content."""


class PieceKind(enum.IntEnum):
    """First byte of a piece, under its seal."""

    LAST = 0
    """The message ends here."""
    MORE = 1
    """It goes on in the next piece."""
    TAKEN = 2
    """Eight bytes: what its sender has taken until now, counted as in `WINDOW`."""


class SealedSession:
    """Both directions of a session at one end.

    Args:
        sending: seals what goes out.
        receiving: opens what comes in.
        longest: bytes of the longest message that is put together.
    """

    def __init__(self, sending: Cipher, receiving: Cipher, *, longest: int) -> None:
        self._sending, self._receiving = sending, receiving
        self.longest = longest
        self._begun = bytearray()
        self.taken = 0
        """What came of the other end, counted as in `WINDOW`."""
        self.taken_there = 0
        """What the other end says that it took."""

    def seal(self, content: bytes | memoryview, kind: PieceKind = PieceKind.LAST) -> bytes:
        """The next piece."""
        return self._sending.seal(bytes((kind,)) + content)

    def seal_taken(self) -> bytes:
        """A piece that tells what was taken."""
        return self.seal(self.taken.to_bytes(8, "big"), PieceKind.TAKEN)

    def open(self, piece: bytes | memoryview) -> bytes | bytearray | None:
        """Take the next piece: the message that it ends, if it ends one.

        SealBroken when it is not the next piece, or makes a message that is too long; the session is over then.
        """
        opened = self._receiving.open(piece)
        kind, content = opened[:1], memoryview(opened)[1:]
        if kind == b"\x02":
            self.taken_there = max(self.taken_there, int.from_bytes(content[:8], "big"))
            return None
        self.taken += cost_of_piece(len(piece))
        if kind not in (b"\x00", b"\x01") or len(self._begun) + len(content) > self.longest:
            raise SealBroken("a message that is too long, or a piece of no known kind")
        if kind == b"\x00" and not self._begun:
            return opened[1:]
        self._begun += content
        if kind == b"\x01":
            return None
        whole, self._begun = self._begun, bytearray()
        return whole


def cost_of_piece(size: int) -> int:
    """What a sealed piece of so many bytes counts in `WINDOW`."""
    return size + PIECE_COST
