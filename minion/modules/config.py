"""The execution module `config`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.lookup import MISSING, lookup
from minion.modules.context import Context


def get(context: Context, key: str, default: Any = "", delimiter: str = ":") -> Any:
    """A value of the minion's configuration, else of its grains, else of its pillar (Salt's order), or the default."""
    if key == "id":
        return context.minion_id
    for name in ("opts", "grains", "pillar"):  # by name: each is only made when the one before has no answer
        value = lookup(getattr(context, name), key, delimiter=delimiter)
        if value is not MISSING:
            return value
    return default


def option(context: Context, value: str, default: Any = "") -> Any:
    """A value of the minion's configuration, else of its pillar."""
    for name in ("opts", "pillar"):
        found = lookup(getattr(context, name), value)
        if found is not MISSING:
            return found
    return default


def items(context: Context) -> dict[str, Any]:
    """The minion's configuration, as its files say it."""
    return dict(context.opts)


def merge(context: Context, value: str, default: Any = "", **options: Any) -> Any:
    """A value of the configuration, or the mappings and lists of configuration and pillar under this name together."""
    found = [one for name in ("pillar", "opts") if (one := lookup(getattr(context, name), value)) is not MISSING]
    if not found:
        return default
    if all(isinstance(one, Mapping) for one in found):
        return {key: inner for one in found for key, inner in one.items()}
    if all(isinstance(one, list) for one in found):
        return [inner for one in found[::-1] for inner in one]
    return found[-1]


def manage_mode(context: Context, mode: Any) -> Any:
    """A mode as files have it: four octal digits; null for none."""
    return None if mode is None else str(mode).removeprefix("0o").lstrip("0").rjust(3, "0").rjust(4, "0")


def valid_fileproto(context: Context, uri: str) -> bool:
    """Whether a source has a scheme that is known: salt, file, http, https or ftp."""
    return str(uri).partition("://")[0] in ("salt", "file", "http", "https", "ftp") and "://" in str(uri)


def backup_mode(context: Context, backup: str = "") -> str:
    """How replaced files are kept: as given, or as configured."""
    return backup or str(option(context, "backup_mode"))


FUNCTIONS: Mapping[str, Any] = {
    "backup_mode": backup_mode,
    "get": get,
    "items": items,
    "manage_mode": manage_mode,
    "merge": merge,
    "option": option,
    "valid_fileproto": valid_fileproto,
}
