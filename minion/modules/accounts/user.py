"""The execution module `user`: users, looked at and changed with the system's own tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import CommaList
from minion.execution.arguments import InnerArgument, LocalAccounts, NoCache, NoLoginClass, NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers import accounts

_GECOS = ("fullname", "roomnumber", "workphone", "homephone", "other")


def info(context: Context, name: str) -> dict[str, Any]:
    """The user's entry and groups; empty when there is no such user."""
    found = accounts.user(context.machine, name)
    return found.as_salt() if found else {}


def list_groups(context: Context, name: str) -> list[str]:
    """Names of the groups that the user is in."""
    found = accounts.user(context.machine, name)
    return list(found.groups) if found else []


def list_users(context: Context, root: NotSupported = None) -> list[str]:
    """Names of all users."""
    return accounts.user_names(context.machine)


def getent(context: Context, refresh: NoCache = False) -> list[dict[str, Any]]:
    """The entries of all users."""
    return [info(context, name) for name in accounts.user_names(context.machine)]


def primary_group(context: Context, name: str) -> str:
    """Name of the user's primary group."""
    found = accounts.user(context.machine, name)
    group = accounts.group_of_gid(context.machine, found.gid) if found else None
    return group.name if group else ""


def add(
    context: Context, name: str, uid: int | None = None, gid: int | str | None = None, groups: CommaList = (),
    home: str | None = None, shell: str | None = None, unique: bool = True, system: bool = False, fullname: str = "",
    roomnumber: str = "", workphone: str = "", homephone: str = "", other: str = "", createhome: bool = True,
    loginclass: NoLoginClass = None, nologinit: bool = False, root: NotSupported = None, usergroup: bool | None = None,
    local: LocalAccounts = None,
) -> bool:  # fmt: skip
    """Make a user; false when there is one of this name."""
    accounts.check_name("user", name)
    if info(context, name):
        return False
    words = ["--uid", str(uid)] if uid is not None else []
    words += ["--gid", str(gid)] if gid not in (None, "") else []
    words += ["--groups", ",".join(groups)] if groups else []
    words += ["--home-dir", home] if home else []
    words += ["--shell", shell] if shell else []
    words += [] if unique else ["--non-unique"]
    words += ["--system"] if system else []
    words += ["--create-home"] if createhome else ["--no-create-home"]
    words += ["--no-log-init"] if nologinit else []
    words += [] if usergroup is None else ["--user-group"] if usergroup else ["--no-user-group"]
    gecos = ",".join(_field(one) for one in (fullname, roomnumber, workphone, homephone, other)).rstrip(",")
    words += ["--comment", gecos] if gecos else []
    accounts.change(context.machine, ["useradd", *words, "--", name], f"User {name} could not be made")
    return True


def delete(
    context: Context,
    name: str,
    remove: bool = False,
    force: bool = False,
    root: NotSupported = None,
    local: LocalAccounts = None,
) -> bool:
    """Remove a user; with `remove` the home directory too."""
    _there(context, name)
    words = [*(["--remove"] if remove else []), *(["--force"] if force else [])]
    accounts.change(context.machine, ["userdel", *words, "--", name], f"User {name} could not be removed")
    return True


def chhome(context: Context, name: str, home: str, persist: bool = False, root: NotSupported = None) -> bool:
    """Set the home directory; with `persist` what is in the old one is moved."""
    return _usermod(context, name, ["--home", home, *(["--move-home"] if persist else [])], "home", home)


def chgroups(context: Context, name: str, groups: CommaList, append: bool = False, root: NotSupported = None) -> bool:
    """Set the groups that a user is in besides its own; with `append` those that it is in are kept."""
    if groups and set(groups) <= set(list_groups(context, name)) and append:
        return True
    _there(context, name)
    words = [*(["--append"] if append else []), "--groups", ",".join(groups)]
    accounts.change(context.machine, ["usermod", *words, "--", name], f"The groups of {name} could not be set")
    return True


