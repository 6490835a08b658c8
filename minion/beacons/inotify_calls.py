"""inotify(7): watches on paths and the events that the kernel has for them.

The standard library does not have it, and libraries for it either hide the kinds of events or need a thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

ACCESS, MODIFY, ATTRIB, CLOSE_WRITE, CLOSE_NOWRITE, OPEN = 0x1, 0x2, 0x4, 0x8, 0x10, 0x20
MOVED_FROM, MOVED_TO, CREATE, DELETE, DELETE_SELF, MOVE_SELF = 0x40, 0x80, 0x100, 0x200, 0x400, 0x800
UNMOUNT, Q_OVERFLOW, IGNORED = 0x2000, 0x4000, 0x8000
ONLYDIR, DONT_FOLLOW, EXCL_UNLINK, ISDIR, ONESHOT = 0x1000000, 0x2000000, 0x4000000, 0x40000000, 0x80000000

EVENTS = {
    "access": ACCESS,
    "attrib": ATTRIB,
    "close_nowrite": CLOSE_NOWRITE,
    "close_write": CLOSE_WRITE,
    "create": CREATE,
    "delete": DELETE,
    "delete_self": DELETE_SELF,
    "ignored": IGNORED,
    "modify": MODIFY,
    "move_self": MOVE_SELF,
    "moved_from": MOVED_FROM,
    "moved_to": MOVED_TO,
    "open": OPEN,
    "unmount": UNMOUNT,
}
"""Salt's names of events, which are the kernel's."""

FLAGS = {"dont_follow": DONT_FOLLOW, "excl_unlink": EXCL_UNLINK, "oneshot": ONESHOT, "onlydir": ONLYDIR}
"""Salt's names of what else a mask may say."""

_NAMES = {mask: f"IN_{name.upper()}" for name, mask in EVENTS.items()} | {Q_OVERFLOW: "IN_Q_OVERFLOW"}
_HEAD = struct.Struct("iIII")
_READ = 64 * 1024


class Happened(NamedTuple):
    """One event of the kernel."""

    watch: int
    mask: int
    name: str
    """Of what is in a watched folder; empty: of what is watched itself."""


def change_name(mask: int) -> str:
    """The event as Salt names it: `IN_CREATE`, `IN_CREATE|IN_ISDIR`."""
    name = _NAMES.get(mask & 0xFFFF & ~ISDIR, f"{mask:#x}")
    return f"{name}|IN_ISDIR" if mask & ISDIR else name


class Inotify:
    """One queue of the kernel."""

    def __init__(self) -> None:
        """Raises OSError."""
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self._checked(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))

    def add(self, path: str, mask: int) -> int:
        """Watch a path; the number of the watch. Raises OSError."""
        return self._checked(self._libc.inotify_add_watch(self.fd, os.fsencode(path), ctypes.c_uint32(mask)))

    def remove(self, watch: int) -> None:
        """Watch it no more."""
        self._libc.inotify_rm_watch(self.fd, watch)

    def read(self) -> Iterator[Happened]:
        """What has happened."""
        while True:
            try:
                data = os.read(self.fd, _READ)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                watch, mask, _, size = _HEAD.unpack_from(data, at)
                at += _HEAD.size
                yield Happened(watch, mask, os.fsdecode(data[at : at + size].rstrip(b"\0")))
                at += size

    def close(self) -> None:
        """Give the queue back."""
        with contextlib.suppress(OSError):
            os.close(self.fd)

    def _checked(self, answer: int) -> int:
        if answer < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return answer
