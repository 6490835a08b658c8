"""Which files of refs changed since they were last looked at, as inotify reports it.

Called by `gitfs.mirror.refdb` for remotes on this machine. The kernel queues an event before the call that changed the
file returns, so a question after a push has ended finds it. The answer is None (unknown) whenever events may be
missing: on a filesystem that others can write to behind the kernel's back, after an overflow, when folders come and go.
"""

from __future__ import annotations

import ctypes
import os
import struct
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_LOCAL = frozenset((0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0x794C7630, 0x2FC12FC1, 0xF2F52010))
"""statfs(2)'s numbers of ext, xfs, btrfs, tmpfs, overlayfs, zfs and f2fs: only this kernel writes to them."""

_MODIFY, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO = 0x2, 0x8, 0x40, 0x80
_CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x100, 0x200, 0x400, 0x800
_UNMOUNT, _OVERFLOW, _IGNORED, _IS_FOLDER = 0x2000, 0x4000, 0x8000, 0x40000000
_TOLD_OF = _MODIFY | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
_UNKNOWN = _DELETE_SELF | _MOVE_SELF | _UNMOUNT | _OVERFLOW | _IGNORED | _IS_FOLDER
_ONLY_FOLDERS = 0x01000000

_MOST_FOLDERS = 500
_READ_BYTES = 64 * 1024
_HEAD = struct.Struct("iIII")
"""inotify(7): the watch, what happened, a cookie, the length of the name that follows."""


class RefWatch:
    """The folder `refs` of a repository and all folders in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process = os.getpid()
        self._queue = -1
        self._names: dict[int, str] = {}
        """Watch -> folder below `refs` with a slash at its end."""
        self._identity: tuple[int, int] | None = None
        self._close: Callable[[], object] = int

    def changed(self) -> set[str] | None:
        """Names below `refs` of files that may have changed since the last question; None: look at all of them."""
        events = self._events()
        if events is None:
            self.forget()
            with suppress(OSError, AttributeError):  # another system, or inotify is exhausted: all files are read
                self._watch()
        return events

    def forget(self) -> None:
        """Discard all events so far: the next answer is None."""
        self._close()
        self._queue = -1

    def _watch(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        top = os.fsencode(self._folder)
        kind = (ctypes.c_long * 64)()
        if self._folder.is_symlink() or libc.statfs(top, kind) or kind[0] not in _LOCAL:
            return
        queue = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if queue < 0:
            return
        self._close = weakref.finalize(self, os.close, queue)
        self._names = {}
        self._identity = self._present()
        waiting = [""]
        while waiting:
            below = waiting.pop()
            # Watched before it is read: a folder that is made meanwhile is in the list or in an event.
            number = libc.inotify_add_watch(queue, top + b"/" + os.fsencode(below), _TOLD_OF | _ONLY_FOLDERS)
            if number < 0 or len(self._names) >= _MOST_FOLDERS:
                return
            self._names[number] = below
            with os.scandir(self._folder / below) as entries:
                waiting.extend(f"{below}{entry.name}/" for entry in entries if entry.is_dir(follow_symlinks=False))
        self._queue = queue

    def _present(self) -> tuple[int, int]:
        status = self._folder.stat()
        return status.st_dev, status.st_ino

    def _events(self) -> set[str] | None:
        # A fork shares the queue: an event that one process reads is lost for the other.
        if self._queue < 0 or os.getpid() != self._process:
            return None
        found: set[str] = set()
        try:
            if self._present() != self._identity:  # a folder above was put in the place of ours
                return None
            while True:
                data = os.read(self._queue, _READ_BYTES)
                at = 0
                while at < len(data):
                    number, what, _, length = _HEAD.unpack_from(data, at)
                    at += _HEAD.size + length
                    if what & _UNKNOWN or number not in self._names:
                        return None
                    found.add(self._names[number] + os.fsdecode(data[at - length : at].rstrip(b"\0")))
        except BlockingIOError:
            return found
        except OSError:
            return None
