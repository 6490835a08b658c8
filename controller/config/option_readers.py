"""One reader a kind of option: gives the value, or raises ValueError saying what is wanted.

Called by `controller.config.settings`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

OptionReader: TypeAlias = Callable[[Any], Any]

LOG_LEVELS = ("all", "garbage", "trace", "debug", "info", "warning", "error", "critical", "quiet")
"""Salt's names."""


def optional_text(value: Any) -> str:
    """Text; empty or null for none."""
    if value is None or isinstance(value, str):
        return value or ""
    raise ValueError("text, or empty")


def text(value: Any) -> str:
    """Text; a bare number counts."""
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise ValueError("text")
    return str(value)


def flag(value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise ValueError("True or False")
    return value


def port(value: Any) -> int:
    """A TCP port, 0 included."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 65535:
        raise ValueError("a port, 0 to 65535")
    return value


def count(value: Any) -> int:
    """A whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("a whole number from 1")
    return value


def seconds(value: Any) -> float:
    """A time above zero."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 10**8:
        raise ValueError("a number of seconds above 0")
    return float(value)


def seconds_or_never(value: Any) -> float:
    """A time above zero, or 0."""
    if isinstance(value, bool) or value != 0:
        return seconds(value)
    return 0.0


def part(value: Any) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("a number from 0 to 1")
    return float(value)


def path(value: Any) -> Path:
    """An absolute path."""
    if not isinstance(value, str) or not value.startswith("/") or "\0" in value:
        raise ValueError("an absolute path")
    return Path(value)


def folder(value: Any) -> str:
    """An absolute path, kept as text."""
    return str(path(value))


def folders(value: Any) -> tuple[str, ...]:
    """Absolute paths."""
    return tuple(folder(one) for one in sequence(value))


def vault(value: Any) -> dict[str, Any]:
    """The option `vault`, looked through as the adapter will read it."""
    from controller.adapters.secrets.vault import BadVault, VaultSettings

    given = mapping(value)
    try:
        VaultSettings.parse(given)
    except BadVault as error:
        raise ValueError(f"a vault that can be used ({error})") from error
    return given


def decrypted_keys(value: Any) -> tuple[Any, ...]:
    """Keys of pillar: a list of `a:b` or `{a:b: gpg}`, or one mapping of such."""
    entries = [{key: renderer} for key, renderer in value.items()] if isinstance(value, Mapping) else value
    if not isinstance(entries, list) or not all(isinstance(entry, str | Mapping) for entry in entries):
        raise ValueError("a list of pillar keys, like [- 'secrets:vpn', - 'secrets:web': gpg]")
    return tuple(entries)


def address(value: Any) -> str:
    """An IP address to listen on; `*` and names of hosts would be guessed at, so they are not taken."""
    import ipaddress

    try:
        return str(ipaddress.ip_address(value if isinstance(value, str) else ""))
    except ValueError:
        raise ValueError("an IP address of this machine, like 127.0.0.1 or 0.0.0.0") from None


def log_level(value: Any) -> str:
    """One of Salt's levels, as the nearest that the log has."""
    if value not in LOG_LEVELS:
        raise ValueError("one of " + ", ".join(LOG_LEVELS))
    return {"all": "debug", "garbage": "debug", "trace": "debug", "quiet": "critical"}.get(value, str(value))


def one_of(*choices: str) -> OptionReader:
    """A reader for one of these words."""

    def read(value: Any) -> str:
        if value is None and "none" in choices:
            return "none"
        if value not in choices:
            raise ValueError("one of " + ", ".join(choices))
        return str(value)

    return read


def names(value: Any) -> tuple[str, ...]:
    """A list of words, or one word."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("a list of names")
    return tuple(value)


def grants(value: Any) -> tuple[str, ...]:
    """What the walls around a compile let through."""
    found = names(value)
    if not all(each in ("network", "programs") or each.startswith("/") for each in found):
        raise ValueError("a list of `network`, `programs` and absolute paths")
    return found


def sequence(value: Any) -> list[Any]:
    """A list of anything."""
    if not isinstance(value, list):
        raise ValueError("a list")
    return value


def mapping(value: Any) -> dict[str, Any]:
    """A mapping with text as keys."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError("a mapping")
    return dict(value)


def roots(value: Any) -> dict[str, list[str]]:
    """saltenv -> list of absolute folders."""
    wanted = ValueError("a mapping of saltenvs to lists of absolute folders, like `base: [/srv/salt]`")
    if not isinstance(value, Mapping):
        raise wanted
    found: dict[str, list[str]] = {}
    for saltenv, folders in value.items():
        folders = [folders] if isinstance(folders, str) else folders
        if not isinstance(saltenv, str) or not isinstance(folders, list):
            raise wanted
        if not all(isinstance(folder, str) and folder.startswith("/") for folder in folders):
            raise wanted
        found[saltenv] = folders
    return found
