"""`salt.loader`: execution functions and grains of this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from saltern.client.caller import CallableFunctions, Caller


def minion_mods(opts: Mapping[str, Any], *ignored: Any, **more: Any) -> Mapping[str, Callable[..., Any]]:
    """The execution functions by their names; `opts` are those of `salt.config.minion_config`."""
    return CallableFunctions(Caller(mopts=opts))


def raw_mod(opts: Mapping[str, Any], name: str, *ignored: Any, **more: Any) -> dict[str, Callable[..., Any]]:
    """The functions of one module: `{"test.ping": ...}`."""
    functions = minion_mods(opts)
    return {fun: functions[fun] for fun in functions if fun.partition(".")[0] == name}


def grains(opts: Mapping[str, Any], *ignored: Any, **more: Any) -> dict[str, Any]:
    """The grains of this machine."""
    return dict(Caller(mopts=opts).cmd("grains.items"))


def utils(opts: Mapping[str, Any], *ignored: Any, **more: Any) -> dict[str, Any]:
    """Salt's utility functions, which scripts hand on to `minion_mods`: none are needed here."""
    return {}
