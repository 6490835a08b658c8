"""The execution module `user`: looks at users. They are changed by states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.modules.context import Context
from minion.system import accounts


def info(context: Context, name: str) -> dict[str, Any]:
    """The user's entry and groups; empty when there is no such user."""
    found = accounts.user(context.machine, name)
    return found.as_salt() if found else {}


def list_groups(context: Context, name: str) -> list[str]:
    """Names of the groups that the user is in."""
    found = accounts.user(context.machine, name)
    return list(found.groups) if found else []


def list_users(context: Context) -> list[str]:
    """Names of all users."""
    return accounts.user_names(context.machine)


def primary_group(context: Context, name: str) -> str:
    """Name of the user's primary group."""
    found = accounts.user(context.machine, name)
    group = accounts.group_of_gid(context.machine, found.gid) if found else None
    return group.name if group else ""


FUNCTIONS: Mapping[str, Any] = {
    "info": info,
    "list_groups": list_groups,
    "list_users": list_users,
    "primary_group": primary_group,
}
