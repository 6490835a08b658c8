"""Passwords of roles as PostgreSQL keeps them: `md5…` and `SCRAM-SHA-256$…`.

A password or verifier is in memory alone: it stands in no change, comment or error.
Behaviour: salt.states.postgres_user; RFC 5803 and 7677, and PostgreSQL's documentation of pg_authid.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import stringprep
import unicodedata
from typing import Literal

from minion.machine.failure import StateFailed

PasswordMethod = Literal["md5", "scram-sha-256"]
_ITERATIONS = 4096
_SALT_BYTES = 16
_MD5 = re.compile(r"md5[0-9a-f]{32}")
_SCRAM = re.compile(r"SCRAM-SHA-256\$(\d{1,7}):([A-Za-z0-9+/=]+)\$[A-Za-z0-9+/=]+:[A-Za-z0-9+/=]+")
_PROHIBITED = (
    stringprep.in_table_c12,
    stringprep.in_table_c21_c22,
    stringprep.in_table_c3,
    stringprep.in_table_c4,
    stringprep.in_table_c5,
    stringprep.in_table_c6,
    stringprep.in_table_c7,
    stringprep.in_table_c8,
    stringprep.in_table_c9,
    stringprep.in_table_a1,
)


def method_of(encrypted: bool | str | None) -> PasswordMethod:
    """How a password is to be kept. StateFailed for `encrypted: False`: no server keeps plain passwords any more."""
    if encrypted is None or encrypted is True or encrypted == "md5":
        return "md5"
    if encrypted == "scram-sha-256":
        return "scram-sha-256"
    if encrypted is False:
        raise StateFailed("encrypted: False is not supported: PostgreSQL 10 and later keep no plain passwords")
    raise StateFailed(f"Unknown password algorithm: {encrypted}")


def verifier_of(role: str, password: str, method: PasswordMethod) -> str:
    """What the server keeps of a password; a password that is a verifier stays as it is."""
    if _is_verifier(password):
        return password
    if method == "md5":
        return _md5(role, password)
    return _scram(password, secrets.token_bytes(_SALT_BYTES), _ITERATIONS)


def fits(role: str, password: str, kept: str, method: PasswordMethod) -> bool:
    """Whether the server keeps this very password, by this method."""
    if _is_verifier(password):
        expected = password
    elif method == "md5":
        expected = _md5(role, password)
    elif found := _SCRAM.fullmatch(kept):
        expected = _scram(password, base64.b64decode(found[2]), int(found[1]))
    else:
        return False
    return hmac.compare_digest(expected.encode(), kept.encode())


def _is_verifier(text: str) -> bool:
    return bool(_MD5.fullmatch(text) or _SCRAM.fullmatch(text))


def _md5(role: str, password: str) -> str:
    return f"md5{hashlib.md5(f'{password}{role}'.encode(), usedforsecurity=False).hexdigest()}"


def _scram(password: str, salt: bytes, iterations: int) -> str:
    salted = hashlib.pbkdf2_hmac("sha256", _prepared(password).encode(), salt, iterations)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    parts = [base64.b64encode(one).decode() for one in (salt, stored, server)]
    return f"SCRAM-SHA-256${iterations}:{parts[0]}${parts[1]}:{parts[2]}"


def _prepared(password: str) -> str:
    """By SASLprep (RFC 4013); as it is where that refuses it, which is what the server does."""
    if password.isascii() and password.isprintable():
        return password
    mapped = "".join(
        " " if stringprep.in_table_c12(one) else one for one in password if not stringprep.in_table_b1(one)
    )
    text = unicodedata.ucd_3_2_0.normalize("NFKC", mapped)
    if not text or any(prohibits(one) for one in text for prohibits in _PROHIBITED):
        return password
    right_to_left = [stringprep.in_table_d1(one) for one in text]
    mixed = any(right_to_left) and (
        any(map(stringprep.in_table_d2, text)) or not (right_to_left[0] and right_to_left[-1])
    )
    return password if mixed else text
