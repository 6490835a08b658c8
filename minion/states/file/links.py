"""file.absent and file.symlink.

Behaviour: doc/ref/states/all/salt.states.file. Symlinks are never followed when something is removed.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Annotated, Unpack

from minion.arguments.types import Ignored, Mode, Owner, Path
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, FileStat, Machine, Plan, Reader, Value
from minion.states.file.paths import checked, make_parents, missing_parents
from minion.states.file.perms import Perms, differing, put, with_primary_group
from minion.states.unused_arguments import WindowsOwner


def absent(machine: Reader, name: str) -> Plan:
    """Whatever is there is removed, a directory with all that is in it."""
    path = checked(name, "absent")
    if path == "/":
        raise StateFailed('Refusing to make "/" absent')
    found = machine.stat(path)
    if found is None:
        return Plan(comment=f"File {name} is not present")
    kind = "Directory" if found.kind == "directory" else "File"
    return Plan(
        changes=(Change(key="removed", old=name, reported=name, act=lambda machine: machine.remove(path)),),
        pending=f"{kind} {name} is set for removal",
        done=f"Removed {kind.lower()} {name}",
    )


class _SymlinkUnused(WindowsOwner, total=False):
    """Arguments of Salt's file.symlink that are ignored or refused."""

    atomic: Annotated[Value, Ignored("a link is always replaced atomically")]
    disallow_copy_and_unlink: Annotated[Value, Ignored("a link is never replaced by a copy")]
    follow_symlinks: Annotated[Value, Ignored("what stands at the name is looked at itself, and never followed")]


def symlink(
    machine: Reader,
    name: str,
    *,
    target: Path,
    force: bool = False,
    backupname: str | None = None,
    makedirs: bool = False,
    user: Owner | None = None,
    group: Owner | None = None,
    mode: Mode | None = None,
    dir_mode: Mode | None = None,
    inherit_user_and_group: bool = False,
    **_: Unpack[_SymlinkUnused],
) -> Plan:
    """`name` points to `target`, which need not exist. `mode` is that of directories made on the way.

    With `inherit_user_and_group` another link that was there leaves its owner, as far as none is given.
    """
    path = checked(name, "symlink")
    if "\0" in target:
        raise StateFailed(f"target must be a path, not {target!r}")
    found = machine.stat(path)
    if inherit_user_and_group and found is not None and found.kind == "symlink":
        user, group = user or found.user, group or found.group
    owner = with_primary_group(machine, Perms(user=user, group=group))
    if found is not None and found.kind == "symlink" and found.target == target:
        return _owned(name, path, target, found, owner)
    if found is not None and found.kind != "symlink" and not (force or backupname):
        raise StateFailed(f"File or directory exists where the symlink {name} should be. Did you mean to use force?")
    made = Perms(user=owner.user, group=owner.group, mode=dir_mode or mode)
    in_the_way = found is not None and found.kind != "symlink"
    if found is None:
        pending = f"Symlink {name} to {target} is set for creation"
    elif found.kind == "symlink":
        pending = f"Link {name} target is set to be changed to {target}"
    else:
        pending = f"The file or directory {name} is set for removal to make way for a new symlink targeting {target}"
    link = Change(
        key="new",
        old=found.target if found else None,
        reported=name,
        act=_link(
            path,
            target,
            in_the_way,
            made if makedirs else None,
            aside(machine, path, backupname, force=force) if in_the_way else None,
        ),
    )
    needed = differing(None, owner)
    owned = (Change(key="", act=lambda machine: put(machine, path, needed)),) if needed else ()
    return Plan(
        changes=(link, *owned),
        pending=pending,
        done=f"Created new symlink {name} -> {target}",
    )


def _owned(name: str, path: str, target: str, found: FileStat, owner: Perms) -> Plan:
    needed = differing(found, owner)
    return Plan(
        changes=_owner(path, needed),
        comment=f"Symlink {name} is present and owned by {found.user}:{found.group}",
        pending=f"Ownership of symlink {name} is set to be changed",
        done=f"Set ownership of symlink {name} -> {target}",
    )


def _owner(path: str, needed: dict[str, str]) -> tuple[Change, ...]:
    if not needed:
        return ()
    ownership = ":".join(needed.get(key, "") for key in ("user", "group"))
    return (Change(key="ownership", reported=ownership, act=lambda machine: put(machine, path, needed)),)


def aside(machine: Reader, path: str, backupname: str | None, *, force: bool) -> str | None:
    """Where what is in the way is moved to: `backupname`, in the same folder when it is a bare name.

    StateFailed when something is there already and is not to be replaced.
    """
    if not backupname:
        return None
    kept = posixpath.normpath(posixpath.join(posixpath.dirname(path), backupname))
    if not force and machine.stat(kept) is not None:
        raise StateFailed(f"File exists where the backup target {kept} should go. Set force to True to replace it")
    return kept


def _link(path: str, target: str, clear: bool, parents: Perms | None, kept: str | None) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        missing = missing_parents(machine, path)
        if missing and parents is None:
            raise StateFailed(f"Directory {missing[-1]} for symlink is not present")
        if parents is not None:
            make_parents(machine, path, parents)
        if clear and kept is not None:
            machine.remove(kept)
            machine.rename(path, kept)
        elif clear:
            machine.remove(path)
        machine.symlink(target, path)

    return act
