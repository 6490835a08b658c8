"""The state module `blockdev`: settings of block devices, and the file systems on them.

Behaviour: doc/ref/states/all/salt.states.blockdev.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from minion.arguments.types import AnyValue, NumberOrText
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.providers.commands import complaint
from minion.states.file.paths import behind, checked

_PROGRAMS = ("/sbin", "/usr/sbin", "/bin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin")
_IN_A_PAGE = 8
"""Sectors: the kernel reads ahead in pages."""


class _Setting(NamedTuple):
    asked: str
    told: str


_NUMBERS = {
    "read-ahead": _Setting("--getra", "--setra"),
    "filesystem-read-ahead": _Setting("--getfra", "--setfra"),
}
_SWITCHES = {"read-only": "--setro", "read-write": "--setrw"}


def tuned(machine: Reader, name: str, **options: AnyValue) -> Plan:
    """The device has these settings: read-ahead, filesystem-read-ahead (sectors), read-only, read-write (True)."""
    _, found = behind(machine, checked(name, "blockdev"))
    if found is None or not stat.S_ISBLK(found.found.st_mode):
        raise StateFailed(f"Changes to {name} cannot be applied. Not a block device.")
    changes = []
    for key, value in options.items():
        if key in _NUMBERS and str(value).isdigit():
            has, wanted = int(_asked(machine, _NUMBERS[key].asked, name)), int(value) // _IN_A_PAGE * _IN_A_PAGE
            if has != wanted:
                changes.append(_told(key, has, wanted, [_NUMBERS[key].told, str(value)], name))
        elif key in _SWITCHES and str(value) == "True":
            on = (_asked(machine, "--getro", name) == "1") == (key == "read-only")
            if not on:
                changes.append(_told(key, False, True, [_SWITCHES[key]], name))
        else:
            raise StateFailed(f"Invalid keyword arguments: {key}={value}")
    return Plan(
        changes=tuple(changes),
        comment=f"Block device {name} already in correct state",
        pending=f"Changes to {name} will be applied ",
        done=f"Block device {name} successfully modified ",
    )


def formatted(
    machine: Reader, name: str, *, fs_type: str = "ext4", force: bool = False, inode_size: NumberOrText | None = None,
    lazy_itable_init: NumberOrText | None = None, fat: NumberOrText | None = None,
) -> Plan:  # fmt: skip
    """The device has a file system of this kind. One of another kind that is there is lost."""
    _, found = behind(machine, checked(name, "blockdev"))
    if found is None:
        raise StateFailed(f"{name} does not exist")
    has = machine.query(["blkid", "-p", "-o", "value", "-s", "TYPE", name]).stdout.strip()
    if has == fs_type:
        return Plan(comment=f"{name} already formatted with {fs_type}")
    if not fs_type.isalnum() or not any(machine.stat(f"{folder}/mkfs.{fs_type}") for folder in _PROGRAMS):
        raise StateFailed(f"Invalid fs_type: {fs_type}")
    words = ["mkfs", "-t", fs_type, *_words(fs_type, force, inode_size, lazy_itable_init, fat), name]

    def act(machine: Machine) -> None:
        done = machine.run(words)
        if done.returncode != 0:
            raise StateFailed(f"Failed to format {name}: {complaint(done)}")

    return Plan(
        changes=(
            Change(key="new", reported=fs_type, act=act),
            Change(key="old", reported=has, act=lambda machine: None),
        ),
        pending=f"Changes to {name} will be applied ",
        done=f"{name} has been formatted with {fs_type}",
    )


def _words(
    fs_type: str, force: bool, inode_size: str | None, lazy_itable_init: str | None, fat: str | None
) -> Sequence[str]:
    words = []
    if fs_type.startswith("ext"):
        words += ["-F"] if force else []
        words += ["-I", inode_size] if inode_size else []
        words += ["-E", f"lazy_itable_init={lazy_itable_init}"] if lazy_itable_init else []
    elif fs_type == "xfs":
        words += ["-f"] if force else []
        words += ["-i", f"size={inode_size}"] if inode_size else []
    elif fs_type.endswith("fat"):
        words += ["-F", fat] if fat else []
    return words


def _asked(machine: Reader, sign: str, name: str) -> str:
    done = machine.query(["blockdev", sign, name])
    if done.returncode != 0:
        raise StateFailed(complaint(done))
    return done.stdout.strip()


def _told(key: str, old: Value, new: Value, words: Sequence[str], name: str) -> Change:
    def act(machine: Machine) -> None:
        done = machine.run(["blockdev", *words, name])
        if done.returncode != 0:
            raise StateFailed(f"Failed to modify block device {name}: {complaint(done)}")

    return Change(key=key, reported=f"Changed from {old} to {new}", act=act)


STATES: Mapping[str, StateFunction] = {"formatted": formatted, "tuned": tuned}
