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


FUNCTIONS: Mapping[str, Any] = {"get": get, "items": items, "option": option}
