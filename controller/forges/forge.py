"""What the controller knows of a forge, and the ways in which forges prove that they know a shared secret.

Each proof takes the same time for every wrong value. Used by the modules of the forges; pure.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Proof: TypeAlias = Callable[[bytes, Mapping[str, str], bytes], bool]
"""`proof(secret, headers, body)`: whether a request proves that its sender knows the secret.

Header names are lower case; the body is exactly as it came.
"""


def _no_delivery(payload: object) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forge:
    """A forge, as far as its webhooks go. Header names are lower case."""

    name: str
    proofs: tuple[Proof, ...]
    delivery_headers: tuple[str, ...] = ()
    """Headers with the name of a delivery, the same when it is sent again; the first that is there counts."""
    delivery_of: Callable[[object], str] = _no_delivery
    """The name of a delivery out of the payload, where no header has it; empty when there is none."""
    ping: tuple[str, str] | None = None
    """Header and value of a request that only tries whether the webhook is reachable."""
    repository: tuple[str, ...] = ("repository",)
    """Path of keys to the repository in the payload."""


def signature(header: str) -> Proof:
    """HMAC-SHA256 of the body as hexadecimal digits, with or without `sha256=`. Another algorithm proves nothing."""

    def proof(secret: bytes, headers: Mapping[str, str], body: bytes) -> bool:
        expected = hmac.new(secret, body, hashlib.sha256).hexdigest().encode()
        given = headers.get(header, "").strip().removeprefix("sha256=").lower().encode()
        return hmac.compare_digest(given, expected)

    return proof


def token(header: str) -> Proof:
    """The secret itself in a header."""

    def proof(secret: bytes, headers: Mapping[str, str], body: bytes) -> bool:
        return hmac.compare_digest(headers.get(header, "").encode(), secret)

    return proof


def basic_password(secret: bytes, headers: Mapping[str, str], body: bytes) -> bool:
    """The secret as the password of basic authentication, with any user name."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    try:
        pair = base64.b64decode(value.strip(), validate=True) if scheme.lower() == "basic" else b""
    except (binascii.Error, ValueError):
        pair = b""
    return hmac.compare_digest(pair.partition(b":")[2], secret)
