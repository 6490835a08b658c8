"""Files that minions send to be kept (`cp.push`), with the option `file_recv`: `minions/ID/files/PATH` in `cachedir`.

Called by the message handlers; all that touches the disk happens in a thread. A minion writes below its own folder and
nowhere else: its names are names of one folder each, and nothing is followed that is a link.

Source: `_file_recv` of `AESFuncs` in `salt/master.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import stat
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from options.limits import CountRefusal
from wire.limits import MinionLimits
from wire.messages import PUSHED_NAME, PUSHED_NAMES, FilePushed, PushFile, Refused, ToMinion

log = structlog.get_logger("saltern.files")

_AT_ONCE = 4
"""Pieces of a minion that wait to be written."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class PushRefused(Exception):
    """A piece that is not kept; the text says why, and `limit` by which limit."""

    def __init__(self, why: str, limit: str = "") -> None:
        super().__init__(why)
        self.limit = limit


@dataclass(slots=True)
class _Kept:
    """What of a minion is kept."""

    count: int
    size: int


@dataclass(slots=True, kw_only=True)
class PushedFiles:
    """Keeps them.

    Args:
        folder: of all minions.
        send: sends to the key of a minion.
        limits: of what one minion may have kept.
        most_file: bytes of one file; 0: none is taken.
        on_refusal: see `options.limits.CountRefusal`; the limits are `pushed-bytes`, `pushed-files` and
            `pushed-free-bytes`.
    """

    folder: Path
    send: Callable[[str, ToMinion], None]
    limits: MinionLimits
    most_file: int
    on_refusal: CountRefusal
    _open: Counter[str] = field(default_factory=Counter)
    _kept: dict[str, _Kept] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "pushed-files"))

    def take(self, key: str, minion: str, piece: PushFile) -> None:
        """Keep a piece, and answer, later."""
        if not self.most_file or self._open[minion] >= _AT_ONCE:
            why = "too much of this minion waits" if self.most_file else "`file_recv` of the controller is off"
            self.send(key, Refused(message=f"no file is kept: {why}", request=piece.request))
            return
        self._open[minion] += 1
        task = asyncio.create_task(self._answer(key, minion, piece), name="pushed-file")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, key: str, minion: str, piece: PushFile) -> None:
        message: ToMinion
        try:
            size = await asyncio.get_running_loop().run_in_executor(self._thread, self.keep, minion, piece)
            message = FilePushed(request=piece.request, size=size)
        except PushRefused as error:
            if error.limit:
                self.on_refusal(error.limit)
            log.warning("pushed file refused", minion=minion, path="/".join(piece.path)[:200], why=str(error))
            message = Refused(message=f"no file is kept: {error}", request=piece.request)
        finally:
            self._open[minion] -= 1
        self.send(key, message)

    # --- in the thread

    def keep(self, minion: str, piece: PushFile) -> int:
        """Write a piece; bytes of the file by now. PushRefused."""
        names = _names(piece.path)
        end = piece.offset + len(piece.data)
        if end > self.most_file:
            raise PushRefused(f"it is larger than `file_recv_max_size`: {self.most_file} bytes")
        kept = self._kept_of(minion)
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if shutil.disk_usage(self.folder).free - len(piece.data) < self.limits.pushed_free_bytes:
                raise PushRefused("the disk has no room", "pushed-free-bytes")
            self._write(minion, names, piece, kept)
        except OSError as error:
            self._kept.pop(minion, None)
            raise PushRefused(f"it cannot be written: {error.strerror}") from error
        return end

    def _kept_of(self, minion: str) -> _Kept:
        kept = self._kept.get(minion)
        if kept is None:
            kept = self._kept[minion] = _counted(self.folder / minion / "files")
        return kept

    def _count(self, name: str, at: int, kept: _Kept) -> bool:
        """Count a file or folder that is not there yet; whether it is to be made."""
        if _exists(name, at):
            return False
        if kept.count >= self.limits.pushed_files:
            raise PushRefused(f"{self.limits.pushed_files} files and folders of it are kept", "pushed-files")
        kept.count += 1
        return True

    def _write(self, minion: str, names: Sequence[str], piece: PushFile, kept: _Kept) -> None:
        root = self.folder / minion / "files"
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.ExitStack() as opened:
            at = os.open(root, _FOLDER)
            opened.callback(os.close, at)
            for name in names[:-1]:
                if self._count(name, at, kept):
                    os.mkdir(name, 0o700, dir_fd=at)
                at = os.open(name, _FOLDER, dir_fd=at)
                opened.callback(os.close, at)
            self._count(names[-1], at, kept)
            file = os.open(names[-1], _FILE, 0o600, dir_fd=at)
            opened.callback(os.close, file)
            before = _size(file)
            if piece.offset not in (0, before):
                raise PushRefused(f"{before} bytes of it were taken, and the next piece is at {piece.offset}")
            room = self.limits.pushed_bytes - kept.size + (before if piece.offset == 0 else 0)
            if len(piece.data) > room:
                raise PushRefused(f"{self.limits.pushed_bytes} bytes of it are kept", "pushed-bytes")
            if piece.offset == 0:
                os.ftruncate(file, 0)
                kept.size -= before
            _write_all(file, piece.data, piece.offset)
            kept.size += len(piece.data)


def _names(path: Sequence[str]) -> list[str]:
    """The parts of a path, each a name; PushRefused."""
    names = [name for part in path for name in part.split("/") if name]
    if not names or any(name in (".", "..") or "\0" in name or len(name.encode()) > PUSHED_NAME for name in names):
        raise PushRefused("this is no path below the files of the minion")
    if len(names) > PUSHED_NAMES:
        raise PushRefused("the path has too many folders")
    return names


def _size(file: int) -> int:
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        raise PushRefused("there is something else of this name")
    return found.st_size


def _exists(name: str, at: int) -> bool:
    try:
        os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _write_all(file: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, offset)
        view, offset = view[written:], offset + written


def _counted(root: Path) -> _Kept:
    """What of a minion is there."""
    kept = _Kept(0, 0)
    for folder, folders, files in os.walk(root):
        kept.count += len(folders) + len(files)
        for name in files:
            with contextlib.suppress(OSError):
                kept.size += Path(folder, name).lstat().st_size
    return kept
