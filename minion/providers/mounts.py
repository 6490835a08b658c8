"""File systems that are mounted and swap space that is used, as the kernel tells, and the escapes of such tables.

Called by the states and execution functions of `mount` and by `status.diskusage`. proc(5) and fstab(5) write white
space and backslashes within a field as octal escapes: here is the only code that reads or writes these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from minion.machine.plan import Reader

_ESCAPE = re.compile(r"\\([0-7]{3})")
_WHITE_SPACE = re.compile(r"\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A line of mountinfo (proc(5)), without escapes."""

    id: str
    parent: str
    """Id of the mount that this one is in."""
    number: str
    """Major and minor number of the device."""
    root: str
    """The folder of the file system that is to be seen; not `/` where a folder is bound."""
    point: str
    options: tuple[str, ...]
    fstype: str
    device: str
    super_options: tuple[str, ...]
    """Options of the file system, which all its mounts share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """A line of /proc/swaps, without escapes."""

    path: str
    type: str
    size: str
    """In KiB, as `used`."""
    used: str
    priority: str


def mounts(machine: Reader) -> Iterator[Mount]:
    """What is mounted; of several in one place the last covers the others."""
    for line in machine.read("/proc/self/mountinfo").decode("utf-8", "surrogateescape").splitlines():
        words = line.split()
        fstype, device, above = words[words.index("-") + 1 :][:3]
        yield Mount(
            id=words[0],
            parent=words[1],
            number=words[2],
            root=decoded(words[3]),
            point=decoded(words[4]),
            options=tuple(words[5].split(",")),
            fstype=fstype,
            device=decoded(device),
            super_options=tuple(above.split(",")),
        )


def swaps(machine: Reader) -> Iterator[Swap]:
    """The swap space that is used; none where the kernel has no swap."""
    if machine.stat("/proc/swaps") is None:
        return
    for line in machine.read("/proc/swaps").decode("utf-8", "surrogateescape").splitlines()[1:]:
        words = line.split()
        if len(words) > 4:
            yield Swap(path=decoded(words[0]), type=words[1], size=words[2], used=words[3], priority=words[4])


def decoded(field: str) -> str:
    """A field of mountinfo, /proc/mounts, /proc/swaps or fstab without its escapes."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), field)


def encoded(field: str) -> str:
    """A field for fstab. Escapes that its author wrote stay: backslashes are taken as they are."""
    return _WHITE_SPACE.sub(lambda match: f"\\{ord(match[0]):03o}", field)
