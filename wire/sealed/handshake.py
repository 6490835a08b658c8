"""The handshake of a minion with its controller through a relay: Noise_IK_25519_ChaChaPoly_SHA256.

Called by `wire.sealed.minion_end` and `wire.server.relayed_reception`. Knows no socket. It brings OpenSSL into memory,
so a minion without a relay does not import it. Source: The Noise Protocol Framework, revision 34
(noiseprotocol.org/noise.html), pattern IK:

    <- s                  the minion knows the controller's CURVE key, which is an X25519 key
    -> e, es, s, ss       the opening, 96 bytes
    <- e, ee, se          the answer, 48 bytes

The prologue names this version of the session and the relay, so both ends agree on these and on both keys, or the
handshake fails. An opening may be replayed; then no frame after it can be sealed, because that takes the minion's
ephemeral key. Hence an opening alone proves nobody.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from zmq.utils import z85

from wire.errors import SealBroken
from wire.keys import KeyPair, check_public_key

OPENING_BYTES: Final = 96
ANSWER_BYTES: Final = 48

_NAME: Final = b"Noise_IK_25519_ChaChaPoly_SHA256"
_VERSION: Final = b"saltern sealed session 1\0"
_KEY: Final = 32
_TAG: Final = 16


def prologue_of(relay_key: str) -> bytes:
    """What both ends say of the session beside their keys.

    Args:
        relay_key: public key of the relay, in Z85. Raises BadKey when it is none.
    """
    return _VERSION + check_public_key(relay_key)


class Cipher:
    """One direction: a key and a counter, so that only the next frame of this direction opens."""

    def __init__(self, key: bytes) -> None:
        self._cipher = ChaCha20Poly1305(key)
        self._count = 0

    def seal(self, content: bytes, associated: bytes = b"") -> bytes:
        """The next frame, 16 bytes longer."""
        sealed = self._cipher.encrypt(self._nonce(), content, associated)
        self._count += 1
        return sealed

    def open(self, sealed: bytes | memoryview, associated: bytes = b"") -> bytes:
        """What is in the next frame; SealBroken when it is another one, was altered, or is of somebody else."""
        try:
            content = self._cipher.decrypt(self._nonce(), sealed, associated)
        except InvalidTag:
            raise SealBroken("a sealed frame does not open: it was altered, repeated, left out or reordered") from None
        self._count += 1
        return content

    def _nonce(self) -> bytes:
        return bytes(4) + self._count.to_bytes(8, "little")


class _Transcript:
    """Noise's SymmetricState: the hash of all that was said, and the key that came of it."""

    def __init__(self, prologue: bytes) -> None:
        self._hash = self._chaining_key = _NAME
        self._cipher: Cipher | None = None
        self.mix(prologue)

    def mix(self, said: bytes) -> None:
        self._hash = hashlib.sha256(self._hash + said).digest()

    def mix_key(self, own: X25519PrivateKey, other: bytes) -> None:
        """Noise's MixKey with a key agreement; SealBroken for a public key that gives nothing secret."""
        try:
            shared = own.exchange(X25519PublicKey.from_public_bytes(other))
        except ValueError:
            raise SealBroken("a public key of low order") from None
        self._chaining_key, key = _derive(self._chaining_key, shared)
        self._cipher = Cipher(key)

    def seal(self, content: bytes) -> bytes:
        assert self._cipher is not None  # noqa: S101 - a key was mixed in before, in both messages
        sealed = self._cipher.seal(content, self._hash)
        self.mix(sealed)
        return sealed

    def open(self, sealed: bytes) -> bytes:
        assert self._cipher is not None  # noqa: S101 - as above
        content = self._cipher.open(sealed, self._hash)
        self.mix(sealed)
        return content

    def split(self) -> tuple[Cipher, Cipher]:
        """The ciphers from the minion to the controller, and back."""
        first, second = _derive(self._chaining_key, b"")
        return Cipher(first), Cipher(second)


class MinionHandshake:
    """The minion's side.

    Args:
        keys: of the minion.
        controller_key: that the other end has to have, in Z85.
        prologue: see `prologue_of`.
        ephemeral: for tests; drawn otherwise.
    """

    def __init__(
        self, keys: KeyPair, controller_key: str, prologue: bytes, ephemeral: X25519PrivateKey | None = None
    ) -> None:
        self._static, self._own = _private(keys), check_public_key(keys.public)
        self._controller = check_public_key(controller_key)
        self._ephemeral = ephemeral or X25519PrivateKey.generate()
        self._transcript = _Transcript(prologue)
        self._transcript.mix(self._controller)

    def opening(self) -> bytes:
        """The first message; to be called once. SealBroken when the controller's key is of low order."""
        public = self._ephemeral.public_key().public_bytes_raw()
        self._transcript.mix(public)
        self._transcript.mix_key(self._ephemeral, self._controller)
        static = self._transcript.seal(self._own)
        self._transcript.mix_key(self._static, self._controller)
        return public + static + self._transcript.seal(b"")

    def finish(self, answer: bytes | memoryview) -> tuple[Cipher, Cipher]:
        """Take the controller's answer: the ciphers to send and to receive with. SealBroken when it is not its."""
        answer = bytes(answer)
        if len(answer) != ANSWER_BYTES:
            raise SealBroken(f"an answer of {len(answer)} bytes")
        public = answer[:_KEY]
        self._transcript.mix(public)
        self._transcript.mix_key(self._ephemeral, public)
        self._transcript.mix_key(self._static, public)
        self._transcript.open(answer[_KEY:])
        return self._transcript.split()


def answer_opening(
    keys: KeyPair, opening: bytes, prologue: bytes, ephemeral: X25519PrivateKey | None = None
) -> tuple[str, bytes, tuple[Cipher, Cipher]]:
    """The controller's side.

    Args:
        keys: of the controller.
        opening: what came; SealBroken when it was made for another controller, relay or version, or is broken.
        prologue: see `prologue_of`.
        ephemeral: for tests; drawn otherwise.

    Returns:
        The minion's public key in Z85, the answer, and the ciphers to send and to receive with. The minion is proved
        when its first frame has been opened, not before.
    """
    if len(opening) != OPENING_BYTES:
        raise SealBroken(f"an opening of {len(opening)} bytes")
    static, ephemeral = _private(keys), ephemeral or X25519PrivateKey.generate()
    transcript = _Transcript(prologue)
    transcript.mix(check_public_key(keys.public))
    minion_ephemeral = opening[:_KEY]
    transcript.mix(minion_ephemeral)
    transcript.mix_key(static, minion_ephemeral)
    minion = transcript.open(opening[_KEY : 2 * _KEY + _TAG])
    transcript.mix_key(static, minion)
    transcript.open(opening[2 * _KEY + _TAG :])
    public = ephemeral.public_key().public_bytes_raw()
    transcript.mix(public)
    transcript.mix_key(ephemeral, minion_ephemeral)
    transcript.mix_key(ephemeral, minion)
    answer = public + transcript.seal(b"")
    receiving, sending = transcript.split()
    return z85.encode(minion).decode("ascii"), answer, (sending, receiving)


def _private(keys: KeyPair) -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(z85.decode(keys.secret.encode("ascii")))


def _derive(chaining_key: bytes, secret: bytes) -> tuple[bytes, bytes]:
    """Noise's HKDF with two outputs (RFC 5869 with HMAC-SHA256)."""
    extracted = hmac.digest(chaining_key, secret, "sha256")
    first = hmac.digest(extracted, b"\x01", "sha256")
    return first, hmac.digest(extracted, first + b"\x02", "sha256")
