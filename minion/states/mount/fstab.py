"""mount.fstab_present and mount.fstab_absent: lines of fstab, whatever is mounted.

Behaviour: doc/ref/states/all/salt.states.mount. Other lines, comments among them, stay as they are.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Annotated, TypedDict, Unpack

from minion.arguments.types import Ignored, Texts
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, Value
from minion.providers.mounts import encoded

FSTAB = "/etc/fstab"
_MOUNT_BY = ("label", "uuid", "partlabel", "partuuid")
FIELDS = ("device", "name", "fstype", "opts", "dump", "pass_num")
"""Salt's names of the six fields, which `match_on` uses."""


class _FstabPresentUnused(TypedDict, total=False):
    """Arguments of Salt's mount.fstab_present that are ignored or refused."""

    fs_mount: Annotated[Value, Ignored("the state writes fstab and mounts nothing")]


def fstab_present(
    machine: Reader,
    name: str,
    *,
    fs_file: str,
    fs_vfstype: str,
    fs_mntops: Texts = ("defaults",),
    fs_freq: int = 0,
    fs_passno: int = 0,
    mount_by: str | None = None,
    config: str = FSTAB,
    mount: bool = True,
    match_on: Texts = ("auto",),
    not_change: bool = False,
    **_: Unpack[_FstabPresentUnused],
) -> Plan:
    """fstab has this line, and a new one is mounted (`mount`); with `not_change`, one that differs stays."""
    old = fstab_text(machine, config)
    entry = [
        encoded(_device(machine, name, mount_by)),
        encoded(fs_file if fs_file == "none" else posixpath.normpath(fs_file)),
        encoded(fs_vfstype),
        encoded(",".join(fs_mntops)),
        str(fs_freq),
        str(fs_passno),
    ]
    keys = _keys(match_on, entry)
    found = _matching(old, entry, keys)
    if found is not None and (found == entry or not_change):
        return Plan(
            comment=f"{fs_file} entry was already in {config}.", test_comment=f"{fs_file} entry is already in {config}."
        )
    new = ended(without(old, found)) + "\t".join(entry) + "\n"
    words = ("written", "added", "new") if found is None else ("updated", "updated", "change")
    write = Change(key="persist", reported=words[2], act=lambda machine: machine.write(config, new.encode()))
    would, done = f"{fs_file} entry will be {words[0]} in {config}.", f"{fs_file} entry {words[1]} in {config}."
    if not mount or found is not None or entry[1] == "none":
        return Plan(changes=(write,), pending=would, done=done)
    point = posixpath.normpath(fs_file)

    def mount_it(machine: Machine) -> None:
        asked = machine.run(["mount", *([] if config == FSTAB else ["-T", config]), point])
        if asked.returncode != 0:
            raise StateFailed(f"{done}\nError while mounting {point}: {asked.stderr.strip()}", {"persist": words[2]})

    return Plan(
        changes=(write, Change(key="", act=mount_it)),
        pending=f"{would}\nWill mount {name} on {fs_file}",
        done=f"{done}\nMounted {name} on {fs_file}",
    )


def fstab_absent(machine: Reader, name: str, *, fs_file: str, mount_by: str | None = None, config: str = FSTAB) -> Plan:
    """fstab has no line of this device and mount point."""
    old = fstab_text(machine, config) if machine.stat(config) is not None else ""
    entry = [encoded(_device(machine, name, mount_by)), encoded(posixpath.normpath(fs_file))]
    found = _matching(old, entry, ("device", "name"))
    if found is None:
        return Plan(comment=f"{fs_file} entry is already missing in {config}.")
    new = without(old, found)
    return Plan(
        changes=(Change(key="persist", reported="removed", act=lambda machine: machine.write(config, new.encode())),),
        pending=f"{fs_file} entry will be removed from {config}.",
        done=f"{fs_file} entry removed from {config}.",
    )


def fstab_text(machine: Reader, config: str) -> str:
    """What the file holds; StateFailed when there is none."""
    if machine.stat(config) is None:
        raise StateFailed(f'Bad config file "{config}"')
    return machine.read(config).decode("utf-8", "surrogateescape")


def entries(text: str) -> list[list[str]]:
    """The lines that mount something, in fields."""
    split = (line.split() for line in text.splitlines() if not line.lstrip().startswith("#"))
    return [fields for fields in split if len(fields) >= 3]


def whole(fields: Sequence[str]) -> list[str]:
    """Six fields; the last ones have values that fstab(5) gives them."""
    return [*fields, *("defaults", "0", "0")[max(len(fields) - 3, 0) :]][:6]


def without(text: str, fields: Sequence[str] | None) -> str:
    """The text less the lines with exactly these fields."""
    if fields is None:
        return text
    return "".join(
        line
        for line in text.splitlines(keepends=True)
        if line.lstrip().startswith("#") or len(line.split()) < 3 or whole(line.split()) != list(fields)
    )


def ended(text: str) -> str:
    """The text with an end of its last line."""
    return text + "\n" if text and not text.endswith("\n") else text


def _keys(match_on: Sequence[str], entry: Sequence[str]) -> tuple[str, ...]:
    """The fields by which a line is found: of a swap or of several devices in one place, the device."""
    if list(match_on) == ["auto"]:
        is_by_device = entry[2] in ("swap", "glusterfs", "ceph", "fuse.bind") or entry[1] == "none"
        return ("device",) if is_by_device else ("name",)
    strange = [one for one in match_on if one not in FIELDS]
    if strange:
        raise StateFailed(f"match_on must be auto, or of {', '.join(FIELDS)}; not {strange[0]!r}")
    return tuple(match_on)


def _matching(text: str, entry: Sequence[str], keys: Sequence[str]) -> list[str] | None:
    wanted = dict(zip(FIELDS, entry, strict=False))
    for fields in entries(text):
        have: Mapping[str, str] = dict(zip(FIELDS, whole(fields), strict=True))
        if all(have[key] == wanted[key] for key in keys):
            return whole(fields)
    return None


def _device(machine: Reader, name: str, mount_by: str | None) -> str:
    """How the device stands in fstab: as it is given, or by its label or UUID, which blkid knows."""
    if mount_by is None or mount_by == "device" or "=" in name:
        return name
    if mount_by not in _MOUNT_BY:
        raise StateFailed(f"mount_by must be device or one of {', '.join(_MOUNT_BY)}, not {mount_by!r}")
    kind = mount_by.upper()
    asked = machine.query(["blkid", "-s", kind, "-o", "value", name])
    if asked.returncode != 0 or not asked.stdout.strip():
        raise StateFailed(f"{name} cannot be found by {mount_by}: blkid knows none of it")
    return f"{kind}={asked.stdout.strip()}"
