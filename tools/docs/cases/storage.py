"""States of disks: none has a case that makes devices; one looks."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_LVM = ("lv_absent", "lv_present", "pv_absent", "pv_present", "vg_absent", "vg_present")
_DEVICE = "needs a device of its own; tried on loop devices"

CASES: tuple[Case, ...] = (Case(fun="disk.status", name="/", arguments={"maximum": "100%"}),)
WITHOUT: Mapping[str, str] = {
    "blockdev.formatted": _DEVICE,
    "blockdev.tuned": _DEVICE,
    "quota.mode": "needs a kernel with quotas; tried on stand-ins",
    **{f"lvm.{fun}": _DEVICE for fun in _LVM},
}
