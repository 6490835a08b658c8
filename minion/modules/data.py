"""The execution module `data`: values that callers store on the minion, in a file of its cache."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping
from typing import Any

from minion.arguments.commands import Words
from minion.arguments.types import AnyValue
from minion.execution.context import Context
from minion.execution.json_store import keep, place_of, read_kept

FILE = "data.json"


def load(context: Context) -> dict[str, Any]:
    """All that is kept."""
    return read_kept(context, FILE)


def dump(context: Context, new_data: AnyValue) -> bool:
    """Keep this mapping, also as a text in Python's form, in place of all that was kept; false when it is none."""
    if isinstance(new_data, str):
        with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            new_data = ast.literal_eval(new_data)
    if not isinstance(new_data, Mapping):
        return False
    keep(context, FILE, new_data)
    return True


def update(context: Context, key: str, value: AnyValue) -> bool:
    """Keep one value more."""
    return dump(context, {**load(context), key: value})


def get(context: Context, key: str | Words, default: AnyValue = None) -> Any:
    """A value, or a list of several."""
    kept = load(context)
    return [kept.get(one, default) for one in key] if isinstance(key, list) else kept.get(key, default)


def pop(context: Context, key: str, default: AnyValue = None) -> Any:
    """A value, which is kept no more."""
    kept = load(context)
    value = kept.pop(key, default)
    dump(context, kept)
    return value


def cas(context: Context, key: str, value: AnyValue, old_value: AnyValue) -> bool:
    """Keep a value in place of another one; false when it is not that one that is kept."""
    kept = load(context)
    if key not in kept or kept[key] != old_value:
        return False
    return dump(context, {**kept, key: value})


def clear(context: Context) -> bool:
    """Keep nothing."""
    place = place_of(context, FILE)
    if place.exists():
        context.machine.remove(str(place))
    return True


def has_key(context: Context, key: str) -> bool:
    """Whether a value is kept under this name."""
    return key in load(context)


def keys(context: Context) -> list[str]:
    """Names of what is kept."""
    return list(load(context))


def values(context: Context) -> list[Any]:
    """Values that are kept."""
    return list(load(context).values())


FUNCTIONS: Mapping[str, Any] = {
    "cas": cas,
    "clear": clear,
    "dump": dump,
    "get": get,
    "has_key": has_key,
    "items": load,
    "keys": keys,
    "load": load,
    "pop": pop,
    "update": update,
    "values": values,
}
