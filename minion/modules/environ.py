"""The execution module `environ`: the environment of this process, which commands of this run inherit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from minion.arguments.types import AnyValue, Map, Texts
from minion.execution.arguments import AlwaysDone
from minion.execution.context import Context
from minion.execution.errors import CallFailed


def get(context: Context, key: str, default: AnyValue = "") -> Any:
    """A variable, or the default."""
    return os.environ.get(key, default)


def has_value(context: Context, key: str, value: str | None = None) -> bool:
    """Whether a variable is there, or has this value."""
    found = os.environ.get(key)
    return found is not None if value is None else found == value


def item(context: Context, keys: Texts, default: AnyValue = "") -> dict[str, Any]:
    """Several variables."""
    return {key: os.environ.get(key, default) for key in keys}


def items(context: Context) -> dict[str, str]:
    """All variables."""
    return dict(os.environ)


def setval(context: Context, key: str, val: AnyValue, false_unsets: bool = False, permanent: bool = False) -> Any:
    """Set a variable; false empties it, or with `false_unsets` takes it away. False for what is no text."""
    if permanent:
        raise CallFailed("permanent is for Windows; on this system put the variable into /etc/environment")
    if val is False and false_unsets:
        os.environ.pop(key, None)
        return None
    if val is not False and not isinstance(val, str):
        return False
    os.environ[key] = val or ""
    return os.environ[key]


def setenv(
    context: Context,
    environ: Map,
    false_unsets: bool = False,
    clear_all: bool = False,
    update_minion: AlwaysDone = False,
    permanent: bool = False,
) -> dict[str, Any]:
    """Set several variables; with `clear_all` the others are emptied."""
    left = {key: False for key in os.environ if key not in environ} if clear_all else {}
    return {key: setval(context, key, val, false_unsets, permanent) for key, val in {**left, **environ}.items()}


FUNCTIONS: Mapping[str, Any] = {
    "get": get,
    "has_value": has_value,
    "item": item,
    "items": items,
    "setenv": setenv,
    "setval": setval,
}
