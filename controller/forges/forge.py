"""What the controller knows of a forge, and the ways in which forges authenticate their webhooks.

A verifier takes the same time for every wrong value. Used by the modules of the forges; pure.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping
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


def _no_delivery(payload: object) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forge:
    """The webhooks of a forge. Header names are lower case."""

    name: str
    verifiers: tuple[Verifier, ...]
    """A webhook is accepted when one of them finds the secret."""
    delivery_headers: tuple[str, ...] = ()
    """Headers with the id of a delivery, the same when it is sent again; the first that is set counts."""
    delivery_of: Callable[[object], str] = _no_delivery
    """The id of a delivery from the payload, where no header has it; empty when there is none."""
    ping: tuple[str, str] | None = None
    """Header and value of a request that only tests whether the webhook is reachable."""
    repository: tuple[str, ...] = ("repository",)
    """Path of keys to the repository in the payload."""
