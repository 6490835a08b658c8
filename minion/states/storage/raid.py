"""The state module `raid`: software RAID by mdadm.

Behaviour: doc/ref/states/all/salt.states.mdadm_raid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from minion.arguments.types import AnyValue, NumberOrText, Texts, ToCome
from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.storage import raids

_BRINGING = ("blockdev", "cmd", "lvm", "module", "pkg", "raid")
"""State modules that may bring a device, or mdadm."""


class _Devices(NamedTuple):
    """The devices of a state, by what is on them."""

    members: list[str]
    """Of the array, whether it runs or not."""
    uuid: str
    """That they are of; empty where there are none."""
    new: list[str]
    missing: list[str]


def present(
    machine: Reader, name: str, *, level: NumberOrText, devices: Texts, to_come: ToCome = frozenset(),
    **kwargs: AnyValue,
) -> Plan:  # fmt: skip
    """The array is there: put together again from what is on its devices, or made new, and has the new devices added.

    What is on the devices of a new one is lost. Of one that is there neither level nor options are changed. Other
    arguments are options of mdadm: `chunk: 256`, `spare-devices: 1`.
    """
    there = raids.array_of(machine, raids.checked(name))
    found = _looked_at(machine, devices, to_come)
    if there is not None and found.uuid and found.uuid != there.properties.get("uuid"):
        uuid = there.properties.get("uuid")
        raise StateFailed(f"Devices MD_UUIDs: {found.uuid} differs from present RAID uuid {uuid}.")
    if there is not None and not there.runs:
        raise StateFailed(f"Raid {name} is there, and does not run: too few of its devices are")
    absent = f" Missing devices: {found.missing}" if found.missing else ""
    if there is None and not found.members:
        if not found.new:
            raise StateFailed(f"All devices are missing: {found.missing}.")
        words = raids.creation(name, level, [*found.new, *(["missing"] * len(found.missing))], kwargs)
        return Plan(
            changes=(_made(name, words, "created"),),
            pending=f"Raid will be created with: {' '.join(words)}{absent}",
            done=f"Raid {name} created.{absent}",
        )
    changes, pending, done = [], f"Raid {name} already present.", f"Raid {name} already present."
    if there is None:
        words = raids.assembly(name, found.members, kwargs)
        changes = [_made(name, words, "assembled")]
        pending, done = f"Raid will be assembled with: {words}", f"Raid {name} assembled."
    if found.new:
        changes.append(_added(name, found.new))
        pending += f" New devices will be added: {found.new}"
        done += "".join(f" Added new device {device} to {name}.\n" for device in found.new)
    return Plan(changes=tuple(changes), comment=f"{done}{absent}", pending=f"{pending}{absent}", done=f"{done}{absent}")


def absent(machine: Reader, name: str) -> Plan:
    """There is no such array: it is stopped, and its devices and mdadm's configuration know nothing of it."""
    there = raids.array_of(machine, raids.checked(name))
    if there is None:
        return Plan(comment=f"Raid {name} already absent")

    def act(machine: Machine) -> None:
        try:
            raids.destroy(machine, there.device)
        except StateFailed as failed:
            raise StateFailed(f"Raid {name} failed to be destroyed: {failed}") from failed

    return Plan(
        changes=(Change(key=name, reported="destroyed", act=act),),
        pending=f"Raid {name} is set to be destroyed",
        done=f"Raid {name} has been destroyed",
    )


def _looked_at(machine: Reader, devices: Texts, to_come: ToCome) -> _Devices:
    by_uuid: dict[str, list[str]] = {}
    new, missing = [], []
    for device in devices:
        if device == "missing" or machine.stat(device) is None:
            missing.append(device)
        elif uuid := raids.examined(machine, device).get("MD_UUID"):
            by_uuid.setdefault(uuid, []).append(device)
        else:
            new.append(device)
    by = next((f"{module} {name}" for module, name in sorted(to_come) if module in _BRINGING), "")
    if by and any(device != "missing" for device in missing):
        raise ContentUnknown(f"Missing devices: {missing}. An earlier state of this run ({by}) may bring them")
    if len(by_uuid) > 1:
        raise StateFailed(f"Devices are a mix of RAID constituents with multiple MD_UUIDs: {sorted(by_uuid)}.")
    [(uuid, members)] = by_uuid.items() or [("", [])]
    return _Devices(members, uuid, new, missing)


def _made(name: str, words: list[str], verb: str) -> Change:
    def act(machine: Machine) -> None:
        try:
            said = raids.told(machine, words)
        except StateFailed as failed:
            raise StateFailed(f"Raid {name} failed to be {verb}: {failed}") from failed
        if raids.array_of(machine, name) is None:
            raise StateFailed(f"Raid {name} failed to be {verb}: {said}")
        raids.save(machine)

    return Change(key="device", reported=name, act=act)


def _added(name: str, devices: list[str]) -> Change:
    def act(machine: Machine) -> None:
        for device in devices:
            try:
                raids.add(machine, name, device)
            except StateFailed as failed:
                raise StateFailed(f"Unable to add {device} to {name}: {failed}") from failed

    return Change(key="added", reported=devices, act=act)


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
