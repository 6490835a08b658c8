"""The state module `lvm`: physical volumes, volume groups, logical volumes.

Behaviour: doc/ref/states/all/salt.states.lvm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from minion.arguments.types import CommaList, NumberOrText, ToCome
from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.providers.storage import lvm
from minion.providers.storage.lvm import LvOptions, LvSize, NewVolume, PvOptions, VgOptions


def pv_present(machine: Reader, name: str, *, options: PvOptions, to_come: ToCome = frozenset()) -> Plan:
    """The device is a physical volume. What is on one that is none is lost, unless `force` is false."""
    if lvm.pv_group(machine, name) is not None:
        return Plan(comment=f"Physical Volume {name} already present")
    _need_device(machine, name, to_come)
    return _plan(
        "created", True, lambda machine: lvm.create_pv(machine, [name], options),
        pending=f"Physical Volume {name} is set to be created", done=f"Created Physical Volume {name}",
        failed=f"Failed to create Physical Volume {name}",
    )  # fmt: skip


def pv_absent(machine: Reader, name: str) -> Plan:
    """The device is no physical volume."""
    group = lvm.pv_group(machine, name)
    if group is None:
        return Plan(comment=f"Physical Volume {name} does not exist")
    failed = f"Failed to remove Physical Volume {name}"
    if group:
        raise StateFailed(f"{failed}: it is part of the Volume Group {group}")
    return _plan(
        "removed", True, lambda machine: lvm.tell(machine, "pvremove", "--yes", name),
        pending=f"Physical Volume {name} is set to be removed", done=f"Removed Physical Volume {name}", failed=failed,
    )  # fmt: skip


def vg_present(
    machine: Reader, name: str, *, devices: CommaList = (), options: VgOptions, to_come: ToCome = frozenset()
) -> Plan:  # fmt: skip
    """There is a volume group, and these devices are in it. Others stay."""
    groups = lvm.pv_groups(machine, devices)
    there = name in groups.values() or lvm.vg_extent(machine, name) is not None
    said, new = [f"Volume Group {name} already present"], []
    for device, group in groups.items():
        if group is None:
            _need_device(machine, device, to_come)
        if group == name:
            said.append(f"{device} is part of Volume Group")
        elif group:
            raise StateFailed(f"{said[0]}\n{device} is part of {group}" if there else f"{device} is part of {group}")
        else:
            if group is None and there:
                raise _lacking(f"{said[0]}\npv {device} is not present", to_come)
            new.append(device)
    if there and not new:
        return Plan(comment="\n".join(said))
    if there:
        return Plan(
            changes=tuple(
                Change(key=one, reported=f"added to {name}", act=_extending(name, one)) for one in new
            ),
            pending="\n".join([*said, *(f"{one} is set to be added" for one in new)]),
            done="\n".join(said),
        )  # fmt: skip
    if not new:
        raise StateFailed(f"Failed to create Volume Group {name}: no devices are given")
    return _plan(
        "created", f'Volume group "{name}" successfully created',
        lambda machine: lvm.create_vg(machine, name, new, options),
        pending=f"Volume Group {name} is set to be created", done=f"Created Volume Group {name}",
        failed=f"Failed to create Volume Group {name}",
    )  # fmt: skip


def vg_absent(machine: Reader, name: str) -> Plan:
    """There is no such volume group, and none of its logical volumes."""
    if lvm.vg_extent(machine, name) is None:
        return Plan(comment=f"Volume Group {name} already absent")
    return _plan(
        "removed", f'Volume group "{name}" successfully removed',
        lambda machine: lvm.tell(machine, "vgremove", "--yes", name),
        pending=f"Volume Group {name} is set to be removed", done=f"Removed Volume Group {name}",
        failed=f"Failed to remove Volume Group {name}",
    )  # fmt: skip


def lv_present(
    machine: Reader, name: str, *, vgname: str, size: NumberOrText | None = None, extents: NumberOrText | None = None,
    snapshot: str | None = None, pv: str = "", thinvolume: bool = False, thinpool: bool = False, force: bool = False,
    resizefs: bool = False, options: LvOptions, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """There is a logical volume of this size, in whole extents. One that is too large is made smaller with `force`.

    With `snapshot` it is this snapshot of the volume `name`. A share (`50%FREE`) counts when the volume is made.
    """
    wanted, group = LvSize.of(size, extents), vgname.split("/")[0]
    made = NewVolume(snapshot or name, vgname, wanted, name if snapshot else None, pv, thinvolume, thinpool, force)
    has, extent = lvm.lv_and_extent(machine, group, made.name)
    if extent is None:
        raise _lacking(f"Failed to create Logical Volume {made.name}. Error: there is no group {group}", to_come)
    if has is None:
        words = made.command(options)
        return _plan(
            "created", f'Logical volume "{made.name}" created.', lambda machine: lvm.tell(machine, *words),
            pending=f"Logical Volume {made.name} is set to be created", done=f"Created Logical Volume {made.name}",
            failed=f"Failed to create Logical Volume {made.name}. Error",
        )  # fmt: skip
    target = wanted.wanted(extent)
    if target is None or target == has:
        more = f", {extents} won't be resized." if wanted.extents and target is None else ""
        return Plan(comment=f"Logical Volume {made.name} already present{more}")
    if target < has and not force:
        raise StateFailed("To reduce a Logical Volume option 'force' must be True.")
    path = f"/dev/{group}/{made.name}"
    words = ["lvresize", "--force" if force else "-qq", *(["--resizefs"] if resizefs else []), *wanted.words, path]
    return _plan(
        "resized", f'Logical volume "{path}" successfully resized.', lambda machine: lvm.tell(machine, *words),
        pending=f"Logical Volume {made.name} is set to be resized", done=f"Resized Logical Volume {made.name}",
        failed=f"Failed to resize Logical Volume {made.name}.\nError",
    )  # fmt: skip


def lv_absent(machine: Reader, name: str, *, vgname: str) -> Plan:
    """There is no such logical volume."""
    if lvm.lv_size(machine, vgname, name) is None:
        return Plan(comment=f"Logical Volume {name} already absent")
    return _plan(
        "removed", f'Logical volume "{name}" successfully removed',
        lambda machine: lvm.tell(machine, "lvremove", "--yes", f"{vgname}/{name}"),
        pending=f"Logical Volume {name} is set to be removed", done=f"Removed Logical Volume {name}",
        failed=f"Failed to remove Logical Volume {name}",
    )  # fmt: skip


def _extending(name: str, device: str) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        try:
            lvm.tell(machine, "vgextend", "-qq", name, device)
        except StateFailed as failed:
            raise StateFailed(f"{device} could not be added: {failed}") from failed

    return act


def _need_device(machine: Reader, device: str, to_come: ToCome) -> None:
    lvm.checked(device)
    if machine.stat(device) is None:
        raise _lacking(f"{device} does not exist", to_come)


def _lacking(text: str, to_come: ToCome) -> Exception:
    """What to raise where something is not there: an earlier state of the run may bring it."""
    if by := next((f"{module} {name}" for module, name in sorted(to_come) if module in ("cmd", "lvm", "module")), ""):
        return ContentUnknown(f"{text}. An earlier state of this run ({by}) may bring it")
    return StateFailed(text)


def _plan(key: str, reported: Value, do: Callable[[Machine], None], *, pending: str, done: str, failed: str) -> Plan:
    def act(machine: Machine) -> None:
        try:
            do(machine)
        except StateFailed as error:
            raise StateFailed(f"{failed}: {error}") from error

    return Plan(changes=(Change(key=key, reported=reported, act=act),), pending=pending, done=done)


STATES: Mapping[str, StateFunction] = {
    "lv_absent": lv_absent,
    "lv_present": lv_present,
    "pv_absent": pv_absent,
    "pv_present": pv_present,
    "vg_absent": vg_absent,
    "vg_present": vg_present,
}