def rename(context: Context, name: str, new_name: str, root: NotSupported = None) -> bool:
    """Give a user another name."""
    accounts.check_name("user", new_name)
    if info(context, new_name):
        raise CallFailed(f"User '{new_name}' already exists")
    _there(context, name)
    accounts.change(context.machine, ["usermod", "--login", new_name, "--", name], f"User {name} could not be renamed")
    return True


def chloginclass(
    context: Context, name: InnerArgument = "", loginclass: NoLoginClass = "", root: NotSupported = None
) -> bool:
    """False: there are no login classes on Linux."""
    return False


def get_loginclass(context: Context, name: InnerArgument = "") -> bool:
    """False: there are no login classes on Linux."""
    return False


def chuid(context: Context, name: str, uid: int | str, root: NotSupported = None) -> bool:
    """Set the number of a user."""
    return _usermod(context, name, ["--uid", str(uid)], "uid", uid)


def chgid(context: Context, name: str, gid: int | str, root: NotSupported = None) -> bool:
    """Set the primary group of a user, by its number."""
    return _usermod(context, name, ["--gid", str(gid)], "gid", gid)


def chshell(context: Context, name: str, shell: str, root: NotSupported = None) -> bool:
    """Set the shell of a user."""
    return _usermod(context, name, ["--shell", shell], "shell", shell)


def chfullname(context: Context, name: str, fullname: str, root: NotSupported = None) -> bool:
    """Set the fullname of a user."""
    return _change_gecos(context, name, "fullname", fullname)


def chroomnumber(context: Context, name: str, roomnumber: str, root: NotSupported = None) -> bool:
    """Set the roomnumber of a user."""
    return _change_gecos(context, name, "roomnumber", roomnumber)


def chworkphone(context: Context, name: str, workphone: str, root: NotSupported = None) -> bool:
    """Set the workphone of a user."""
    return _change_gecos(context, name, "workphone", workphone)


def chhomephone(context: Context, name: str, homephone: str, root: NotSupported = None) -> bool:
    """Set the homephone of a user."""
    return _change_gecos(context, name, "homephone", homephone)


def chother(context: Context, name: str, other: str, root: NotSupported = None) -> bool:
    """Set the other of a user."""
    return _change_gecos(context, name, "other", other)


def _change_gecos(context: Context, name: str, field: str, value: str) -> bool:
    old = _there(context, name)
    parts = [_field(value if one == field else old[one]) for one in _GECOS]
    return _usermod(context, name, ["--comment", ",".join(parts).rstrip(",")], field, value)


def _usermod(context: Context, name: str, words: list[str], field: str, value: Any) -> bool:
    """Change a field, unless it is so; whether it is so then."""
    if str(_there(context, name)[field]) == str(value):
        return True
    accounts.change(context.machine, ["usermod", *words, "--", name], f"The {field} of {name} could not be set")
    return str(info(context, name)[field]) == str(value)


def _there(context: Context, name: str) -> dict[str, Any]:
    found = info(context, name)
    if not found:
        raise CallFailed(f"User '{name}' does not exist")
    return found


def _field(value: Any) -> str:
    text = str(value)
    if any(sign in text for sign in ":,\n"):
        raise CallFailed(f"{text!r} holds a colon, comma or newline, which this field cannot")
    return text


FUNCTIONS: Mapping[str, Any] = {
    "add": add,
    "chfullname": chfullname,
    "chroomnumber": chroomnumber,
    "chworkphone": chworkphone,
    "chhomephone": chhomephone,
    "chother": chother,
    "chgid": chgid,
    "chgroups": chgroups,
    "chhome": chhome,
    "chloginclass": chloginclass,
    "chshell": chshell,
    "chuid": chuid,
    "delete": delete,
    "get_loginclass": get_loginclass,
    "getent": getent,
    "info": info,
    "list_groups": list_groups,
    "list_users": list_users,
    "primary_group": primary_group,
    "rename": rename,
}
