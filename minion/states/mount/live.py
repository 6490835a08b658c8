"""What is mounted now, and how it differs from what a state asks for.

Called by `minion.states.mount.state`. Behaviour: doc/ref/states/all/salt.states.mount, with one difference: an option
counts as missing only when the kernel would show it. Many are never shown, and to mount anew for these would not end.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from minion.machine.failure import StateFailed
from minion.machine.plan import Reader, Value
from minion.machine.timed_regex import TimedRegex
from minion.providers.mounts import Mount, mounts

_FLAGS = frozenset(
    ("dirsync", "lazytime", "noatime", "nodev", "nodiratime", "noexec", "nosuid", "nosymfollow", "ro", "sync")
)
"""Shown whenever they are in force (mount(8), options that do not depend on the file system)."""
_OPPOSITES = {
    "async": "sync", "atime": "noatime", "dev": "nodev", "diratime": "nodiratime", "exec": "noexec", "rw": "ro",
    "suid": "nosuid", "symfollow": "nosymfollow",
}  # fmt: skip
_NEVER_SHOWN = frozenset(
    ("_netdev", "auto", "bg", "bind", "defaults", "delay_connect", "fg", "group", "intr", "loop", "noauto",
     "nobootwait", "nofail", "nointr", "nonempty", "nouser", "owner", "rbind", "reconnect", "soft",
     "transform_symlinks", "user", "users")
)  # fmt: skip
"""Meant for mount(8), or for the boot."""
_TRANSLATED = {"tcp": "proto=tcp", "udp": "proto=udp"}
_SIZE = re.compile(r"(\d+)([kmg])")
_KILOBYTES = {"k": 1, "m": 1024, "g": 1024 * 1024}
_ALWAYS_SHOWN = {"tmpfs": ("nr_inodes", "size")}
"""Options with a value that a file system shows whenever they were given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """What the author wants left out of the comparison."""

    options: Collection[str] = ()
    keys: Collection[str] = ()
    of_filesystem: Collection[str] = ()
    translated: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(
        fstype: str,
        options: Collection[str],
        hidden: Collection[str],
        keys: Collection[str],
        filesystems: Mapping[str, Value] | None,
        translated: Mapping[str, Value] | None,
    ) -> Leave:
        """From the arguments `extra_mount_*` and `hidden_opts`."""
        more = (filesystems or {}).get(fstype, ())
        return Leave(
            options={*options, *hidden},
            keys=set(keys),
            of_filesystem=set(map(str, more)) | ({"size"} if fstype == "ramfs" else set()),
            translated={**_TRANSLATED, **(translated or {})},
        )


def live(machine: Reader) -> dict[str, Mount]:
    """Mount point → what is mounted there; of several the last, which covers the others."""
    return {one.point: one for one in mounts(machine)}


def options_missing(
    machine: Reader, there: Mount, wanted: Sequence[str], before: Sequence[str], leave: Leave
) -> list[str]:
    """The options that are not in force; those that fstab (`before`) did not have count, whether shown or not."""
    asked = [leave.translated.get(one, one) for one in wanted]
    compared = [
        one
        for one in asked
        if one not in leave.options and one.partition("=")[0] not in (*leave.keys, *leave.of_filesystem)
    ]
    return sorted(one for one in compared if _is_missing(machine, there, one, before))


def _is_missing(machine: Reader, there: Mount, option: str, before: Sequence[str]) -> bool:
    in_force = {*there.options, *there.super_options}
    if option in in_force:
        return False
    if option in _FLAGS:
        return True
    if option in _OPPOSITES:
        return _OPPOSITES[option] in in_force
    key, equals, value = option.partition("=")
    if not equals:
        return option not in before and option not in _NEVER_SHOWN
    shown = [one.partition("=")[2] for one in in_force if one.startswith(f"{key}=")]
    if not shown:
        return key in _ALWAYS_SHOWN.get(there.fstype, ())
    return _comparable(machine, key, value) not in [_comparable(machine, key, one) for one in shown]


def _comparable(machine: Reader, key: str, value: str) -> str:
    size = _SIZE.fullmatch(value.lower())
    if size:
        return f"{int(size[1]) * _KILOBYTES[size[2]]}k"
    if key in ("mode", "umask", "fmask", "dmask"):
        return value.lstrip("0") or "0"
    if key in ("uid", "gid") and not value.isdigit():
        asked = machine.query(["getent", "passwd" if key == "uid" else "group", value])
        fields = asked.stdout.strip().split(":")
        return fields[2] if asked.returncode == 0 and len(fields) > 2 else value
    return value


def is_device(machine: Reader, there: Mount, device: str, options: Sequence[str], mounts: Mapping[str, Mount]) -> bool:
    """Whether what is mounted is what the state names."""
    if "bind" in options or "rbind" in options:
        return _is_bound(machine, there, device, mounts)
    wanted = re.sub(r"^\w+#", "", device)
    if wanted == there.device:
        return True
    kind, equals, value = wanted.partition("=")
    if equals and kind.upper() in ("UUID", "LABEL", "PARTUUID", "PARTLABEL"):
        wanted = f"/dev/disk/by-{kind.lower()}/{value.strip(chr(34))}"
    if not wanted.startswith("/"):
        return False
    real = _real(machine, wanted)
    return real in (there.device, _real(machine, there.device), _backing(machine, there.device))


def _is_bound(machine: Reader, there: Mount, folder: str, mounts: Mapping[str, Mount]) -> bool:
    real = _real(machine, folder)
    below = [point for point in mounts if real == point or real.startswith(f"{point.rstrip('/')}/")]
    if not below:
        return False
    point = max(below, key=len)
    inside = posixpath.normpath(f"{mounts[point].root.rstrip('/')}/{posixpath.relpath(real, point)}")
    return (mounts[point].number, inside) == (there.number, there.root)


def _real(machine: Reader, path: str) -> str:
    if not path.startswith("/"):
        return path
    asked = machine.query(["readlink", "-f", "--", path])
    return asked.stdout.rstrip("\n") if asked.returncode == 0 and asked.stdout.strip() else path


def _backing(machine: Reader, device: str) -> str:
    """The file behind a loop device."""
    if not device.startswith("/dev/loop"):
        return ""
    place = f"/sys/block/{device.removeprefix('/dev/')}/loop/backing_file"
    return machine.read(place).decode("utf-8", "surrogateescape").rstrip("\n") if machine.stat(place) else ""


def ignored_device(there: Mount, patterns: Collection[str]) -> bool:
    """Whether the author does not mind this device (`device_name_regex`)."""
    try:
        return any(TimedRegex(one).match(there.device) for one in patterns)
    except re.error as error:
        raise StateFailed(f"device_name_regex: {error}") from None
