"""git.config_*: settings of git, of a clone (`cwd`) or with `global=True` of the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import CommaList
from minion.execution.arguments import NoExitCodeLog, NoPassword, Utf8Output
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.git.run import ENV, git, safe


def config_get(
    context: Context,
    key: str,
    cwd: str | None = None,
    user: str | None = None,
    password: NoPassword = None,
    ignore_retcode: NoExitCodeLog = None,
    output_encoding: Utf8Output = None,
    **more: Any,
) -> Any:
    """A setting of git; with `all=True` all its values. Null when it is not set."""
    values = _config(context, cwd, user, more, "--get-all", key)
    return None if not values else values if more.get("all") else values[-1]


def config_get_regexp(
    context: Context, key: str, value_regex: str | None = None, cwd: str | None = None, user: str | None = None,
    password: NoPassword = None, ignore_retcode: NoExitCodeLog = None, output_encoding: Utf8Output = None, **more: Any,
) -> dict[str, list[str]]:  # fmt: skip
    """Settings whose name a regular expression fits, with their values."""
    found: dict[str, list[str]] = {}
    for line in _config(context, cwd, user, more, "--get-regexp", key, *([value_regex] if value_regex else [])):
        name, _, value = line.partition(" ")
        found.setdefault(name, []).append(value)
    return found


def config_set(
    context: Context, key: str, value: bool | str | None = None, multivar: CommaList = (), cwd: str | None = None,
    user: str | None = None, password: NoPassword = None, ignore_retcode: NoExitCodeLog = None,
    output_encoding: Utf8Output = None, **more: Any,
) -> Any:  # fmt: skip
    """Give a setting this value, or with `multivar` these; the values that it has then."""
    wanted = multivar or (_setting(value),)
    where = _scope(cwd, more)
    git(context, cwd, "config", *where, "--replace-all", key, wanted[0], user=user)
    for one in wanted[1:]:
        git(context, cwd, "config", *where, "--add", key, one, user=user)
    return _config(context, cwd, user, more, *([] if more.get("global") else ["--local"]), "--get-all", key)


def config_unset(
    context: Context, key: str, value_regex: str | None = None, cwd: str | None = None, user: str | None = None,
    password: NoPassword = None, ignore_retcode: NoExitCodeLog = None, output_encoding: Utf8Output = None, **more: Any,
) -> bool:  # fmt: skip
    """Take a setting away; with `all=True` all its values."""
    sign = "--unset-all" if more.get("all") else "--unset"
    git(context, cwd, "config", *_scope(cwd, more), sign, key, *([value_regex] if value_regex else []), user=user)
    return True


def _config(context: Context, cwd: str | None, user: str | None, more: Mapping[str, Any], *words: str) -> list[str]:
    argv = ["git", *safe(cwd), "config", *_scope(cwd, more), *words]
    done = context.machine.run(argv, cwd=cwd, env=ENV, runas=user)
    if done.returncode not in (0, 1):
        raise CallFailed(f"git config: {done.stderr.strip()}")
    return done.stdout.splitlines()


def _scope(cwd: str | None, more: Mapping[str, Any]) -> list[str]:
    if cwd is None and not more.get("global"):
        raise CallFailed("'cwd' argument required unless global=True")
    return ["--global"] if more.get("global") else []


def _setting(value: bool | str | None) -> str:
    if value is None:
        raise CallFailed("git.config_set needs 'value' or 'multivar'")
    return str(value).lower() if isinstance(value, bool) else value
