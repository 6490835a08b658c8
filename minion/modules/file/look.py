"""file.*, as far as it looks at files and changes nothing."""

from __future__ import annotations

import hashlib
import os
import re
import stat as modes
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from minion.arguments.patterns import Flags
from minion.arguments.sources import as_sources
from minion.arguments.types import LinesOfText
from minion.execution.arguments import BufferSize, NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.dirfd import held
from minion.machine.timed_regex import TimedRegex
from minion.modules.cmd import as_salt

LARGEST_READ = 16 * 1024 * 1024
"""Bytes; what is read goes over the wire."""


def expanded(path: Any) -> Path:
    """The path, with `~` as the home of who runs the minion."""
    return Path(str(path)).expanduser()


def file_exists(context: Context, path: str) -> bool:
    """Whether there is a file."""
    return expanded(path).is_file()


def directory_exists(context: Context, path: str) -> bool:
    """Whether there is a directory."""
    return expanded(path).is_dir()


def path_exists_glob(context: Context, path: str) -> bool:
    """Whether anything fits the pattern."""
    import glob

    return bool(glob.glob(str(expanded(path))))  # noqa: PTH207  (the pattern is absolute)


def access(context: Context, path: str, mode: str) -> bool:
    """Whether the minion may do this: f exists, r, w or x."""
    known = {"f": os.F_OK, "r": os.R_OK, "w": os.W_OK, "x": os.X_OK}
    if mode not in known:
        raise CallFailed(f"mode must be one of f, r, w, x; not {mode!r}")
    return os.access(expanded(path), known[mode])


def read(context: Context, path: str, binary: bool = False) -> str | bytes:
    """Content of a file, as text, or with `binary` as bytes."""
    place = expanded(path)
    if place.stat().st_size > LARGEST_READ:
        raise CallFailed(f"{path} is larger than {LARGEST_READ} bytes")
    return place.read_bytes() if binary else place.read_text(encoding="utf-8", errors="replace")


def seek_read(context: Context, path: str, size: int, offset: int) -> bytes:
    """So many bytes of a file, from an offset on."""
    with expanded(path).open("rb") as file:
        file.seek(offset)
        return file.read(min(size, LARGEST_READ))


def regular_content(context: Context, path: str, most_bytes: int = 48 * 1024) -> dict[str, Any]:
    """Content, mode, user and group of a small regular file, all of one moment; `saltern adopt` asks for them.

    No symlink of a user is followed to what is not this user's, and none at the path itself.
    """
    place = str(expanded(path))
    try:
        with held(place) as (folder, name):
            file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        raise CallFailed(f"Path not found: {path}") from None
    except OSError as error:
        raise CallFailed(f"{path} is not read: {error.strerror}") from None
    with open(file, "rb") as opened:  # noqa: PTH123  (a descriptor)
        found = os.fstat(file)
        if not modes.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise CallFailed(f"{path} is no regular file with one name")
        data = opened.read(min(most_bytes, LARGEST_READ) + 1)
    if len(data) > most_bytes:
        raise CallFailed(f"{path} is larger than {most_bytes} bytes")
    user, group = _name("user", found.st_uid), _name("group", found.st_gid)
    return {"data": data, "user": user, "group": group, "mode": f"{modes.S_IMODE(found.st_mode):04o}"}


def readdir(context: Context, path: str) -> list[str]:
    """Names in a directory, `.` and `..` first."""
    place = expanded(path)
    if not place.is_absolute():
        raise CallFailed("Dir path must be absolute.")
    if not place.is_dir():
        raise CallFailed(f"A valid directory was not specified: {path}")
    return [".", "..", *sorted(entry.name for entry in place.iterdir())]


def get_hash(context: Context, path: str, form: str = "sha256", chunk_size: BufferSize = 65536) -> str:
    """Digest of a file in hexadecimal digits."""
    if form not in hashlib.algorithms_guaranteed or form.startswith("shake"):
        raise CallFailed(f"form {form!r} is not known; take sha256, sha512 or md5")
    with expanded(path).open("rb") as file:
        return hashlib.file_digest(file, form).hexdigest()


def check_hash(context: Context, path: str, file_hash: str) -> bool:
    """Whether a file has this digest, written as `sha256=…`, or as digits whose number says which it is."""
    form, _, digits = file_hash.replace(":", "=").rpartition("=")
    if not form:
        sizes = {hashlib.new(one, usedforsecurity=False).digest_size * 2: one for one in _FORMS}
        form = sizes.get(len(digits), "")
    if form not in _FORMS:
        raise CallFailed(f"The value of file_hash is no digest: {file_hash!r}; write sha256=…")
    return get_hash(context, path, form) == digits.lower()


_FORMS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")


