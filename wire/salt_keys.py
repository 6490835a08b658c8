"""What a gateway vouches for: that a minion which asks by a key has shown the gateway this RSA key of Salt.

Made by `gateway`, checked by `controller.messages.stock_keys`. A person compares the fingerprint before he accepts a
key, so nobody but a gateway whose own key is accepted may say one: a code by a secret that only this gateway and the
controller have stands beside it. It brings OpenSSL into memory, so it is imported where a gateway is.

Source: X25519 (RFC 7748) and HKDF (RFC 5869) with SHA-256, HMAC (RFC 2104). CURVE keys are X25519 keys.
"""

from __future__ import annotations

import hmac

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from zmq.utils import z85

from wire.errors import BadKey
from wire.keys import KeyPair, check_public_key
from wire.messages import SaltKey

_PURPOSE = b"saltern vouched key of salt 1\0"


class VouchingSecret:
    """What a gateway and a controller have in common, and nobody else. Raises BadKey for a key that gives no secret.

    Args:
        own: keys of the one.
        other: public key of the other, in Z85.
    """

    def __init__(self, own: KeyPair, other: str) -> None:
        private = X25519PrivateKey.from_private_bytes(z85.decode(own.secret.encode("ascii")))
        try:
            shared = private.exchange(X25519PublicKey.from_public_bytes(check_public_key(other)))
        except ValueError as error:
            raise BadKey("a public key of low order") from error
        self._secret = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(shared)

    def vouch(self, gateway: str, public: str, minion_id: str, fingerprint: str) -> SaltKey:
        """Say it.

        Args:
            gateway: public key of the gateway.
            public: the key by which the minion asks the controller.
            minion_id: for which it asks.
            fingerprint: of its RSA key: SHA-256 as Salt makes it, 64 hex digits.
        """
        return SaltKey(gateway=gateway, fingerprint=fingerprint, proof=self._proof(public, minion_id, fingerprint))

    def is_vouched(self, said: SaltKey, public: str, minion_id: str) -> bool:
        """Whether the gateway has said it of this key and id."""
        return hmac.compare_digest(said.proof, self._proof(public, minion_id, said.fingerprint))

    def _proof(self, public: str, minion_id: str, fingerprint: str) -> bytes:
        # None of the three holds a NUL: they cannot run into each other.
        said = "\0".join((public, minion_id, fingerprint)).encode("utf-8")
        return hmac.digest(self._secret, _PURPOSE + said, "sha256")
