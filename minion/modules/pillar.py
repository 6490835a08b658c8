"""The execution module `pillar`. It reads what was compiled for this minion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.lookup import MISSING, lookup
from minion.modules.context import Context
from minion.modules.errors import CallFailed


def get(context: Context, key: str, default: Any = "", merge: bool = False, delimiter: str = ":") -> Any:
    """A value by its path (`nginx:port`), or the default."""
    if not key:
        return dict(context.pillar)
    value = lookup(context.pillar, key, delimiter=delimiter)
    if value is MISSING:
        return default
    if merge and isinstance(value, Mapping) and isinstance(default, Mapping):
        return {**default, **value}
    return value


def items(context: Context) -> dict[str, Any]:
    """The whole pillar."""
    return dict(context.pillar)


def item(context: Context, *keys: str) -> dict[str, Any]:
    """The values named; one that is not there is empty."""
    return {key: lookup(context.pillar, key, "") for key in keys}


def keys(context: Context, key: str = "") -> list[Any]:
    """Keys of the pillar, or of a mapping within it."""
    value = lookup(context.pillar, key) if key else context.pillar
    if value is MISSING:
        raise CallFailed(f"Pillar key {key} is not there")
    if not isinstance(value, Mapping):
        raise CallFailed(f"Pillar key {key} holds a {type(value).__name__}, which has no keys")
    return list(value)


def ls(context: Context) -> list[Any]:
    """Keys of the pillar."""
    return list(context.pillar)


def obfuscate(context: Context) -> dict[str, Any]:
    """The pillar with the kind of each value in its place."""
    hidden: dict[str, Any] = _hidden(context.pillar)
    return hidden


def _hidden(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _hidden(inner) for key, inner in value.items()}
    return [_hidden(one) for one in value] if isinstance(value, list) else f"<{type(value).__name__}>"


FUNCTIONS: Mapping[str, Any] = {
    "obfuscate": obfuscate,
    "data": items,
    "get": get,
    "item": item,
    "items": items,
    "keys": keys,
    "ls": ls,
}
