"""file.*, as far as it is about owners, groups, modes and attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import Id, Map, Mode, Owner
from minion.execution.arguments import NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.file.look import _name, expanded, lstat, stats


def get_uid(context: Context, path: str, follow_symlinks: bool = True) -> int:
    """Number of the owner of a path."""
    uid: int = stats(context, path, follow_symlinks=follow_symlinks)["uid"]
    return uid


def get_user(context: Context, path: str, follow_symlinks: bool = True) -> str:
    """Name of the owner of a path."""
    return str(stats(context, path, follow_symlinks=follow_symlinks)["user"])


def get_gid(context: Context, path: str, follow_symlinks: bool = True) -> int:
    """Number of the group of a path."""
    gid: int = stats(context, path, follow_symlinks=follow_symlinks)["gid"]
    return gid


def get_group(context: Context, path: str, follow_symlinks: bool = True) -> str:
    """Name of the group of a path."""
    return str(stats(context, path, follow_symlinks=follow_symlinks)["group"])


def get_mode(context: Context, path: str, follow_symlinks: bool = True) -> str:
    """Mode of a path in octal digits."""
    return str(stats(context, path, follow_symlinks=follow_symlinks)["mode"])


def uid_to_user(context: Context, uid: Id | None) -> str:
    """Name of a user by its number; the number as text when there is none."""
    return "" if uid is None else _name("user", uid)


def gid_to_group(context: Context, gid: Id | None) -> str:
    """Name of a group by its number; the number as text when there is none."""
    return "" if gid is None else _name("group", gid)


def user_to_uid(context: Context, user: int | str | None = None) -> Any:
    """Number of a user by its name; empty when there is none."""
    import os
    import pwd

    if user is None:
        return os.geteuid()
    try:
        return user if isinstance(user, int) else pwd.getpwnam(user).pw_uid
    except KeyError:
        return ""


def group_to_gid(context: Context, group: int | str | None = None) -> Any:
    """Number of a group by its name; empty when there is none."""
    import grp

    if group in (None, ""):
        return ""
    try:
        return group if isinstance(group, int) else grp.getgrnam(group).gr_gid
    except KeyError:
        return ""


def chown(context: Context, path: str, user: int | str | None, group: int | str | None) -> str | None:
    """Set owner and group, of what a symlink leads to; what went wrong, or null."""
    return _chown(context, str(expanded(path).resolve()), user, group)


def lchown(context: Context, path: str, user: int | str | None, group: int | str | None) -> str | None:
    """Set owner and group of the path itself; what went wrong, or null."""
    return _chown(context, str(expanded(path)), user, group)


def chgrp(context: Context, path: str, group: int | str | None, follow_symlinks: bool = True) -> str | None:
    """Set the group; what went wrong, or null."""
    return _chown(context, str(expanded(path).resolve() if follow_symlinks else expanded(path)), None, group)


def set_mode(context: Context, path: str, mode: str) -> str:
    """Set the mode, in octal digits; the mode that it is then."""
    place = expanded(path).resolve()
    if not place.exists():
        raise CallFailed(f"{path}: File not found")
    text = mode.removeprefix("0o").lstrip("0") or "0"
    if not all(one in "01234567" for one in text):
        return "Invalid Mode " + mode
    context.machine.chmod(str(place), text.rjust(4, "0"))
    return get_mode(context, path)


def lsattr(context: Context, path: str) -> dict[str, list[str]]:
    """Attributes of a file, or of what is in a directory, as lsattr(1) shows them."""
    place = expanded(path)
    if not place.exists():
        raise CallFailed(f"File or directory does not exist: {path}")
    done = context.machine.run(["lsattr", "--", str(place)])
    if done.returncode == 127:
        raise CallFailed("There is no lsattr program: install the package e2fsprogs")
    rows = (line.split(None, 1) for line in done.stdout.splitlines() if not line.startswith("lsattr:"))
    return {row[1]: [one for one in row[0] if one != "-"] for row in rows if len(row) == 2}


def chattr(
    context: Context,
    *files: str,
    operator: str = "add",
    attributes: str = "",
    version: str | None = None,
    flags: str = "",
) -> bool:
    """Add, remove or set attributes of files: `operator=add attributes=i`."""
    signs = {"add": "+", "remove": "-", "set": "="}
    if operator not in signs:
        raise CallFailed("Need an operator: 'add', 'remove' or 'set' to modify attributes.")
    words = [f"-{flags}"] if flags else []
    words += [f"{signs[operator]}{attributes}"] if attributes else []
    words += ["-v", version] if version is not None else []
    done = context.machine.run(["chattr", *words, "--", *(str(expanded(one)) for one in files)])
    return done.returncode == 0


def check_perms(
    context: Context, name: str, ret: Map | None = None, user: Owner | None = None, group: Owner | None = None,
    mode: Mode | None = None, attrs: NotSupported = None, follow_symlinks: bool = False, seuser: NotSupported = None,
    serole: NotSupported = None, setype: NotSupported = None, serange: NotSupported = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Give a file this owner, group and mode; what changed, and how it was."""
    from minion.states.file.perms import Perms, differing, put

    place = expanded(name)
    machine = context.machine
    found = machine.stat(str(place.resolve() if follow_symlinks else place))
    if found is None:
        raise CallFailed(f"{name} does not exist")
    changes = differing(found, Perms(user=user, group=group, mode=mode))
    put(machine, str(place), changes)
    before = {"luser": found.user, "lgroup": found.group, "lmode": found.mode}
    before |= {key: changes[name] for key, name in _NEW.items() if name in changes}
    result = {"name": name, "changes": dict(changes), "comment": "", "result": True}
    given = ret or {}
    return [{**result, **given, "changes": {**given.get("changes", {}), **changes}}, before]


_NEW = {"cuser": "user", "cgroup": "group", "cmode": "mode"}


def _chown(context: Context, place: str, user: int | str | None, group: int | str | None) -> str | None:
    trouble = ""
    if user_to_uid(context, user) == "" and user not in (None, ""):
        trouble += "User does not exist\n"
    if group_to_gid(context, group) == "" and group not in (None, ""):
        trouble += "Group does not exist\n"
    if not lstat(context, place):
        trouble += "File not found"
    if trouble:
        return trouble
    context.machine.chown(place, None if user in (None, "") else user, None if group in (None, "") else group)
    return None


FUNCTIONS: Mapping[str, Any] = {
    "chattr": chattr,
    "check_perms": check_perms,
    "chgrp": chgrp,
    "chown": chown,
    "get_gid": get_gid,
    "get_group": get_group,
    "get_mode": get_mode,
    "get_uid": get_uid,
    "get_user": get_user,
    "gid_to_group": gid_to_group,
    "group_to_gid": group_to_gid,
    "lchown": lchown,
    "lsattr": lsattr,
    "set_mode": set_mode,
    "uid_to_user": uid_to_user,
    "user_to_uid": user_to_uid,
}
