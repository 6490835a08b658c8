"""Parameters under Salt's names, where the code has one pattern for many functions, and those that do nothing here.

Called by modules when they list their functions, and by the loader before a call. Nothing is looked up here but names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_WITHOUT_EFFECT: Mapping[str, frozenset[str]] = {
    "git": frozenset(("password", "output_encoding", "saltenv", "ignore_retcode")),
    "group": frozenset(("local",)),
    "pillar": frozenset(("unmask", "pillarenv", "saltenv", "pillar_enc")),
    "pip": frozenset(("use_vt", "saltenv")),
    "pkg": frozenset(("use_context",)),
    "saltutil": frozenset(("clean_pillar_cache", "refresh")),
    "state": frozenset(("queue", "state_events", "concurrent", "sync_mods", "localconfig")),
    "user": frozenset(("loginclass", "local")),
}
"""Module -> what Salt's functions take and nobody here needs: Windows, other systems, Salt's own queues."""


_TIMES = frozenset(("minute", "hour", "daymonth", "month", "dayweek", "special"))
_OF_FUNCTIONS: Mapping[str, frozenset[str]] = {
    "cron.rm": _TIMES,
    "cron.rm_job": _TIMES,
    "cron.rm_special": _TIMES,
    "cp.get_dir": frozenset(("gzip",)),
    "cp.get_file": frozenset(("gzip",)),
    "environ.setenv": frozenset(("update_minion",)),
    "file.check_managed_changes": frozenset(("source_hash_name",)),
    "file.get_hash": frozenset(("chunk_size",)),
    "file.get_sum": frozenset(("chunk_size",)),
    "file.manage_file": frozenset(("ret", "sfn")),
    "file.replace": frozenset(("bufsize",)),
    "file.search": frozenset(("bufsize",)),
    "grains.fetch": frozenset(("ordered",)),
    "grains.get": frozenset(("ordered",)),
    "grains.setval": frozenset(("refresh_pillar",)),
    "grains.setvals": frozenset(("refresh_pillar",)),
    "group.getent": frozenset(("refresh",)),
    "pkg.refresh_db": frozenset(("failhard",)),
    "shadow.set_password": frozenset(("use_usermod",)),
    "user.chloginclass": frozenset(("name",)),
    "user.get_loginclass": frozenset(("name",)),
    "user.getent": frozenset(("refresh",)),
    "saltutil.pillar_refresh": frozenset(("wait", "timeout", "clean_cache")),
    "saltutil.refresh_pillar": frozenset(("wait", "timeout", "clean_cache")),
    "state.sls_exists": frozenset(("test",)),
    "virtualenv.create": frozenset(("use_vt", "saltenv")),
}
"""The same for single functions: a job of cron is found without its times, a pillar is there when the call is over,
files are read in whatever pieces, orders are kept."""


def with_effect(fun: str, function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a call, without those that the function does not know and that would do nothing."""
    without = idle(fun)
    if without.isdisjoint(given):
        return dict(given)
    import inspect

    parameters = inspect.signature(function).parameters
    return {key: value for key, value in given.items() if key in parameters or key not in without}


def idle(fun: str) -> frozenset[str]:
    """What the function takes and does nothing with."""
    return _WITHOUT_EFFECT.get(fun.partition(".")[0], frozenset()) | _OF_FUNCTIONS.get(fun, frozenset())


def takes_as(pattern: Callable[..., Any], *without: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have a function that passes its arguments on tell those of the function that gets them."""

    def told(function: Callable[..., Any]) -> Callable[..., Any]:
        import inspect

        variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        own = [one for one in inspect.signature(function).parameters.values() if one.kind not in variable]
        not_passed = {*without, *(one.name for one in own)}
        passed = [one for one in inspect.signature(pattern).parameters.values() if one.name not in not_passed]
        parameters = [*own, *passed]
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return function

    return told


def named(function: Callable[..., Any], **names: str) -> Callable[..., Any]:
    """The function with parameters under other names: `named(change, shell="value")` takes `shell`."""
    import functools
    import inspect

    outer = {own: outer for outer, own in names.items()}

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{names.get(key, key): value for key, value in kwargs.items()})

    signature = inspect.signature(function)
    shown = [one.replace(name=outer.get(one.name, one.name)) for one in signature.parameters.values()]
    call.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    return call
