"""Physical volumes, volume groups and logical volumes, as LVM reports and changes them.

Called by the states and the execution module `lvm`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.commands import complaint

_UNITS = {"s": 512, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_WORDS = {"True": "y", "False": "n"}


class PvOptions(NamedTuple):
    """How a device becomes a physical volume: options of pvcreate."""

    force: bool = True
    """Whether what is on the device may be overwritten."""
    metadatasize: str | None = None
    dataalignment: str | None = None
    dataalignmentoffset: str | None = None
    pvmetadatacopies: str | None = None
    metadatacopies: str | None = None
    metadataignore: str | None = None
    restorefile: str | None = None
    norestorefile: bool = False
    labelsector: str | None = None
    setphysicalvolumesize: str | None = None


class VgOptions(NamedTuple):
    """How a volume group is made: options of vgcreate."""

    force: bool = False
    addtag: str | None = None
    alloc: str | None = None
    autobackup: str | None = None
    clustered: str | None = None
    maxlogicalvolumes: str | None = None
    maxphysicalvolumes: str | None = None
    metadatatype: str | None = None
    vgmetadatacopies: str | None = None
    metadatacopies: str | None = None
    physicalextentsize: str | None = None
    zero: str | None = None


class LvOptions(NamedTuple):
    """How a logical volume is made: options of lvcreate."""

    activate: str | None = None
    chunksize: str | None = None
    contiguous: str | None = None
    discards: str | None = None
    stripes: str | None = None
    stripesize: str | None = None
    minor: str | None = None
    persistent: str | None = None
    mirrors: str | None = None
    nosync: bool = False
    noudevsync: bool = False
    monitor: str | None = None
    ignoremonitoring: bool = False
    permission: str | None = None
    poolmetadatasize: str | None = None
    readahead: str | None = None
    regionsize: str | None = None
    type: str | None = None
    virtualsize: str | None = None
    zero: str | None = None


class LvSize(NamedTuple):
    """How large a logical volume shall be: bytes, or extents, or a share as `50%FREE`."""

    size: int | None = None
    extents: str | None = None

    @classmethod
    def of(cls, size: str | None, extents: str | None) -> LvSize:
        """From `10G`, or `100`, in megabytes; StateFailed for what is no size."""
        if size and extents:
            raise StateFailed("Only one of extents or size can be specified.")
        if extents and not re.fullmatch(r"\d+(%[A-Za-z]+)?", extents):
            raise StateFailed(f"Extents {extents} are invalid: a number, or such as 50%FREE")
        if not size:
            return cls(None, extents or None)
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([skmgtp]?)(?:i?b)?", size.lower())
        if found is None:
            raise StateFailed(f"Size {size} is invalid.")
        sectors = math.ceil(float(found[1]) * _UNITS[found[2] or "m"] / _UNITS["s"])
        return cls(sectors * _UNITS["s"])

    @property
    def words(self) -> list[str]:
        """In words of lvcreate and lvresize."""
        return ["-L", f"{self.size}b"] if self.size else ["-l", str(self.extents)]

    def wanted(self, extent: int) -> int | None:
        """Bytes in whole extents; None for a share, which counts when the volume is made."""
        if self.size is not None:
            return math.ceil(self.size / extent) * extent
        return int(self.extents) * extent if self.extents and self.extents.isdigit() else None


def pv_group(machine: Reader, device: str) -> str | None:
    """The volume group of a physical volume, empty where it is in none; None where the device is no such volume."""
    found = _report(machine, "pvs", "pv_name,vg_name", device)
    return None if found is None else str(found[0]["vg_name"])


def pv_groups(machine: Reader, devices: Sequence[str]) -> dict[str, str | None]:
    """The same of several devices, at once where all of them are such volumes."""
    rows = _report(machine, "pvs", "pv_name,vg_name", *devices) if len(devices) > 1 else None
    found = {str(row["pv_name"]): str(row["vg_name"]) for row in rows or ()}
    return {each: found[each] if each in found else pv_group(machine, each) for each in devices}


def vg_extent(machine: Reader, name: str) -> int | None:
    """Bytes of an extent of a volume group; None where there is no such group."""
    found = _report(machine, "vgs", "vg_extent_size", name)
    return None if found is None else int(found[0]["vg_extent_size"])


def lv_size(machine: Reader, group: str, name: str) -> int | None:
    """Bytes of a logical volume; None where there is none."""
    found = _report(machine, "lvs", "lv_size", f"{group}/{name}")
    return None if found is None else int(found[0]["lv_size"])


def lv_and_extent(machine: Reader, group: str, name: str) -> tuple[int | None, int | None]:
    """Bytes of a logical volume, and of an extent of its group; None where there is none of the kind."""
    found = _report(machine, "lvs", "lv_size,vg_extent_size", f"{group}/{name}")
    if found is None:
        return None, vg_extent(machine, group)
    return int(found[0]["lv_size"]), int(found[0]["vg_extent_size"])


def create_pv(machine: Machine, devices: Sequence[str], options: PvOptions) -> None:
    """Have devices be physical volumes."""
    tell(machine, "pvcreate", *_sure(options.force), *_options(options), *devices)


def create_vg(machine: Machine, name: str, devices: Sequence[str], options: VgOptions) -> None:
    """Make a volume group of devices, which become physical volumes where they are none."""
    tell(machine, "vgcreate", *_sure(options.force), *_options(options), checked(name), *devices)


class NewVolume(NamedTuple):
    """A logical volume that is to be made."""

    name: str
    group: str
    """With the pool, as `group/pool`, of a thin volume."""
    size: LvSize
    origin: str | None = None
    """Of a snapshot."""
    pv: str = ""
    thinvolume: bool = False
    thinpool: bool = False
    force: bool = False

    def command(self, options: LvOptions) -> list[str]:
        """The words that make it. StateFailed where they say too little."""
        if self.thinvolume and self.thinpool:
            raise StateFailed("Error: Please set only one of thinvolume or thinpool to True")
        if self.thinvolume and self.size.extents:
            raise StateFailed("Error: Thin volume size cannot be specified as extents")
        if self.size == LvSize():
            raise StateFailed("Error: Either size or extents must be specified")
        kind = ["--thin", "-n"] if self.thinvolume else ["--thinpool"] if self.thinpool else ["-n"]
        where = ["-s", f"{self.group}/{self.origin}"] if self.origin else [checked(self.group)]
        size = ["-V", f"{self.size.size}b"] if self.thinvolume else self.size.words
        words = ["lvcreate", *_sure(self.force), *kind, checked(self.name), *where, *size]
        return [*words, *_options(options), *([self.pv] if self.pv else [])]


def tell(machine: Machine, *words: str) -> None:
    """Have a program of LVM change something; StateFailed with its complaint."""
    done = machine.run(list(words))
    if done.returncode == 127:
        raise _absent_program(words[0])
    if done.returncode != 0:
        raise StateFailed(_complaint(done))


def checked(name: str) -> str:
    """StateFailed for what LVM would take for an option."""
    if not name or name.startswith("-"):
        raise StateFailed(f"{name!r} cannot be the name of a volume or a group")
    return name


def _report(machine: Reader, program: str, fields: str, *names: str) -> list[dict[str, Any]] | None:
    """The rows about volumes or groups; None where LVM does not know one of them."""
    words = [program, "--reportformat", "json", "--units", "b", "--nosuffix", "-o", fields, *map(checked, names)]
    done = machine.query(words)
    if done.returncode == 127:
        raise _absent_program(program)
    if done.returncode != 0:
        said = _complaint(done)
        if re.search(r"not found|[Ff]ailed to find", said):
            return None
        raise StateFailed(said)
    rows: list[dict[str, Any]] = next(iter(json.loads(done.stdout)["report"][0].values()))
    return rows or None


def _options(options: PvOptions | VgOptions | LvOptions) -> list[str]:
    given: Mapping[str, Any] = options._asdict()
    words = []
    for key, value in given.items():
        if key == "force" or value in (None, False, ""):
            continue
        words += [f"--{key}"] if value is True else [f"--{key}", _WORDS.get(str(value), str(value))]
    return words


def _sure(force: bool) -> list[str]:
    return ["--yes"] if force else ["-qq"]


def _absent_program(program: str) -> StateFailed:
    return StateFailed(f"There is no {program} program: install the package lvm2")


def _complaint(done: Completed) -> str:
    """What LVM said, without its warnings."""
    lines = [line for line in complaint(done).splitlines() if not line.lstrip().startswith("WARNING:")]
    return "\n".join(line.strip() for line in lines) or f"exit code {done.returncode}, without a message"
