"""The refs of a repository, read from its files: one for those that rest, and one for each that moved since.

Called by `gitfs.mirror.mirror_store` (our mirrors) and `gitfs.mirror.local_remote` (remotes on this machine). Making
libgit2's objects of thousands of refs takes longer than all else that a fetch does, and it passes over what it cannot
read. What is written is a ref of a mirror that moves; to make one or to remove one is for libgit2, which looks at all
others for that.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path

from gitfs.mirror.refwatch import RefWatch

SETTLED_NS = 50_000_000
"""Nanoseconds after which a file cannot change any more without another time on it."""

_ID = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64})\s*\Z")
_PACKED = re.compile(r"^([0-9a-f]{40}|[0-9a-f]{64}) (\S+)$", re.MULTILINE)


class RefFiles:
    """The refs in the folder of a bare repository. What has not changed is not read again.

    Args:
        folder: the repository.
        watched: have the kernel tell which single files changed; for one thread alone.
    """

    def __init__(self, folder: Path, *, watched: bool = False) -> None:
        self.folder = folder
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
                _read_folder(folder, "refs/", single)
            else:
                single = dict(self._single) if changed else self._single
                for name in changed:
                    _read_again(folder, name, single)
        except OSError:
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
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        packed = {name: value for value, name in _PACKED.findall(text)}
        if len(packed) != sum(line[:1] not in "#^" for line in text.splitlines()):
            raise OSError(f"{path} cannot be read")
        self._keep(packed, stamp if time.time_ns() - status.st_mtime_ns > SETTLED_NS else None)

    def _keep(self, packed: dict[str, str], stamp: tuple[int, int, int] | None) -> None:
        self._packed, self._packed_below, self._stamp = packed, {}, stamp


def move_ref(repository: str, name: str, oid: str) -> None:
    """Have a ref that there is already show this id. OSError when that is not possible: it is then as it was."""
    path = Path(repository, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".lock")
    try:
        fresh.write_text(oid + "\n", encoding="ascii")
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _stripped(names: dict[str, str], prefix: str) -> dict[str, str]:
    start = len(prefix)
    return {name[start:]: value for name, value in names.items() if name.startswith(prefix)} if prefix else names


def _read_folder(folder: str, prefix: str, found: dict[str, str]) -> None:
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
    for name in inner:
        _read_folder(f"{folder}/{name}", f"{prefix}{name}/", found)


def _read_again(folder: str, name: str, found: dict[str, str]) -> None:
    """One file that may have changed, come or gone."""
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
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    try:
        return os.read(descriptor, 128)
    finally:
        os.close(descriptor)


def _id(text: bytes, folder: str, name: str) -> str:
    match = _ID.match(text)
    if match is None:
        raise OSError(f"{folder}/{name} cannot be read")
    return match[1].decode()
