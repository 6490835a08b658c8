"""file.copy, file.rename and file.hardlink: files made from files that are on the machine.

Behaviour: doc/ref/states/all/salt.states.file.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator

from minion.arguments.types import Mode, Owner, Path
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, FileStat, Machine, Plan, Reader
from minion.states.file.paths import behind, checked, make_parents, missing_parents
from minion.states.file.perms import Perms, differing, put, shown_of_new, with_primary_group


def copy(
    machine: Reader,
    name: str,
    *,
    source: Path,
    force: bool = False,
    makedirs: bool = False,
    preserve: bool = False,
    user: Owner | None = None,
    group: Owner | None = None,
    mode: Mode | None = None,
    dir_mode: Mode | None = None,
    subdir: bool = False,
) -> Plan:
    """A copy of a file or tree, when nothing is there yet; with `force`, whenever it differs from its source."""
    source = _with_home(machine, source)
    path, origin = checked(name, "copy"), _origin(source, "copy")
    real, found = behind(machine, origin)
    if found is None:
        raise StateFailed(f'Source file "{source}" is not present')
    there = behind(machine, path)[1]
    if subdir and there is not None and there.kind == "directory":
        path = posixpath.join(path, posixpath.basename(origin))
        there = machine.stat(path)
    if path == real or path.startswith(real + "/"):
        raise StateFailed(f'"{source}" cannot be copied to "{name}", which is the same or below it')
    owner = with_primary_group(machine, Perms(user=user, group=group, mode=mode))
    if preserve:
        owner = Perms(user=found.user, group=found.group, mode=found.mode)
    if there is not None and not force:
        return Plan(comment=f'The target file "{path}" exists and will not be overwritten')
    if there is not None and _is_copy(machine, real, found, path, owner):
        return Plan(comment=f'Copied "{source}" to "{path}" - files are identical')
    parents = Perms(user=user, group=group, mode=dir_mode) if makedirs else None
    return Plan(
        changes=(
            Change(key=path, reported=source, act=_copy(real, path, owner, parents)),
            *(() if preserve else _beside(machine, path, found, owner)),
        ),
        pending=f'File "{source}" is set to be copied to "{path}"',
        done=f'Copied "{source}" to "{path}"',
    )


def rename(machine: Reader, name: str, *, source: Path, force: bool = False, makedirs: bool = False) -> Plan:
    """What is at `source` is moved to `name`; a source that is not there has been moved before."""
    source = _with_home(machine, source)
    path, origin = checked(name, "rename"), _origin(source, "rename")
    if machine.stat(origin) is None:
        return Plan(comment=f'Source file "{source}" has already been moved out of place')
    there = machine.stat(path)
    if there is not None and not force:
        return Plan(comment=f'The target file "{name}" exists and will not be overwritten')
    if path == origin or path.startswith(origin + "/"):
        raise StateFailed(f'"{source}" cannot be moved to "{name}", which is the same or below it')

    def act(machine: Machine) -> None:
        _make_room(machine, path, Perms() if makedirs else None)
        if there is not None:
            machine.remove(path)
        machine.rename(origin, path)

    return Plan(
        changes=(Change(key=name, reported=source, act=act),),
        pending=f'File "{source}" is set to be moved to "{name}"',
        done=f'Moved "{source}" to "{name}"',
    )


def hardlink(
    machine: Reader,
    name: str,
    *,
    target: Path,
    force: bool = False,
    makedirs: bool = False,
    user: Owner | None = None,
    group: Owner | None = None,
    dir_mode: Mode | None = None,
) -> Plan:
    """`name` and `target` are the same file. `user`, `group` and `dir_mode` are of directories made on the way."""
    path, other = checked(name, "hardlink"), _origin(target, "hardlink")
    found, wanted = machine.stat(path), machine.stat(other)
    for where, one, direction in ((name, found, "to"), (target, wanted, "from")):
        if one is not None and one.kind == "directory":
            raise StateFailed(f"Unable to hard link {direction} directory {where}")
    if wanted is None:
        raise StateFailed(f"Target {target} for hard link does not exist")
    if found is not None and found.inode == wanted.inode:
        return Plan(comment=f"Target of hard link {name} is already pointing to {target}")
    if found is not None and not force:
        raise StateFailed(f"File exists where the hard link {name} should be")
    parents = Perms(user=user, group=group, mode=dir_mode) if makedirs else None

    def act(machine: Machine) -> None:
        _make_room(machine, path, parents)
        machine.link(other, path)

    forced = Change(key="forced", reported="File for hard link was forcibly replaced", act=_nothing)
    return Plan(
        changes=(*((forced,) if found is not None else ()), Change(key="new", reported=name, act=act)),
        pending=f"Hard link {name} to {target} is set for creation",
        done=f"Created new hard link {name} -> {target}",
    )


def _origin(source: str, what: str) -> str:
    if not posixpath.isabs(source):
        raise StateFailed(f"file.{what}: {source!r} is not an absolute path")
    return posixpath.normpath(source)


def _is_copy(machine: Reader, origin: str, found: FileStat, path: str, owner: Perms) -> bool:
    """Whether the path holds what the origin holds, with the owner that is wanted."""
    there = machine.stat(path)
    if there is None or there.kind != found.kind or differing(there, owner):
        return False
    if found.kind == "symlink":
        return there.target == found.target
    if found.kind != "directory":
        return there.size == found.size and machine.same(path, origin)
    names = machine.listdir(origin)
    if any(name not in machine.listdir(path) for name in names):
        return False
    kept = Perms(user=owner.user, group=owner.group)
    for name in names:
        inner = machine.stat(posixpath.join(origin, name))
        if inner is not None and not _is_copy(
            machine, posixpath.join(origin, name), inner, posixpath.join(path, name), kept
        ):
            return False
    return True


def _beside(machine: Reader, path: str, found: FileStat, owner: Perms) -> Iterator[Change]:
    """What Salt shows of owner and mode: where they are not those of a plain copy."""
    shown = shown_of_new(owner, machine.stat(posixpath.dirname(path))) - {"mode"}
    if owner.mode not in (None, found.mode):
        shown |= {"mode"}
    for key in sorted(shown):
        yield Change(key=key, reported=getattr(owner, key), act=_nothing)


def _copy(origin: str, path: str, owner: Perms, parents: Perms | None) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        _make_room(machine, path, parents)
        there = machine.stat(path)
        found = machine.stat(origin)
        if there is not None and (there.kind != "file" or found is None or found.kind != "file"):
            machine.remove(path)
        _copy_one(machine, origin, path)
        for inner in _everything(machine, path):
            put(machine, inner, differing(machine.stat(inner), Perms(user=owner.user, group=owner.group)))
        put(machine, path, differing(machine.stat(path), owner))

    return act


def _copy_one(machine: Machine, origin: str, path: str) -> None:
    found = machine.stat(origin)
    if found is None or found.kind == "other":
        return
    if found.kind == "symlink":
        machine.symlink(found.target, path)
    elif found.kind == "file":
        machine.copy(origin, path, mode=found.mode)
    else:
        machine.mkdir(path, mode=found.mode)
        for name in machine.listdir(origin):
            _copy_one(machine, posixpath.join(origin, name), posixpath.join(path, name))


def _everything(machine: Reader, path: str) -> list[str]:
    found = machine.stat(path)
    if found is None or found.kind != "directory":
        return []
    inner = [posixpath.join(path, name) for name in machine.listdir(path)]
    return inner + [deeper for one in inner for deeper in _everything(machine, one)]


def _make_room(machine: Machine, path: str, parents: Perms | None) -> None:
    missing = missing_parents(machine, path)
    if missing and parents is None:
        raise StateFailed(f"The target directory {posixpath.dirname(path)} is not present")
    if parents is not None:
        make_parents(machine, path, parents)


def _nothing(machine: Machine) -> None:
    """Done by its neighbour."""


def _with_home(machine: Reader, source: Path) -> Path:
    from minion.providers.homes import with_home  # an idle agent has no providers in memory

    return with_home(machine, source)
