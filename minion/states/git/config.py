"""git.config_set and git.config_unset: settings of a repository, or of a user.

Behaviour: doc/ref/states/all/salt.states.git.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

from minion.arguments.types import CommaList
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader
from minion.states.unused_arguments import GitOptions

_MULTIVAR = "Multivar(s) matched by the key expression"

_Global = TypedDict("_Global", {"global": bool}, total=False)


class _ConfigOptions(GitOptions, _Global, total=False):
    """`global` is a word of Python's, and cannot be a parameter."""


def config_set(
    machine: Reader,
    name: str,
    *,
    value: bool | str | None = None,
    multivar: CommaList = (),
    repo: str | None = None,
    user: str | None = None,
    **options: Unpack[_ConfigOptions],
) -> Plan:
    """A setting of git has this value, in a repository or (`global: True`) for the user."""
    values = list(multivar) or [_setting(value)]
    where = _scope(repo, options.get("global", False))
    old = _settings(machine, where, user, name)
    if old == values:
        return Plan(comment=f"'{name}' is already set to {_list(values)}")

    def act(machine: Machine) -> None:
        steps = [["--unset-all", name]] if old else []
        steps += [["--add", name, one] for one in values]
        for step in steps:
            done = machine.run([*where, *step], runas=user)
            if done.returncode != 0:
                raise StateFailed(f"Failed to set '{name}': {done.stderr.strip()}")

    shown, verb = {"old": old or None, "new": values}, "changed to" if old else "added as"
    return Plan(
        changes=(Change(key=name, reported=shown, act=act),),
        pending=f"'{name}' would be {verb} {_list(values)}",
        done=f"'{name}' was {verb} {_list(values)}",
    )


def config_unset(
    machine: Reader,
    name: str,
    *,
    repo: str | None = None,
    user: str | None = None,
    all: bool = False,  # noqa: A002  (Salt's name)
    value_regex: str | None = None,
    **options: Unpack[_ConfigOptions],
) -> Plan:
    """A setting of git is not there, or not with values that `value_regex` fits."""
    where = _scope(repo, options.get("global", False))
    pattern = [] if value_regex is None else [value_regex]
    old = _settings(machine, where, user, name, *pattern)
    if not old:
        return Plan(comment="No matching keys are set")
    if len(old) > 1 and not all:
        what = "Multiple values are matched by value_regex for the following keys" if pattern else _MULTIVAR
        raise StateFailed(f"{what} (set 'all' to True to force removal): {name} ({', '.join(old)})")

    def act(machine: Machine) -> None:
        done = machine.run([*where, "--unset-all", name, *pattern], runas=user)
        if done.returncode != 0:
            raise StateFailed(f"Failed to unset '{name}': {done.stderr.strip()}")

    return Plan(
        changes=(Change(key=name, reported=old, act=act),),
        pending="1 key(s) would have value(s) unset",
        done="Value(s) successfully unset",
    )


def _scope(repo: str | None, is_global: bool) -> list[str]:
    if bool(repo) == is_global:
        raise StateFailed("git.config_set needs either 'repo' or 'global: True'")
    if is_global or repo is None:
        return ["git", "config", "--global"]
    return ["git", "-c", f"safe.directory={repo}", "-C", repo, "config", "--local"]


def _settings(machine: Reader, where: Sequence[str], user: str | None, name: str, *pattern: str) -> list[str]:
    argv = [*where, "--get-all", name, *pattern]
    asked = machine.query(argv if user is None else ["runuser", "-u", user, "--", *argv])
    if asked.returncode not in (0, 1):
        raise StateFailed(f"Settings of git cannot be read: {asked.stderr.strip() or asked.stdout.strip()}")
    return asked.stdout.splitlines() if asked.returncode == 0 else []


def _setting(value: bool | str | None) -> str:
    if value is None:
        raise StateFailed("git.config_set needs 'value' or 'multivar'")
    return str(value).lower() if isinstance(value, bool) else value


def _list(values: Sequence[str]) -> str:
    return ", ".join(f"'{one}'" for one in values)
