"""The execution module `lvm`: physical volumes, volume groups, logical volumes.

Behaviour: doc/ref/modules/all/salt.modules.linux_lvm. What LVM refuses is an error, with its words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from minion.arguments.types import CommaList, Ignored, NumberOrText, Value
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers.storage import lvm
from minion.providers.storage.lvm import LvOptions, LvSize, NewVolume, PvOptions, VgOptions

Quietly = Annotated[Value, Ignored("what is not there is an empty answer, and no error")]

_PV = (
    "Physical Volume Device", "Volume Group Name", "Physical Volume Size (kB)", "Internal Physical Volume Number",
    "Physical Volume Status", "Physical Volume (not) Allocatable", "Current Logical Volumes Here",
    "Physical Extent Size (kB)", "Total Physical Extents", "Free Physical Extents", "Allocated Physical Extents",
)  # fmt: skip
_VG = (
    "Volume Group Name", "Volume Group Access", "Volume Group Status", "Internal Volume Group Number",
    "Maximum Logical Volumes", "Current Logical Volumes", "Open Logical Volumes", "Maximum Logical Volume Size",
    "Maximum Physical Volumes", "Current Physical Volumes", "Actual Physical Volumes", "Volume Group Size (kB)",
    "Physical Extent Size (kB)", "Total Physical Extents", "Allocated Physical Extents", "Free Physical Extents",
    "UUID",
)  # fmt: skip
_LV = (
    "Logical Volume Name", "Volume Group Name", "Logical Volume Access", "Logical Volume Status",
    "Internal Logical Volume Number", "Open Logical Volumes", "Logical Volume Size",
    "Current Logical Extents Associated", "Allocated Logical Extents", "Allocation Policy", "Read Ahead Sectors",
    "Major Device Number", "Minor Device Number",
)  # fmt: skip


def version(context: Context) -> str:
    """Version of LVM."""
    return fullversion(context)["LVM version"]


def fullversion(context: Context) -> dict[str, str]:
    """Versions of LVM, its library, and what of it the kernel has."""
    done = context.machine.query(["lvm", "version"])
    if done.returncode == 127:
        raise CallFailed("There is no lvm program: install the package lvm2")
    pairs = (line.partition(":") for line in done.stdout.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def pvdisplay(context: Context, pvname: str = "", real: bool = False, quiet: Quietly = False) -> dict[str, Any]:
    """What LVM says of a physical volume, or of all; with `real` by the device behind a link."""
    found = _displayed(context, "pvdisplay", pvname, _PV)
    if not real:
        return found
    paths = {name: context.machine.query(["readlink", "-f", name]).stdout.strip() for name in found}
    return {paths[name]: {**one, "Real Physical Volume Device": paths[name]} for name, one in found.items()}


def vgdisplay(context: Context, vgname: str = "", quiet: Quietly = False) -> dict[str, Any]:
    """What LVM says of a volume group, or of all."""
    return _displayed(context, "vgdisplay", vgname, _VG)


def lvdisplay(context: Context, lvname: str = "", quiet: Quietly = False) -> dict[str, Any]:
    """What LVM says of a logical volume, or of all."""
    return _displayed(context, "lvdisplay", lvname, _LV)


def pvcreate(context: Context, devices: CommaList, override: bool = True, *, options: PvOptions) -> bool:
    """Have devices be physical volumes; those that are stay as they are, or fail without `override`."""
    there = [one for one in devices if lvm.pv_group(context.machine, one) is not None]
    if there and not override:
        raise CallFailed(f'Device "{there[0]}" is already an LVM physical volume.')
    if new := [one for one in devices if one not in there]:
        lvm.create_pv(context.machine, new, options)
    return True


def pvremove(context: Context, devices: CommaList, override: bool = True, force: bool = True) -> bool:
    """Have devices be no physical volumes."""
    return _told_each(context, "pvremove", devices, override, force)


def pvresize(context: Context, devices: CommaList, override: bool = True, force: bool = True) -> bool:
    """Have physical volumes be as large as their devices."""
    return _told_each(context, "pvresize", devices, override, force)


def vgcreate(context: Context, vgname: str, devices: CommaList, *, options: VgOptions) -> dict[str, Any]:
    """Make a volume group."""
    lvm.create_vg(context.machine, vgname, devices, options)
    return {**vgdisplay(context, vgname), "Output from vgcreate": f'Volume group "{vgname}" successfully created'}


def vgextend(context: Context, vgname: str, devices: CommaList, force: bool = False) -> dict[str, Any]:
    """Add devices to a volume group."""
    lvm.tell(context.machine, "vgextend", "--yes" if force else "-qq", lvm.checked(vgname), *devices)
    return {"Output from vgextend": f'Volume group "{vgname}" successfully extended'}


def vgremove(context: Context, vgname: str, force: bool = True) -> str:
    """Take a volume group away, with its logical volumes when `force`."""
    lvm.tell(context.machine, "vgremove", "--yes" if force else "-qq", lvm.checked(vgname))
    return f'Volume group "{vgname}" successfully removed'


def lvcreate(
    context: Context, lvname: str, vgname: str, size: NumberOrText | None = None, extents: NumberOrText | None = None,
    snapshot: str | None = None, pv: str | None = None, thinvolume: bool = False, thinpool: bool = False,
    force: bool = False, *, options: LvOptions,
) -> dict[str, Any]:  # fmt: skip
    """Make a logical volume; with `snapshot` a snapshot of this one."""
    made = NewVolume(lvname, vgname, LvSize.of(size, extents), snapshot, pv or "", thinvolume, thinpool, force)
    lvm.tell(context.machine, *made.command(options))
    shown = lvdisplay(context, f"/dev/{vgname.split('/')[0]}/{lvname}")
    return {**shown, "Output from lvcreate": f'Logical volume "{lvname}" created.'}


def lvremove(context: Context, lvname: str, vgname: str, force: bool = True) -> str:
    """Take a logical volume away."""
    lvm.tell(context.machine, "lvremove", "--yes" if force else "-qq", f"{lvm.checked(vgname)}/{lvname}")
    return f'Logical volume "{lvname}" successfully removed'


def lvresize(
    context: Context, size: str | None = None, lvpath: str | None = None, extents: str | None = None,
    force: bool = False, resizefs: bool = False,
) -> dict[str, str]:  # fmt: skip
    """Have a logical volume be this large, or larger or smaller by this (`+12M`)."""
    _resize(context, "lvresize", "--force" if force else "-qq", size, lvpath, extents, resizefs)
    return {"Output from lvresize": f'Logical volume "{lvpath}" successfully resized.'}


def lvextend(
    context: Context, size: str | None = None, lvpath: str | None = None, extents: str | None = None,
    force: bool = False, resizefs: bool = False,
) -> dict[str, str]:  # fmt: skip
    """Have a logical volume be larger."""
    _resize(context, "lvextend", "--yes" if force else "-qq", size, lvpath, extents, resizefs)
    return {"Output from lvextend": f'Logical volume "{lvpath}" successfully extended.'}


def _resize(
    context: Context, program: str, sign: str, size: str | None, path: str | None, extents: str | None, resizefs: bool
) -> None:
    if bool(size) == bool(extents):
        raise CallFailed("Error: Please specify one of size and extents")
    words = ["-L", str(size)] if size else ["-l", str(extents)]
    lvm.tell(context.machine, program, sign, *(["--resizefs"] if resizefs else []), *words, lvm.checked(path or ""))


def _told_each(context: Context, program: str, devices: Sequence[str], override: bool, force: bool) -> bool:
    there = [one for one in devices if lvm.pv_group(context.machine, one) is not None]
    if not override and (strange := [one for one in devices if one not in there]):
        raise CallFailed(f"{strange[0]} is not a physical volume")
    if there:
        lvm.tell(context.machine, program, "--yes" if force else "-qq", *there)
    return True


def _displayed(context: Context, program: str, name: str, titles: Sequence[str]) -> dict[str, Any]:
    done = context.machine.query([program, "-c", *([lvm.checked(name)] if name else [])])
    if done.returncode == 127:
        raise CallFailed(f"There is no {program} program: install the package lvm2")
    if done.returncode != 0:
        return {}
    rows = [line.strip().split(":") for line in done.stdout.splitlines() if line.count(":") >= len(titles) - 1]
    return {row[0]: dict(zip(titles, row, strict=False)) for row in rows}


FUNCTIONS: Mapping[str, Any] = {
    "fullversion": fullversion,
    "lvcreate": lvcreate,
    "lvdisplay": lvdisplay,
    "lvextend": lvextend,
    "lvremove": lvremove,
    "lvresize": lvresize,
    "pvcreate": pvcreate,
    "pvdisplay": pvdisplay,
    "pvremove": pvremove,
    "pvresize": pvresize,
    "version": version,
    "vgcreate": vgcreate,
    "vgdisplay": vgdisplay,
    "vgextend": vgextend,
    "vgremove": vgremove,
}
