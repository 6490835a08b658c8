"""Secrets that a configuration names instead of holding: read at each use, so that they can be changed in place.

Called by `gitfs.transport` and `gitfs.lfs`. What is read here goes into no error, no log and no argument of a process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class SecretFrom:
    """Where a secret stands."""

    kind: Literal["file", "env"]
    where: str


def parse_secret(value: Any) -> str | SecretFrom:
    """The secret itself, or `{file: /path}` or `{env: NAME}`; ValueError says what is wanted."""
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    if isinstance(value, Mapping) and len(value) == 1:
        ((kind, where),) = value.items()
        if kind == "file" and isinstance(where, str) and Path(where).is_absolute():
            return SecretFrom("file", where)
        if kind == "env" and isinstance(where, str) and where:
            return SecretFrom("env", where)
    raise ValueError("a string, `{file: /absolute/path}` or `{env: NAME}`")


def reveal(secret: str | SecretFrom) -> str:
    """The secret; LookupError, which names only the place, when it is not there."""
    if isinstance(secret, str):
        return secret
    if secret.kind == "env":
        if secret.where not in os.environ:
            raise LookupError(f"the environment has no {secret.where}")
        return os.environ[secret.where]
    try:
        return Path(secret.where).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise LookupError(f"the file {secret.where} cannot be read") from None
