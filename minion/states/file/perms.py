"""Owner and mode of files and directories: what is asked for, and what it takes.

Called by the file states. A user or group need not exist when the plan is made, since an earlier state of the same
run may be about to make it; the act says so when it does not.
"""

from __future__ import annotations

import os
import stat
from dataclasses import replace

from highstate.records import dataclass
from minion.machine.plan import FileStat, Machine, Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Perms:
    """What is asked for; None: as it is."""

    user: str | None = None
    group: str | None = None
    mode: str | None = None
    """Four octal digits."""

    def for_parents(self, dir_mode: str | None) -> Perms:
        """Of directories made on the way: `dir_mode`, or the file's mode with x wherever there is r."""
        mode = dir_mode
        if mode is None and self.mode is not None:
            bits = int(self.mode, 8)
            mode = f"{bits & 0o777 | (bits & 0o444) >> 2:04o}"
        return Perms(user=self.user, group=self.group, mode=mode)


def differing(found: FileStat | None, wanted: Perms) -> dict[str, str]:
    """What has to change, as Salt shows it; all that is asked for, where there is nothing yet."""
    changes: dict[str, str] = {}
    if wanted.user is not None and (found is None or wanted.user not in (found.user, str(found.uid))):
        changes["user"] = wanted.user
    if wanted.group is not None and (found is None or wanted.group not in (found.group, str(found.gid))):
        changes["group"] = wanted.group
    if wanted.mode is not None and (found is None or (found.mode != wanted.mode and found.kind != "symlink")):
        changes["mode"] = wanted.mode
    return changes


def shown_of_new(perms: Perms, folder: FileStat | None) -> frozenset[str]:
    """Which of these Salt shows in `changes` of a new file: what differs from what a file made by this process has.

    Salt makes a file that is to have a mode with 0600 first. `folder` is what stands where the file is to be; None:
    nothing yet.
    """
    made_by, group = _user_name(os.geteuid()), os.getegid()
    if folder is not None and int(folder.mode, 8) & stat.S_ISGID:
        group = folder.gid
    shown = set()
    if perms.user not in (None, made_by, str(os.geteuid())):
        shown.add("user")
    if perms.group not in (None, _group_name(group), str(group)):
        shown.add("group")
    if perms.mode not in (None, "0600"):
        shown.add("mode")
    return frozenset(shown)


def with_primary_group(machine: Reader, perms: Perms) -> Perms:
    """Those, with the user's own group where a user is named and no group, as file.copy and file.symlink take it.

    A user whom an earlier state of the run would make has the group that it would get; one that is nowhere has none.
    """
    import pwd

    if perms.user is None or perms.group is not None:
        return perms
    try:
        found = pwd.getpwuid(int(perms.user)) if perms.user.isdigit() else pwd.getpwnam(perms.user)
    except KeyError:
        return replace(perms, group=_planned_group(machine, perms.user))
    return replace(perms, group=_group_name(found.pw_gid))


def _planned_group(machine: Reader, user: str) -> str | None:
    """The name of the primary group of a user, as getent has it."""
    fields = machine.query(["getent", "passwd", user]).stdout.strip().split(":")
    if len(fields) < 4:
        return None
    return machine.query(["getent", "group", fields[3]]).stdout.partition(":")[0] or fields[3]


def _user_name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group_name(gid: int) -> str:
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def put(machine: Machine, path: str, changes: dict[str, str]) -> None:
    """Make those changes; the owner first, since a change of owner may clear bits of the mode."""
    if "user" in changes or "group" in changes:
        machine.chown(path, changes.get("user"), changes.get("group"))
    if "mode" in changes:
        machine.chmod(path, changes["mode"])
