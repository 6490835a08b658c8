"""The execution module `group`: groups, looked at and changed with the system's own tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import CommaList
from minion.execution.arguments import LocalAccounts, NoCache, NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers import accounts


def info(context: Context, name: str, root: NotSupported = None) -> dict[str, Any]:
    """The group's entry; empty when there is no such group."""
    found = accounts.group(context.machine, name)
    return found.as_salt() if found else {}


def getent(context: Context, refresh: NoCache = False, root: NotSupported = None) -> list[dict[str, Any]]:
    """All groups."""
    return [one.as_salt() for one in accounts.groups(context.machine)]


def add(
    context: Context,
    name: str,
    gid: int | None = None,
    system: bool = False,
    root: NotSupported = None,
    non_unique: bool = False,
    local: LocalAccounts = None,
) -> bool:
    """Make a group."""
    accounts.check_name("group", name)
    words = ["--gid", str(gid)] if gid is not None else []
    words += ["--system"] if system else []
    words += ["--non-unique"] if non_unique else []
    return _succeeds(context, ["groupadd", *words, "--", name])


def delete(context: Context, name: str, root: NotSupported = None, local: LocalAccounts = None) -> bool:
    """Remove a group."""
    accounts.check_name("group", name)
    return _succeeds(context, ["groupdel", "--", name])


def chgid(context: Context, name: str, gid: int, root: NotSupported = None, non_unique: bool = False) -> bool:
    """Set the number of a group."""
    found = _there(context, name)
    if found["gid"] == gid:
        return True
    words = ["--non-unique"] if non_unique else []
    accounts.change(context.machine, ["groupmod", "--gid", str(gid), *words, "--", name], f"Group {name} keeps its gid")
    return bool(info(context, name)["gid"] == gid)


def adduser(context: Context, name: str, username: str, root: NotSupported = None) -> bool:
    """Add a user to a group; true when it is in there already."""
    if username in _there(context, name)["members"]:
        return True
    return _succeeds(context, ["gpasswd", "--add", username, name])


def deluser(context: Context, name: str, username: str, root: NotSupported = None) -> bool:
    """Take a user out of a group; true when it is not in there."""
    if username not in info(context, name).get("members", ()):
        return True
    return _succeeds(context, ["gpasswd", "--delete", username, name])


def members(context: Context, name: str, members_list: CommaList, root: NotSupported = None) -> bool:
    """Set who is in a group: names with commas between."""
    _there(context, name)
    return _succeeds(context, ["gpasswd", "--members", ",".join(members_list), name])


def _there(context: Context, name: str) -> dict[str, Any]:
    accounts.check_name("group", name)
    found = info(context, name)
    if not found:
        raise CallFailed(f"Group '{name}' does not exist")
    return found


def _succeeds(context: Context, argv: list[str]) -> bool:
    done = context.machine.run(argv)
    if done.returncode == 127 or "Permission denied" in done.stderr:
        raise CallFailed(f"{argv[0]}: {done.stderr.strip()}")
    return done.returncode == 0


FUNCTIONS: Mapping[str, Any] = {
    "add": add,
    "adduser": adduser,
    "chgid": chgid,
    "delete": delete,
    "deluser": deluser,
    "getent": getent,
    "info": info,
    "members": members,
}
