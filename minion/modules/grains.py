"""The execution module `grains`. It reads; grains are set in the minion's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.lookup import lookup
from minion.modules.context import Context


def get(context: Context, key: str, default: Any = "", delimiter: str = ":") -> Any:
    """A grain by its path (`os`, `ip4_interfaces:eth0`), or the default."""
    return lookup(context.grains, key, default, delimiter=delimiter)


def item(context: Context, *keys: str) -> dict[str, Any]:
    """The grains named; one that is not there is empty."""
    return {key: lookup(context.grains, key, "") for key in keys}


def items(context: Context) -> dict[str, Any]:
    """All grains."""
    return dict(context.grains)


def ls(context: Context) -> list[str]:
    """Names of all grains."""
    return sorted(context.grains)


def has_value(context: Context, key: str) -> bool:
    """Whether a grain is there and not empty."""
    return bool(lookup(context.grains, key, ""))


FUNCTIONS: Mapping[str, Any] = {"get": get, "has_value": has_value, "item": item, "items": items, "ls": ls}
