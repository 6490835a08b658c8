"""The ways in which forges authenticate their webhooks. Pure.

A verifier takes the same time for every wrong value. Used by the kinds of forges.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class SignatureHeader:
    """HMAC-SHA256 of the body as hexadecimal digits, with or without `sha256=`. Other algorithms are not accepted."""

    header: str

    def verify(self, secret: bytes, headers: Mapping[str, str], body: bytes) -> bool:
        """Whether the header has the signature of the body, which must be exactly as it came."""
        expected = hmac.new(secret, body, hashlib.sha256).hexdigest().encode()
        given = headers.get(self.header, "").strip().removeprefix("sha256=").lower().encode()
        return hmac.compare_digest(given, expected)


@dataclass(frozen=True, slots=True)
class TokenHeader:
    """The secret itself in a header."""

    header: str

    def verify(self, secret: bytes, headers: Mapping[str, str], body: bytes) -> bool:
        """Whether the header has the secret."""
        return hmac.compare_digest(headers.get(self.header, "").encode(), secret)


@dataclass(frozen=True, slots=True)
class BasicPassword:
    """The secret as the password of basic authentication, with any user name."""

    def verify(self, secret: bytes, headers: Mapping[str, str], body: bytes) -> bool:
        """Whether the password is the secret."""
        scheme, _, value = headers.get("authorization", "").partition(" ")
        try:
            pair = base64.b64decode(value.strip(), validate=True) if scheme.lower() == "basic" else b""
        except (binascii.Error, ValueError):
            pair = b""
        return hmac.compare_digest(pair.partition(b":")[2], secret)


Verifier: TypeAlias = SignatureHeader | TokenHeader | BasicPassword
