"""config.*, environ.* and the logging functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from highstate.functions.call import FunctionCall
from highstate.memo.tracked import plain
from highstate.traverse import MISSING, traverse
from highstate.traverse import merge as merge_data
from highstate.types import Value


def _config_get(
    call: FunctionCall,
    key: str,
    default: Value = "",
    delimiter: str = ":",
    merge: str | None = None,
    omit_opts: bool = False,
    omit_pillar: bool = False,
    omit_master: bool = False,
    omit_grains: bool = False,
) -> Value:
    """The first of options, grains, pillar and pillar's `master` that has the key, as Salt orders them."""
    tracked = call.recorder.tracked
    if merge is not None:
        return _config_merged(call, key, default, delimiter, merge)
    for root, left_out in (("opts", omit_opts), ("grains", omit_grains), ("pillar", omit_pillar)):
        found = MISSING if left_out else traverse(tracked(root), key, MISSING, delimiter=delimiter)
        if found is not MISSING:
            return call.look_up(root, key, MISSING, delimiter) if root == "pillar" else plain(found)
    found = MISSING if omit_master else traverse(tracked("pillar").get("master", {}), key, MISSING, delimiter=delimiter)
    return default if found is MISSING else plain(found)


def _config_merged(call: FunctionCall, key: str, default: Value, delimiter: str, strategy: str) -> Value:
    merged: dict[str, Value] = {}
    for root in ("pillar", "grains", "opts"):
        merged = merge_data(merged, plain(call.recorder.tracked(root)), strategy=strategy)
    return traverse(merged, key, default, delimiter=delimiter)


def _config_option(call: FunctionCall, value: str, default: Value = "", omit_all: bool = False, **omit: Value) -> Value:
    if omit_all:
        omit = dict.fromkeys(("omit_opts", "omit_grains", "omit_pillar", "omit_master"), True)
    return _config_get(call, value, default, **omit)


def _log(call: FunctionCall, *arguments: Value, **named: Value) -> bool:
    """Logging from a template: a compile has no log; True, as Salt returns."""
    return True


def _environ_get(call: FunctionCall, key: str, default: Value = "") -> Value:
    """A variable of the environment that the option `environ` lets templates see: by default none."""
    return plain(call.opt("environ", {})).get(key, default)


def _environ_items(call: FunctionCall) -> Value:
    return plain(call.opt("environ", {}))


FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "config.get": _config_get,
    "config.option": _config_option,
    "config.dot_vals": lambda call, value: {
        key: plain(inner) for key, inner in call.recorder.tracked("opts").items() if str(key).startswith(f"{value}.")
    },
    "environ.get": _environ_get,
    "environ.items": _environ_items,
    "environ.item": lambda call, keys, default="": {
        key: _environ_get(call, key, default) for key in ([keys] if isinstance(keys, str) else keys)
    },
    "environ.has_value": lambda call, key, value=None: (
        _environ_get(call, key, None) is not None if value is None else _environ_get(call, key, None) == value
    ),
    **{
        f"log.{level}": _log
        for level in ("debug", "trace", "garbage", "info", "warning", "error", "critical", "exception")
    },
}
