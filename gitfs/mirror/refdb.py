"""The refs of a repository, read from its files: packed-refs, and a loose file for each ref that moved since.

Called by `gitfs.mirror.mirror_store` (our mirrors) and `gitfs.mirror.local_remote` (remotes on this machine). Making
libgit2's objects of thousands of refs takes longer than all else that a fetch does, and it passes over what it cannot
read. Only refs of a mirror are written: a ref that moves as a loose file, many refs at once in
packed-refs. Names are text in which bytes that are no UTF-8 stand as lone surrogates (PEP 383).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from gitfs.mirror.refwatch import RefWatch

_LEAST_LINE = 41
"""Bytes of an id and the space before a name."""
SETTLED_NS = 50_000_000
"""Nanoseconds after which a change of a file also changes its modification time."""

_ID = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64})\s*\Z")
_PACKED = re.compile(r"^([0-9a-f]{40}|[0-9a-f]{64}) ([^ \n]+)$", re.MULTILINE)


class TooManyRefs(Exception):
    """More refs, or more bytes of them, than are read; holds the name of the limit and what was found."""


class RefFiles:
    """The refs in the folder of a bare repository. Files that did not change are not read again.

    Args:
        folder: the repository.
        watched: use inotify to find the files that changed; for one thread only.
        most_bytes: of names and ids, for refs that others write; TooManyRefs beyond.
    """

    def __init__(self, folder: Path, *, watched: bool = False, most_bytes: int | None = None) -> None:
        self.folder = folder
        self._most_bytes = most_bytes
        self._watch = RefWatch(folder / "refs") if watched else None
        self._single: dict[str, str] = {}
        self.loose = 0
        """Files of single refs at the last look."""
        self._stamp: tuple[int, int, int] | None = None
        self._packed: dict[str, str] = {}
        self._packed_below: dict[str, dict[str, str]] = {}

    def below(self, *prefixes: str) -> tuple[dict[str, str], ...]:
        """For each prefix (`refs/heads/`): name below it -> id. OSError for a ref that cannot be read."""
        # Single files first: a ref that is packed while we look is then seen twice, and in the other order not at all.
        single = self._read_single()
        self.loose = len(single)
        self._read_packed()
        found = tuple(dict(self._resting(prefix)) for prefix in prefixes)
        for prefix, names in zip(prefixes, found, strict=True):
            names.update(_stripped(single, prefix))
        return found

    def _read_single(self) -> dict[str, str]:
        changed = None if self._watch is None else self._watch.changed()
        folder = str(self.folder / "refs")
        try:
            if changed is None:
                single: dict[str, str] = {}
                _read_folders(folder, single, self._most_bytes)
            else:
                single = dict(self._single) if changed else self._single
                for name in changed:
                    _read_again(folder, name, single)
        except (OSError, TooManyRefs):
            if self._watch is not None:
                self._watch.forget()
            raise
        self._single = single
        return single

    def _resting(self, prefix: str) -> dict[str, str]:
        if prefix not in self._packed_below:
            self._packed_below[prefix] = _stripped(self._packed, prefix)
        return self._packed_below[prefix]

    def _read_packed(self) -> None:
        path = self.folder / "packed-refs"
        try:
            status = path.stat()
        except FileNotFoundError:
            self._keep({}, None)
            return
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        if stamp == self._stamp:
            return
        if self._most_bytes is not None and status.st_size > self._most_bytes:
            raise TooManyRefs(status.st_size)
        text = path.read_bytes().decode(errors="surrogateescape")
        packed = {name: value for value, name in _PACKED.findall(text)}
        # Only \n ends a line: a name may hold what Unicode counts as the end of one.
        if len(packed) != sum(line[:1] not in "#^" for line in text.split("\n")):
            raise OSError(f"{path} cannot be read")
        self._keep(packed, stamp if time.time_ns() - status.st_mtime_ns > SETTLED_NS else None)

    def _keep(self, packed: dict[str, str], stamp: tuple[int, int, int] | None) -> None:
        self._packed, self._packed_below, self._stamp = packed, {}, stamp


def move_ref(repository: str, name: str, oid: str) -> None:
    """Set an existing ref to this id. OSError when that fails: the ref is unchanged."""
    path = Path(repository, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".lock")
    try:
        fresh.write_text(oid + "\n", encoding="ascii")
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def write_refs(repository: str, fresh: Mapping[str, str], gone: Collection[str] = ()) -> None:
    """Set these refs to these ids, and remove others, in one step for packed refs; full names.

    OSError when that fails. The caller holds the lock of the folder.
    """
    folder = Path(repository)
    path = folder / "packed-refs"
    text = path.read_bytes().decode(errors="surrogateescape") if path.exists() else ""
    kept = {name: value for value, name in _PACKED.findall(text) if name not in gone}
    lines = [f"{value} {name}\n" for name, value in {**kept, **fresh}.items()]
    new = folder / "packed-refs.lock"
    try:
        new.write_bytes("".join(lines).encode(errors="surrogateescape"))
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    for name in (*fresh, *gone):
        _remove_single(folder, name)


def _remove_single(folder: Path, name: str) -> None:
    """Remove the file of a ref, and folders that are empty then: a ref may get the name of such a folder."""
    path = folder / name
    with suppress(FileNotFoundError, NotADirectoryError):
        path.unlink()
    with suppress(OSError):
        for parent in path.parents:
            if parent.parent.parent == folder:  # `refs/saltern` and what lies beside it
                return
            parent.rmdir()


def _stripped(names: dict[str, str], prefix: str) -> dict[str, str]:
    start = len(prefix)
    return {name[start:]: value for name, value in names.items() if name.startswith(prefix)} if prefix else names


def _read_folders(top: str, found: dict[str, str], most_bytes: int | None) -> None:
    """All single refs below a folder, which stands for `refs/`."""
    waiting = [(top, "refs/")]
    size = 0
    while waiting:
        folder, prefix = waiting.pop()
        before = len(found)
        waiting += [(f"{folder}/{name}", f"{prefix}{name}/") for name in _read_folder(folder, prefix, found)]
        size += (len(found) - before) * (_LEAST_LINE + len(prefix))
        if most_bytes is not None and size > most_bytes:
            raise TooManyRefs(size)


def _read_folder(folder: str, prefix: str, found: dict[str, str]) -> list[str]:
    """Add the refs of a folder; names of the folders in it."""
    inner: list[str] = []
    names: list[str] = []
    with suppress(FileNotFoundError, NotADirectoryError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    (inner if entry.is_dir(follow_symlinks=False) else names).append(entry.name)
            for name in names:
                if not name.endswith(".lock"):
                    with suppress(FileNotFoundError):  # packed or removed while we looked
                        found[prefix + name] = _id(_read(name, descriptor), folder, name)
        finally:
            os.close(descriptor)
    return inner


def _read_again(folder: str, name: str, found: dict[str, str]) -> None:
    """Read one file that may have changed, appeared or disappeared."""
    if name.endswith(".lock"):
        return
    found.pop("refs/" + name, None)
    with suppress(FileNotFoundError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            found["refs/" + name] = _id(_read(name, descriptor), folder, name)
        finally:
            os.close(descriptor)


def _read(name: str, folder: int) -> bytes:
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
    try:
        return os.read(descriptor, 128)
    finally:
        os.close(descriptor)


def _id(text: bytes, folder: str, name: str) -> str:
    match = _ID.match(text)
    if match is None:
        raise OSError(f"{folder}/{name} cannot be read")
    return match[1].decode()
