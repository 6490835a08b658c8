"""`salt.utils.user`: users and groups of this machine."""

from __future__ import annotations

import grp
import os
import pwd


def get_user() -> str:
    """Who this process runs as."""
    return pwd.getpwuid(os.geteuid()).pw_name


def get_uid(user: str | None = None) -> int | None:
    """The number of a user; None when there is none."""
    try:
        return pwd.getpwnam(user).pw_uid if user else os.geteuid()
    except KeyError:
        return None


def get_gid(group: str | None = None) -> int | None:
    """The number of a group; None when there is none."""
    try:
        return grp.getgrnam(group).gr_gid if group else os.getegid()
    except KeyError:
        return None


def get_specific_user() -> str:
    """Who this process runs as, or who became root."""
    user, behind = get_user(), os.environ.get("SUDO_USER")
    return f"sudo_{behind}" if behind and os.geteuid() == 0 else user


def get_default_group(user: str) -> str:
    """The name of a user's first group."""
    return grp.getgrgid(pwd.getpwnam(user).pw_gid).gr_name


def get_group_list(user: str, include_default: bool = True) -> list[str]:
    """Names of a user's groups, sorted."""
    return sorted(get_group_dict(user, include_default))


def get_group_dict(user: str | None = None, include_default: bool = True) -> dict[str, int]:
    """Names and numbers of a user's groups."""
    name = user or get_user()
    first = pwd.getpwnam(name).pw_gid
    numbers = {number for number in os.getgrouplist(name, first) if include_default or number != first}
    return {grp.getgrgid(number).gr_name: number for number in numbers}


def get_gid_list(user: str, include_default: bool = True) -> list[int]:
    """Numbers of a user's groups, sorted."""
    return sorted(get_group_dict(user, include_default).values())
