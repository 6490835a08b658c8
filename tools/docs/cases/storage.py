"""States of disks: none has a case that makes devices; one looks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.docs.cases.case import BESIDE, Case

_LOOP = "/dev/loop97"
_DISK = (
    f"test -b {_LOOP} || mknod -m 660 {_LOOP} b 7 97",
    f"truncate -s 300M {BESIDE}/disk && losetup {_LOOP} {BESIDE}/disk",
)
_LVM_CONF = (
    "global { activation = 0 }\nactivation { udev_sync = 0 udev_rules = 0 }\nbackup { backup = 0 archive = 0 }\n"
    f'devices {{ filter = [ "a|^{_LOOP}$|", "r|.*|" ] }}\n'
)


def _disk(fun: str, name: str, *commands: str, **arguments: Any) -> Case:
    """A case on a loop device, on which these commands were carried out."""
    return Case(
        fun=fun,
        name=name,
        arguments=arguments,
        files={"lvm.conf": _LVM_CONF},
        before=(*_DISK, *commands),
        after=(f"wipefs -qa {_LOOP}; losetup -d {_LOOP}",),
        environment={"LVM_SYSTEM_DIR": "{top}", "LVM_SUPPRESS_FD_WARNINGS": "1"},
        needs=("lvm2",),
    )


_LVM = ("lv_absent", "lv_present")
_DEVICE = "needs a device of its own; tried on loop devices"

CASES: tuple[Case, ...] = (
    Case(fun="disk.status", name="/", arguments={"maximum": "100%"}),
    _disk("lvm.pv_present", _LOOP),
    _disk("lvm.pv_present", _LOOP, f"pvcreate -q {_LOOP}"),
    _disk("lvm.pv_absent", _LOOP, f"pvcreate -q {_LOOP}"),
    _disk("lvm.vg_present", "salterncase", f"pvcreate -q {_LOOP}", devices=_LOOP),
    _disk("lvm.vg_present", "salterncase", f"vgcreate -q salterncase {_LOOP}", devices=_LOOP),
    _disk("lvm.vg_absent", "salterncase", f"vgcreate -q salterncase {_LOOP}"),
    _disk("blockdev.formatted", _LOOP, fs_type="ext4"),
    _disk("blockdev.formatted", _LOOP, f"mkfs.ext4 -q {_LOOP}", fs_type="ext4"),
    _disk("blockdev.tuned", _LOOP, f"blockdev --setra 256 {_LOOP}", **{"read-ahead": 1024}),
)
WITHOUT: Mapping[str, str] = {
    "quota.mode": "needs a kernel with quotas; tried on stand-ins",
    **{f"raid.{fun}": "needs md of the kernel; tried in a kernel of the test's own" for fun in ("absent", "present")},
    **{f"lvm.{fun}": _DEVICE for fun in _LVM},
}
