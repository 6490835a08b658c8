"""Paths of file states: what is a good name, what is behind it, what stands above it, what a pattern covers.

Called by the file states. Looks through a `Reader`, except for `make_parents`, which is an act.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from highstate import patterns
from matching.linear_regex import PatternRefused
from minion.machine.dirfd import refuse_foreign_link
from minion.machine.failure import StateFailed
from minion.machine.plan import FileStat, Machine, Reader
from minion.states.file.perms import Perms


def checked(name: str, what: str = "file") -> str:
    """The name as a clean absolute path; StateFailed in Salt's words."""
    if not name:
        raise StateFailed(f"Must provide name to file.{what}")
    if name[0] != "/":
        raise StateFailed(f"Specified file {name} is not an absolute path")
    if "\0" in name:
        raise StateFailed(f"Specified file {name!r} holds a NUL character")
    return posixpath.normpath("/" + name.lstrip("/"))


def behind(machine: Reader, path: str) -> tuple[str, FileStat | None]:
    """Where a path ends up when symlinks in its last part are followed, and what is there."""
    foreign: list[FileStat] = []
    origin = path
    for _ in range(40):
        found = machine.stat(path)
        if found is None or found.kind != "symlink":
            owner = found if found is not None or not foreign else machine.stat(posixpath.dirname(path))
            for link in foreign:
                refuse_foreign_link(link.found, origin, 0 if owner is None else owner.uid)
            return path, found
        foreign.append(found)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path), found.target))
    raise StateFailed(f"{path}: too many levels of symbolic links")


def missing_parents(machine: Reader, path: str) -> list[str]:
    """Directories above `path` that are not there, the highest first."""
    missing: list[str] = []
    above = posixpath.dirname(path)
    while True:
        _, found = behind(machine, above)
        if found is not None:
            if found.kind != "directory":
                raise StateFailed(f"{above} is above {path}, and is not a directory")
            return missing[::-1]
        missing.append(above)
        above = posixpath.dirname(above)


def make_parents(machine: Machine, path: str, perms: Perms) -> None:
    """Make what is missing above `path`, each with the owner and mode given."""
    for folder in missing_parents(machine, path):
        machine.mkdir(folder, mode=perms.mode)
        if perms.user is not None or perms.group is not None:
            machine.chown(folder, perms.user, perms.group)


def below(machine: Reader, folder: str, depth: int | None = None) -> Iterator[tuple[str, FileStat]]:
    """Everything below a folder, a directory before what is in it; symlinks are given and not followed."""
    if depth is not None and depth < 0:
        return
    for name in machine.listdir(folder):
        path = posixpath.join(folder, name)
        found = machine.stat(path)
        if found is None:
            continue
        yield path, found
        if found.kind == "directory":
            yield from below(machine, path, None if depth is None else depth - 1)


def is_part(path: str, include: Sequence[str], exclude: Sequence[str]) -> bool:
    """Whether `include_pat` and `exclude_pat` leave a relative path."""
    try:
        return patterns.is_part(path, include, exclude)
    except (re.error, PatternRefused) as error:
        raise StateFailed(f"This is no regular expression to use: {error}") from None
