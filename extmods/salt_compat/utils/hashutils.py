"""`salt.utils.hashutils`: digests."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path


def get_hash(path: str, form: str = "sha256", chunk_size: int = 65536) -> str:
    """Digest of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, form).hexdigest()


def sha256_digest(instr: str | bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(instr.encode() if isinstance(instr, str) else instr).hexdigest()


def sha512_digest(instr: str | bytes) -> str:
    """SHA-512 in hexadecimal digits."""
    return hashlib.sha512(instr.encode() if isinstance(instr, str) else instr).hexdigest()


def base64_b64encode(instr: str | bytes) -> str:
    """Base64."""
    return base64.b64encode(instr.encode() if isinstance(instr, str) else instr).decode()


def base64_b64decode(instr: str | bytes) -> str:
    """The text of base64."""
    return base64.b64decode(instr).decode("utf-8", "replace")
