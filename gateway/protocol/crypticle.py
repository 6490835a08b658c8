"""Salt's authenticated encryption: AES-192 in CBC mode, and HMAC-SHA256 over what it gives.

A key is the base64 of 24 bytes for AES and 32 for the HMAC. Before the packed value stands `pickle::`, and in an answer
the nonce of its question.

Source: `Crypticle` in `salt/crypt.py`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from gateway.protocol.packing import pack, unpack
from wire.errors import MalformedMessage
from wire.limits import MinionLimits

_AES_BYTES = 24
_HMAC_BYTES = 32
_BLOCK = 16
_MARK = b"pickle::"


class NotAuthentic(MalformedMessage):
    """Somebody encrypted it with another key, or changed it on the way."""


def new_key() -> str:
    """A key by chance."""
    return base64.b64encode(os.urandom(_AES_BYTES + _HMAC_BYTES)).decode("ascii")


class Crypticle:
    """Encrypts and decrypts with one key.

    Args:
        key: as `new_key` makes it.
    """

    def __init__(self, key: str) -> None:
        raw = base64.b64decode(key)
        if len(raw) != _AES_BYTES + _HMAC_BYTES:
            raise ValueError("a key of another length")
        self.key = key
        self._aes, self._hmac = raw[:_AES_BYTES], raw[_AES_BYTES:]

    def seal(self, value: Any, nonce: str = "") -> bytes:
        """A value, encrypted. `nonce`: of the question that it answers."""
        data = _MARK + nonce.encode("ascii") + pack(value)
        padding = _BLOCK - len(data) % _BLOCK
        start = os.urandom(_BLOCK)
        encryptor = Cipher(algorithms.AES(self._aes), modes.CBC(start)).encryptor()
        sealed = start + encryptor.update(data + bytes([padding]) * padding) + encryptor.finalize()
        return sealed + hmac.digest(self._hmac, sealed, hashlib.sha256)

    def open(self, data: bytes, limits: MinionLimits) -> Any:
        """What was encrypted. NotAuthentic, or MalformedMessage."""
        sealed, signature = data[:-_HMAC_BYTES], data[-_HMAC_BYTES:]
        # The HMAC is checked first: nobody without the key finds out how padding is taken.
        if not hmac.compare_digest(hmac.digest(self._hmac, sealed, hashlib.sha256), signature):
            raise NotAuthentic("not encrypted with this key")
        if len(sealed) < 2 * _BLOCK or len(sealed) % _BLOCK:
            raise MalformedMessage("no whole blocks")
        decryptor = Cipher(algorithms.AES(self._aes), modes.CBC(sealed[:_BLOCK])).decryptor()
        padded = decryptor.update(sealed[_BLOCK:]) + decryptor.finalize()
        if not 1 <= padded[-1] <= _BLOCK or not padded.startswith(_MARK):
            raise MalformedMessage("no value")
        return unpack(padded[len(_MARK) : -padded[-1]], limits)
