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

LONGEST_PROJECT = 500
"""Characters."""
LARGEST_NUMBER = 2**53


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PullHint:
    """A webhook says that something happened to this pull request. What is true is then asked of the forge."""

    project: str
    """As the payload names it; names are compared without regard to case (`same_project`)."""
    number: int


Verifier: TypeAlias = SignatureHeader | TokenHeader | BasicPassword


def _no_delivery(payload: object) -> str:
    return ""


def _no_pull(headers: Mapping[str, str], payload: object) -> PullHint | None:
    return None


def value_at(payload: object, *path: str) -> object:
    """What a payload has below these keys; None when it is not there."""
    for key in path:
        payload = payload.get(key) if isinstance(payload, Mapping) else None
    return payload


def hint_of(project: object, number: object) -> PullHint | None:
    """The hint, when a payload has both as they must be."""
    if not isinstance(project, str) or not project or len(project) > LONGEST_PROJECT:
        return None
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= LARGEST_NUMBER:
        return None
    return PullHint(project=project, number=number)


def same_project(one: str, other: str) -> bool:
    """Whether two names are of one project. Forges keep the case of names, and do not look at it."""
    return one.strip("/").lower() == other.strip("/").lower()


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
    pull_of: Callable[[Mapping[str, str], object], PullHint | None] = _no_pull
    """The pull request that something happened to (headers, payload); None for other events."""
    repository: tuple[str, ...] = ("repository",)
    """Path of keys to the repository in the payload."""
