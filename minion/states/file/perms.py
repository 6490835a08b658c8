"""Owner and mode of files and directories: what is asked for, and what it takes.

Called by the file states. A user or group need not exist when the plan is made, since an earlier state of the same
run may be about to make it; the act says so when it does not.
"""

from __future__ import annotations

from highstate.records import dataclass
from minion.machine.plan import FileStat, Machine


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


def put(machine: Machine, path: str, changes: dict[str, str]) -> None:
    """Make those changes; the owner first, since a change of owner may clear bits of the mode."""
    if "user" in changes or "group" in changes:
        machine.chown(path, changes.get("user"), changes.get("group"))
    if "mode" in changes:
        machine.chmod(path, changes["mode"])
