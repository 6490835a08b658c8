"""Disks, RAID arrays, volume groups and fibre channel. Called by `minion.grains.collect`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from minion.grains.files import names, read

Grains = dict[str, Any]

_BLOCK = "/sys/block"


def disk_grains() -> Grains:
    """Names of the block devices that are no inventions of the kernel: those that spin, and those that do not."""
    found: dict[str, list[str]] = {"disks": [], "ssds": []}
    kinds = {"0": "ssds", "1": "disks"}
    for device in names(_BLOCK):
        if "/devices/virtual/" in str(Path(f"{_BLOCK}/{device}").resolve()):
            continue
        kind = kinds.get(read(f"{_BLOCK}/{device}/queue/rotational")[:1])
        if kind:
            found[kind].append(device)
    return dict(found)


def mdadm_grains() -> Grains:
    """RAID arrays of the kernel; none where the kernel has no RAID."""
    if not Path("/proc/mdstat").exists():
        return {}
    return {"mdadm": parse_mdstat(read("/proc/mdstat"))}


def parse_mdstat(text: str) -> list[str]:
    """Names of the arrays in /proc/mdstat, sorted."""
    lines = (line for line in text.splitlines() if " : " in line and not line.startswith("Personalities"))
    return sorted({line.partition(" : ")[0] for line in lines})


def lvm_grains() -> Grains:
    """Volume groups with their volumes, where LVM is installed. It is asked only where it shows that it is in use."""
    program = shutil.which("lvm")
    if program is None:
        return {}
    mapped = (read(f"{_BLOCK}/{device}/dm/uuid") for device in names(_BLOCK) if device.startswith("dm-"))
    if not names("/etc/lvm/backup") and not any(uuid.startswith("LVM-") for uuid in mapped):
        return {"lvm": {}}
    import subprocess

    command = [program, "vgs", "--noheadings", "--separator", " ", "-o", "vg_name,lv_name"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return {"lvm": {}}
    return {"lvm": parse_volumes(done.stdout)}


def parse_volumes(text: str) -> dict[str, list[str]]:
    """Groups and volumes from `lvm vgs -o vg_name,lv_name`: a line for each volume, one for a group without."""
    groups: dict[str, list[str]] = {}
    for line in text.splitlines():
        words = line.split()
        if words:
            groups.setdefault(words[0], []).extend(words[1:2])
    return groups


def fibre_channel_grains() -> Grains:
    """Whether there is a fibre channel adapter."""
    return {"fibre_channel_host": Path("/sys/class/fc_host").is_dir()}