def stats(context: Context, path: str, hash_type: str | None = None, follow_symlinks: bool = True) -> dict[str, Any]:
    """Owner, mode, kind, size and times of what is at a path; with `hash_type` also its digest."""
    place = expanded(path)
    try:
        found = place.stat() if follow_symlinks else place.lstat()
    except FileNotFoundError:
        raise CallFailed(f"Path not found: {path}") from None
    said = {
        "inode": found.st_ino,
        "uid": found.st_uid,
        "gid": found.st_gid,
        "group": _name("group", found.st_gid),
        "user": _name("user", found.st_uid),
        "atime": found.st_atime,
        "mtime": found.st_mtime,
        "ctime": found.st_ctime,
        "size": found.st_size,
        "mode": f"{modes.S_IMODE(found.st_mode):04o}",
    }
    if hash_type:
        said["sum"] = get_hash(context, path, hash_type)
    return {**said, "type": _kind(found.st_mode), "target": str(place.resolve())}


def lstat(context: Context, path: str) -> dict[str, Any]:
    """What lstat(2) says of a path; empty when there is nothing."""
    try:
        found = expanded(path).lstat()
    except OSError:
        return {}
    names = ("st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime", "st_nlink", "st_size", "st_uid")
    return {name: getattr(found, name) for name in names}


def statvfs(context: Context, path: str) -> dict[str, int]:
    """What statvfs(3) says of the file system that a path is on."""
    found = os.statvfs(expanded(path))
    names = ("bavail", "bfree", "blocks", "bsize", "favail", "ffree", "files", "flag", "frsize", "namemax")
    return {f"f_{name}": getattr(found, f"f_{name}") for name in names}


def readlink(context: Context, path: str, canonicalize: bool = False) -> str:
    """Where a symlink leads; with `canonicalize` to its very end."""
    place = expanded(path)
    if not place.is_absolute():
        raise CallFailed(f"Path to link must be absolute: {path}")
    if not place.is_symlink():
        raise CallFailed(f"A valid link was not specified: {path}")
    return str(place.resolve() if canonicalize else place.readlink())


def is_hardlink(context: Context, path: str) -> bool:
    """Whether a file has several names."""
    return bool(lstat(context, path).get("st_nlink", 0) > 1)


def get_devmm(context: Context, name: str) -> tuple[int, int]:
    """Major and minor number of a device; zeros when it is none."""
    found = expanded(name).stat()
    is_device = modes.S_ISCHR(found.st_mode) or modes.S_ISBLK(found.st_mode)
    return (os.major(found.st_rdev), os.minor(found.st_rdev)) if is_device else (0, 0)


def pardir(context: Context) -> str:
    """The name of the directory above: `..`."""
    return ".."


def search(
    context: Context,
    path: str,
    pattern: str,
    flags: Flags = 8,
    bufsize: BufferSize = 1,
    ignore_if_missing: bool = False,
    multiline: bool = False,
) -> bool:
    """Whether a regular expression is found in a file."""
    from minion.states.file.replace import compiled_pattern

    place = expanded(path)
    if ignore_if_missing and not place.exists():
        return False
    if not place.is_file():
        raise CallFailed(f"File not found: {path}")
    chosen = flags | (re.MULTILINE | re.DOTALL if multiline else 0)
    return compiled_pattern(pattern.encode(), chosen).search(place.read_bytes()) is not None


def contains(context: Context, path: str, text: str) -> bool:
    """Whether a line of a file holds a text."""
    return _any_line(path, lambda line: text.strip() in line)


def contains_regex(context: Context, path: str, regex: str, lchar: str = "") -> bool:
    """Whether a regular expression is found in a line of a file; `lchar` is taken off its left end before."""
    compiled = TimedRegex(regex)
    return _any_line(path, lambda line: compiled.search(line.lstrip(lchar) if lchar else line) is not None)


def contains_glob(context: Context, path: str, glob_expr: str) -> bool:
    """Whether a glob fits a line of a file."""
    import fnmatch

    return _any_line(path, lambda line: fnmatch.fnmatchcase(line.rstrip("\n"), glob_expr))


def grep(context: Context, path: str, pattern: str, *opts: str) -> dict[str, Any]:
    """What grep(1) finds in files; a glob names several."""
    import glob

    machine = context.machine
    found = sorted(glob.glob(str(expanded(path)))) or [str(expanded(path))]  # noqa: PTH207  (the pattern is absolute)
    options = [word for one in opts for word in str(one).split()]
    return as_salt(machine.run(["grep", *options, "-e", pattern, "--", *found]))


