"""Folders held open while something in them is changed, so that no other process can replace them meanwhile.

Called by `machine` for everything that it writes. A path is walked name by name through descriptors. A symlink on the
way is followed as ever, with one exception, which is systemd-tmpfiles' rule too: what root does never follows a symlink
that some other user owns into a folder that is not this user's. So users who may write somewhere on the way cannot
lead root out of there, neither before the plan is made nor between the plan and the act.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator

from minion.machine.failure import StateFailed

_FOLDER = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_LINKS = 40


@contextlib.contextmanager
def held(path: str) -> Iterator[tuple[int, str]]:
    """The folder that `path` is in, as a descriptor, and the last name of the path."""
    above, name = os.path.split(path)
    folder = _straight(above)
    if folder is None:
        folder = _walk(above or ".", path)
    try:
        yield folder, name
    finally:
        os.close(folder)


@contextlib.contextmanager
def replacing(folder: int, name: str) -> Iterator[str]:
    """A name for the new one, which takes the place of `name` when all went well and is gone otherwise."""
    temporary = f".{os.fsdecode(os.fsencode(name)[:200])}.{secrets.token_hex(8)}"
    try:
        yield temporary
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise
    sync(folder)


def sync(folder: int) -> None:
    """Have the folder's names on disk."""
    descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def refuse_foreign_link(link: os.stat_result, path: str, target_owner: int) -> None:
    """StateFailed when root would follow a symlink of a user to what is not this user's."""
    if os.geteuid() == 0 and link.st_uid != 0 and target_owner != link.st_uid:
        raise StateFailed(
            f"{path} leads through a symlink of uid {link.st_uid} to what belongs to uid {target_owner}: root does not "
            "follow it. Name the real place, or have root own the link"
        )


def _straight(folder: str) -> int | None:
    """The folder, where no symlink leads to it; None where that is not known.

    The system says of an open folder by which names it is reached. Where these are the names that were asked for,
    none of them is a symlink. That takes three calls, and the walk three for each name.
    """
    if not folder.startswith("/"):
        return None
    try:
        here = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None  # the walk says what is wrong
    try:
        if os.readlink(f"/proc/self/fd/{here}") == folder:  # noqa: PTH115
            return here
    except OSError:
        pass  # a system without /proc
    os.close(here)
    return None


def _walk(folder: str, path: str) -> int:
    names = folder.split("/")[::-1]
    here = os.open("/" if folder.startswith("/") else ".", _FOLDER | os.O_DIRECTORY)
    foreign: list[os.stat_result] = []
    links = 0
    try:
        while names:
            name = names.pop()
            if name in ("", "."):
                continue
            there = os.open(name, _FOLDER, dir_fd=here)
            found = os.fstat(there)
            if not stat.S_ISLNK(found.st_mode):
                os.close(here)
                here = there
                continue
            target = os.readlink("", dir_fd=there)
            os.close(there)
            links += 1
            if links > _MOST_LINKS:
                raise OSError(40, "Too many levels of symbolic links", path)
            foreign.append(found)
            names += target.split("/")[::-1]
            if target.startswith("/"):
                os.close(here)
                here = os.open("/", _FOLDER | os.O_DIRECTORY)
        found = os.fstat(here)
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(20, "Not a directory", folder)
        for link in foreign:
            refuse_foreign_link(link, path, found.st_uid)
    except OSError as error:
        os.close(here)
        raise type(error)(error.errno, error.strerror, error.filename2 or folder) from None
    except BaseException:
        os.close(here)
        raise
    return here
