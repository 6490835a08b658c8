"""file.*, as far as files come, go and move: directories, links, copies, devices."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from minion.arguments.types import Days, Mode, Owner, Reads, Unfit
from minion.execution.arguments import NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.file.look import expanded

if TYPE_CHECKING:
    from minion.ownership.file_backups import FileBackups


def _as_time(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unfit("", "atime and mtime must be integers")
    return value


Time = Annotated[float, Reads(_as_time)]
"""Seconds since the epoch."""


def touch(context: Context, name: str, atime: Time | None = None, mtime: Time | None = None) -> bool:
    """Make an empty file, or set the times of one that is there, in seconds since the epoch."""
    place = _absolute(name)
    if not place.exists():
        context.machine.write(str(place), b"")
    context.machine.utime(str(place), atime, mtime)
    return place.exists()


def mkdir(
    context: Context, dir_path: str, user: Owner | None = None, group: Owner | None = None, mode: Mode | None = None
) -> bool:
    """Make a directory and those above it."""
    place = expanded(dir_path)
    if not place.is_dir():
        _make(context, place, user, group, mode)
    return True


def makedirs(
    context: Context, path: str, user: Owner | None = None, group: Owner | None = None, mode: Mode | None = None
) -> str | None:
    """Make the directory that a path lies in; a path that ends with a slash is the directory itself."""
    place = expanded(os.path.dirname(path))  # noqa: PTH120  (a slash at the end counts)
    if place.is_dir():
        return f"Directory '{place}' already exists"
    _make(context, place, user, group, mode)
    return None


def makedirs_perms(
    context: Context, name: str, user: Owner | None = None, group: Owner | None = None, mode: Mode | None = "0755"
) -> None:
    """Make a directory and those above it, all with this owner, group and mode."""
    if not expanded(name).is_dir():
        _make(context, expanded(name), user, group, mode)


def rmdir(
    context: Context, path: str, recurse: bool = False, verbose: bool = False, older_than: Days | None = None
) -> bool | dict[str, Any]:
    """Remove an empty directory, or with `recurse` empty ones below it too; whether all of them are gone.

    `older_than`: days since something last changed in a directory that may go. `verbose` says what was removed and
    what could not be.
    """
    import time

    place = _absolute(path)
    if not place.is_dir():
        raise CallFailed(f"A valid directory was not specified: {path}")
    newest = time.time() - older_than * 86400 if older_than else None
    deleted: list[str] = []
    errors: list[list[str]] = []
    for one in [*(_folders_below(place) if recurse else ()), place]:
        try:
            if newest is None or one.stat().st_mtime < newest:
                one.rmdir()
                deleted.append(str(one))
        except OSError as error:
            errors.append([str(one), str(error)])
    good = not errors and (recurse or bool(deleted))
    return {"deleted": deleted, "errors": errors, "result": good} if verbose else good


def _folders_below(place: Path) -> Iterator[Path]:
    """Directories below one, those inside of others first; links to directories are none."""
    for folder, names, _ in os.walk(place, topdown=False):
        yield from (Path(folder, name) for name in names if not Path(folder, name).is_symlink())


def remove(context: Context, path: str, **options: Any) -> bool:
    """Remove a file, symlink or directory with all that is in it; whether there was one."""
    place = _absolute(path)
    if not os.path.lexists(place):
        return False
    if str(place.resolve()) == "/" or place.is_mount():
        raise CallFailed(f"{path} is not removed: something is mounted there")
    context.machine.remove(str(place))
    return True


def copy(context: Context, src: str, dst: str, recurse: bool = False, remove_existing: bool = False) -> bool:
    """Copy a file, or with `recurse` a directory; owner and mode go along."""
    source, target = _absolute(src), expanded(dst)
    if not source.exists():
        raise CallFailed(f"No such file or directory '{src}'")
    if source.is_dir():
        if not recurse:
            raise CallFailed(f"Cannot copy overwriting a directory without recurse flag set to true: {src}")
        if remove_existing and target.exists():
            context.machine.remove(str(target))
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
        return True
    found = source.stat()
    target = target / source.name if target.is_dir() else target
    context.machine.write(str(target), source.read_bytes(), mode=f"{found.st_mode & 0o7777:04o}")
    if os.geteuid() == 0:
        context.machine.chown(str(target), found.st_uid, found.st_gid)
    return True


def rename(context: Context, src: str, dst: str) -> bool:
    """Give a file or directory another name on the same file system."""
    source = _absolute(src)
    try:
        os.rename(source, expanded(dst))  # noqa: PTH104
    except OSError as error:
        raise CallFailed(f"Could not rename '{src}' to '{dst}': {error.strerror}") from error
    return True


def move(context: Context, src: str, dst: str, disallow_copy_and_unlink: bool = False) -> dict[str, Any]:
    """Move a file or directory, also to another file system."""
    if disallow_copy_and_unlink:
        rename(context, src, dst)
    else:
        context.machine.rename(str(_absolute(src)), str(_absolute(dst)))
    return {"result": True, "comment": f"'{src}' moved to '{dst}'"}


def symlink(
    context: Context,
    src: str,
    path: str,
    force: bool = False,
    atomic: bool = False,
    follow_symlinks: NotSupported = True,
) -> bool:
    """Make a symlink at `path` that leads to `src`; one that leads elsewhere is replaced with `force`."""
    place = _absolute(path, "Link path")
    if place.is_symlink() and str(place.readlink()) == src:
        return True
    if place.is_symlink() and not (force or atomic):
        raise CallFailed(f"Found existing symlink: {path}")
    if os.path.lexists(place) and not place.is_symlink():
        if not (force or atomic):
            raise CallFailed(f"Existing path is not a symlink: {path}")
        context.machine.remove(str(place))
    context.machine.symlink(src, str(place))
    return True


def link(context: Context, src: str, path: str) -> bool:
    """Make another name for a file (a hard link)."""
    source = _absolute(src)
    try:
        os.link(source, expanded(path), follow_symlinks=False)
    except OSError as error:
        raise CallFailed(f"Could not create '{path}': {error.strerror}") from error
    return True


def mknod(
    context: Context, name: str, ntype: str, major: int = 0, minor: int = 0, user: Owner | None = None,
    group: Owner | None = None, mode: Mode = "0600",
) -> dict[str, Any]:  # fmt: skip
    """Make a device or pipe: `ntype` is `c`, `b` or `p`."""
    import stat as modes

    kinds = {"b": ("Block device", modes.S_IFBLK), "c": ("Character device", modes.S_IFCHR),
             "p": ("Fifo pipe", modes.S_IFIFO)}  # fmt: skip
    if ntype not in kinds:
        raise CallFailed(
            f"Node type unavailable: '{ntype}'. Available node types are character ('c'), block ('b'), and pipe ('p')."
        )
    word, bits = kinds[ntype]
    ret = {"name": name, "changes": {}, "comment": "", "result": False}
    place = expanded(name)
    if place.exists():
        return {**ret, "comment": f"File {name} exists and cannot be overwritten"}
    os.mknod(place, bits | int(mode, 8), os.makedev(major, minor))
    context.machine.chmod(str(place), mode)
    if user or group:
        context.machine.chown(str(place), user, group)
    return {**ret, "changes": {"new": f"{word} {name} created."}, "result": True}


def list_backups(context: Context, path: str, limit: int | None = None) -> dict[int, dict[str, Any]]:
    """Copies that were kept of a file when states replaced it, the newest first."""
    import datetime

    folder = Path(context.backup_dir + str(expanded(path).parent)) if context.backup_dir else None
    if folder is None or not folder.is_dir():
        return {}
    kept = [one for one in folder.iterdir() if one.name.startswith(expanded(path).name + "_")]
    kept.sort(key=lambda one: one.lstat().st_mtime, reverse=True)
    made_for = {each.place: each for each in _backups(context).copies()}
    described = {}
    for index, one in enumerate(kept[:limit]):
        found = one.lstat()
        when = datetime.datetime.fromtimestamp(found.st_mtime).strftime("%a %b %d %Y %H:%M:%S.%f")
        described[index] = {"Backup Time": when, "Size": found.st_size, "Location": str(one)}
        if (known := made_for.get(str(one))) is not None:
            described[index] |= {"Run": known.run, "State": known.state}
    return described


def _backups(context: Context) -> FileBackups:
    from minion.ownership.file_backups import FileBackups

    return FileBackups(context.backup_dir, context.options.file_backups, context.run_id)


def restore_backup(context: Context, path: str, backup_id: int) -> dict[str, Any]:
    """Put a kept copy back; its number is that of file.list_backups."""
    kept = list_backups(context, path)
    if backup_id not in kept:
        return {"result": False, "comment": f"backup_id '{backup_id}' does not exist for {path}"}
    from minion.states.file.paths import make_parents
    from minion.states.file.perms import Perms

    place, target = Path(kept[backup_id]["Location"]), str(expanded(path))
    _backups(context).keep(target, "file.restore_backup")
    if place.is_symlink():
        context.machine.remove(target)
        context.machine.symlink(str(place.readlink()), target)
        return {"result": True, "comment": f"Successfully restored {place} to {path}"}
    is_gone = context.machine.stat(target) is None
    make_parents(context.machine, target, Perms())
    known = next((each for each in _backups(context).copies() if each.place == str(place)), None)
    found = known or context.machine.stat(str(place))
    context.machine.write(target, place.read_bytes(), mode=found.mode if found and (known or is_gone) else None)
    if found is not None and (known or is_gone):
        context.machine.chown(target, found.uid, found.gid)
    return {"result": True, "comment": f"Successfully restored {place} to {path}"}


def delete_backup(context: Context, path: str, backup_id: int) -> dict[str, Any]:
    """Remove a kept copy; its number is that of file.list_backups."""
    kept = list_backups(context, path)
    if backup_id not in kept:
        return {"result": False, "comment": f"backup_id '{backup_id}' does not exist for {path}"}
    place = kept[backup_id]["Location"]
    context.machine.remove(place)
    return {"result": True, "comment": f"Successfully removed {place}"}


def _make(context: Context, place: Path, user: str | None, group: str | None, mode: str | None) -> None:
    from minion.states.file.paths import make_parents
    from minion.states.file.perms import Perms

    make_parents(context.machine, f"{place}/x", Perms(user=user, group=group, mode=mode))


def _absolute(path: Any, what: str = "File path") -> Path:
    place = expanded(path)
    if not place.is_absolute():
        raise CallFailed(f"{what} must be absolute: {path}")
    return place


def mknod_blkdev(
    context: Context, name: str, major: int, minor: int, user: Owner | None = None, group: Owner | None = None,
    mode: Mode = "0600",
) -> dict[str, Any]:  # fmt: skip
    """Make a block device."""
    return mknod(context, name, "b", major, minor, user, group, mode)


def mknod_chrdev(
    context: Context, name: str, major: int, minor: int, user: Owner | None = None, group: Owner | None = None,
    mode: Mode = "0600",
) -> dict[str, Any]:  # fmt: skip
    """Make a character device."""
    return mknod(context, name, "c", major, minor, user, group, mode)


def mknod_fifo(
    context: Context,
    name: str,
    user: Owner | None = None,
    group: Owner | None = None,
    mode: Mode = "0600",
) -> dict[str, Any]:
    """Make a named pipe."""
    return mknod(context, name, "p", 0, 0, user, group, mode)


FUNCTIONS: Mapping[str, Any] = {
    "copy": copy,
    "delete_backup": delete_backup,
    "link": link,
    "list_backups": list_backups,
    "makedirs": makedirs,
    "makedirs_perms": makedirs_perms,
    "mkdir": mkdir,
    "mknod": mknod,
    "mknod_blkdev": mknod_blkdev,
    "mknod_chrdev": mknod_chrdev,
    "mknod_fifo": mknod_fifo,
    "move": move,
    "remove": remove,
    "remove_backup": delete_backup,
    "rename": rename,
    "restore_backup": restore_backup,
    "rmdir": rmdir,
    "symlink": symlink,
    "touch": touch,
}