def get_diff(
    context: Context,
    file1: str,
    file2: str,
    saltenv: str = "base",
    show_filenames: bool = True,
    show_changes: bool = True,
    template: NotSupported = False,
    source_hash_file1: str | None = None,
    source_hash_file2: str | None = None,
    ignore_ordering: bool = False,
    ignore_whitespace: bool = False,
    ignore_comment_characters: LinesOfText = (),
) -> Any:
    """What differs between two files, each on the machine or `salt://`.

    With `ignore_…`: whether anything differs that is not ignored, and what differs.
    """
    from minion.states.file.diff import IgnoredDifferences
    from minion.states.file.sources import Template, of_source

    def content(path: str, digest: str | None) -> bytes:
        if path.startswith("salt://"):
            return of_source(context.machine, as_sources(path), saltenv, Template(variables={}), digest)
        return expanded(path).read_bytes()

    old, new = content(file1, source_hash_file1), content(file2, source_hash_file2)
    if old != new and not show_changes:
        return "<show_changes=False>"
    shown = _difference(old, new, (file1, file2) if show_filenames else ("", ""))
    ignored = IgnoredDifferences(ignore_ordering, ignore_whitespace, ignore_comment_characters)
    return [not ignored.cover(old, new), shown] if ignored.any() else shown


def _difference(old: bytes, new: bytes, names: tuple[str, str]) -> str:
    import difflib

    before, after = (data.decode("utf-8", "replace").splitlines(keepends=True) for data in (old, new))
    return "".join(difflib.unified_diff(before, after, *names))


def diskusage(context: Context, path: str) -> int:
    """Bytes of all files below a path, or of one file."""
    import glob

    total, seen = 0, set()
    for top in glob.glob(str(expanded(path))):  # noqa: PTH207  (the pattern is absolute)
        places = [Path(top)] if not Path(top).is_dir() else [p for p in Path(top).rglob("*") if not p.is_dir()]
        for place in places:
            found = place.stat() if place.exists() else place.lstat()
            if found.st_ino not in seen:
                seen.add(found.st_ino)
                total += found.st_size
    return total


def open_files(context: Context, by_pid: bool = False) -> dict[Any, list[Any]]:
    """Files that processes have open: path → process ids, or with `by_pid` the other way round."""
    found: dict[Any, list[Any]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            paths = {str(one.readlink()) for one in (folder / "fd").iterdir()}
        except OSError:  # it has ended, or belongs to somebody else
            continue
        for path in sorted(one for one in paths if one.startswith("/")):
            key, value = (int(folder.name), path) if by_pid else (path, int(folder.name))
            found.setdefault(key, []).append(value)
    return found


def _any_line(path: str, fits: Callable[[str], bool]) -> bool:
    place = expanded(path)
    if not place.exists():
        return False
    with place.open(encoding="utf-8", errors="replace") as lines:
        return any(fits(line) for line in lines)


def _kind(mode: int) -> str:
    kinds = {modes.S_ISDIR: "dir", modes.S_ISLNK: "link", modes.S_ISREG: "file", modes.S_ISBLK: "block",
             modes.S_ISCHR: "char", modes.S_ISFIFO: "pipe", modes.S_ISSOCK: "socket"}  # fmt: skip
    return next((name for is_it, name in kinds.items() if is_it(mode)), "file")


def _name(kind: str, number: int) -> str:
    import grp
    import pwd

    try:
        return pwd.getpwuid(number).pw_name if kind == "user" else grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def is_blkdev(context: Context, name: str) -> bool:
    """Whether a path is a block device."""
    return modes.S_ISBLK(lstat(context, name).get("st_mode", 0))


def is_chrdev(context: Context, name: str) -> bool:
    """Whether a path is a character device."""
    return modes.S_ISCHR(lstat(context, name).get("st_mode", 0))


def is_fifo(context: Context, name: str) -> bool:
    """Whether a path is a fifo."""
    return modes.S_ISFIFO(lstat(context, name).get("st_mode", 0))


def is_link(context: Context, path: str, nostat: bool = False) -> bool:
    """Whether a path is a link; with `nostat`, as the directory says that it is in, without a look at the path."""
    if nostat:
        folder, name = os.path.split(str(expanded(path)))
        with os.scandir(folder) as entries:
            return any(one.name == name and one.is_symlink() for one in entries)
    return modes.S_ISLNK(lstat(context, path).get("st_mode", 0))


FUNCTIONS: Mapping[str, Any] = {
    "access": access,
    "check_hash": check_hash,
    "contains": contains,
    "contains_glob": contains_glob,
    "contains_regex": contains_regex,
    "directory_exists": directory_exists,
    "diskusage": diskusage,
    "file_exists": file_exists,
    "get_devmm": get_devmm,
    "get_diff": get_diff,
    "get_hash": get_hash,
    "get_sum": get_hash,
    "regular_content": regular_content,
    "grep": grep,
    "is_blkdev": is_blkdev,
    "is_chrdev": is_chrdev,
    "is_fifo": is_fifo,
    "is_hardlink": is_hardlink,
    "is_link": is_link,
    "lstat": lstat,
    "open_files": open_files,
    "pardir": pardir,
    "path_exists_glob": path_exists_glob,
    "read": read,
    "readdir": readdir,
    "readlink": readlink,
    "search": search,
    "seek_read": seek_read,
    "stats": stats,
    "statvfs": statvfs,
}
