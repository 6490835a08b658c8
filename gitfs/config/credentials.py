"""Secrets that a configuration names instead of holding: read at each use, so that they can be changed in place.

Called by `gitfs.transport.callbacks`, `gitfs.transport.tls` and `gitfs.transport.lfs_server`; `withhold` by
processes that open a source, before they start others. What is read here goes into no error, no log and no argument
or environment of a process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

CredentialKind: TypeAlias = Literal["file", "env", "credential", "vault"]
AskVault: TypeAlias = Callable[[str, str], str]
"""The value of a key of a secret of the vault, as it is now: (path, key) -> value. LookupError when there is none."""

_WANTED = (
    "a string, `{file: /absolute/path}`, `{env: NAME}`, `{credential: NAME}` (of systemd) or `{vault: secret/path?key}`"
)

_withheld: dict[str, str] = {}
"""Variables that were taken out of the environment, for this process alone."""


@dataclass(frozen=True, slots=True)
class SecretFrom:
    """Where a secret stands."""

    kind: CredentialKind
    where: str
    ask: AskVault | None = field(default=None, repr=False, compare=False)
    """For `vault`."""


def parse_secret(value: Any) -> str | SecretFrom:
    """The secret itself, or where it stands; ValueError says what is wanted."""
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    if isinstance(value, Mapping) and len(value) == 1:
        ((kind, where),) = value.items()
        if kind in get_args(CredentialKind) and isinstance(where, str) and _fits(kind, where):
            return SecretFrom(kind, where)
    raise ValueError(_WANTED)


def _fits(kind: CredentialKind, where: str) -> bool:
    match kind:
        case "file":
            return Path(where).is_absolute()
        case "credential":
            return bool(where) and "/" not in where and where not in (".", "..")
        case "vault":
            path, _, key = where.partition("?")
            return bool(path.strip("/") and key)
        case "env":
            return bool(where) and "=" not in where


def withhold(secret: str | SecretFrom, ask: AskVault | None) -> str | SecretFrom:
    """The secret, ready to be revealed: a variable is taken out of the environment, so that no child inherits it."""
    if isinstance(secret, str):
        return secret
    if secret.kind == "env" and secret.where in os.environ:
        _withheld[secret.where] = os.environ.pop(secret.where)
    return replace(secret, ask=ask) if secret.kind == "vault" else secret


def reveal(secret: str | SecretFrom) -> str:
    """The secret; LookupError, which names only the place, when it is not there."""
    if isinstance(secret, str):
        return secret
    match secret.kind:
        case "env":
            value = os.environ.get(secret.where, _withheld.get(secret.where))
            if value is None:
                raise LookupError(f"the environment has no {secret.where}")
            return value
        case "vault":
            if secret.ask is None:
                raise LookupError(f"{secret.where} is in a vault, and none is set up (option vault)")
            path, _, key = secret.where.partition("?")
            return secret.ask(path, key)
        case "credential":
            folder = os.environ.get("CREDENTIALS_DIRECTORY")
            if not folder:
                raise LookupError(
                    f"systemd gave no credentials, and so no {secret.where} (LoadCredential= of the unit)"
                )
            return _read(Path(folder, secret.where))
        case "file":
            return _read(Path(secret.where))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise LookupError(f"the file {path} cannot be read") from None
