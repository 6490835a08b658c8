"""Processors, memory, disks, firmware, and whether this is a virtual machine. Called by `minion.grains.collect`.

Everything is read from /proc and /sys: no command is run, so that collecting stays fast on a large machine.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from minion.grains.system import read

Grains = dict[str, Any]

_DMI = Path("/sys/class/dmi/id")
_DMI_GRAINS = {
    "biosversion": "bios_version",
    "biosvendor": "bios_vendor",
    "biosreleasedate": "bios_date",
    "boardname": "board_name",
    "manufacturer": "sys_vendor",
    "productname": "product_name",
    "serialnumber": "product_serial",
    "uuid": "product_uuid",
}
_PRODUCTS = (
    ("VirtualBox", "VirtualBox"),
    ("VMware", "VMware"),
    ("Bochs", "kvm"),
    ("KVM", "kvm"),
    ("QEMU", "kvm"),
    ("RHEV", "kvm"),
    ("oVirt", "kvm"),
    ("OpenStack", "kvm"),
    ("Google", "gce"),
    ("Amazon EC2", "Nitro"),
    ("Virtual Machine", "HyperV"),
    ("Parallels", "Parallels"),
    ("BHYVE", "bhyve"),
)
_PSEUDO_DISKS = ("loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd")


def cpu_grains() -> Grains:
    """The processors that are online."""
    return parse_cpuinfo(read("/proc/cpuinfo"), os.cpu_count() or 1)


def parse_cpuinfo(text: str, count: int) -> Grains:
    """Model and flags from /proc/cpuinfo."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip().lower(), value.strip())
    model = fields.get("model name") or fields.get("processor") or fields.get("vendor_id") or "Unknown"
    flags = fields.get("flags") or fields.get("features") or ""
    return {"num_cpus": count, "cpu_model": model, "cpu_flags": flags.split()}


def memory_grains() -> Grains:
    """Memory and swap in MiB."""
    import psutil

    return {
        "mem_total": psutil.virtual_memory().total // 1048576,
        "swap_total": psutil.swap_memory().total // 1048576 if Path("/proc/vmstat").exists() else 0,
    }


def disk_grains() -> Grains:
    """Names of the block devices, those that spin and those that do not."""
    disks: list[str] = []
    ssds: list[str] = []
    for device in sorted(Path("/sys/block").glob("*")):
        if device.name.startswith(_PSEUDO_DISKS):
            continue
        (ssds if read(f"{device}/queue/rotational") == "0" else disks).append(device.name)
    return {"disks": disks, "ssds": ssds}


def firmware_grains() -> Grains:
    """What the firmware says of the machine, as far as it may be read, and whether it is EFI."""
    efi = Path("/sys/firmware/efi").exists()
    grains: Grains = {"efi": efi, "efi-secure-boot": efi and _secure_boot()}
    found = {grain: read(str(_DMI / file)) for grain, file in _DMI_GRAINS.items()}
    return {**grains, **{grain: value for grain, value in found.items() if value}}


def virtual_grains() -> Grains:
    """`physical`, or what the machine runs in."""
    container = _container()
    if container:
        return {"virtual": "container", "virtual_subtype": container}
    product = f"{read(str(_DMI / 'sys_vendor'))} {read(str(_DMI / 'product_name'))}"
    return {"virtual": virtual_of(product, hypervisor=" hypervisor" in read("/proc/cpuinfo"))}


def virtual_of(product: str, *, hypervisor: bool) -> str:
    """Salt's name for the product that the firmware names."""
    for word, virtual in _PRODUCTS:
        if word.lower() in product.lower():
            return virtual
    if Path("/proc/xen").exists():
        return "xen"
    return "kvm" if hypervisor else "physical"


def _container() -> str:
    """Which kind of container this is, empty when it is none."""
    if Path("/.dockerenv").exists():
        return "Docker"
    if Path("/run/.containerenv").exists():
        return "Podman"
    named = read("/run/systemd/container")
    if named:
        return {"lxc": "LXC", "docker": "Docker", "podman": "Podman"}.get(named, named)
    groups = read("/proc/1/cgroup")
    for word, kind in (("/docker/", "Docker"), ("/kubepods", "Kubernetes"), ("/lxc/", "LXC"), ("/libpod", "Podman")):
        if word in groups:
            return kind
    return ""


def _secure_boot() -> bool:
    for variable in Path("/sys/firmware/efi/efivars").glob("SecureBoot-*"):
        try:
            return variable.read_bytes()[-1:] == b"\x01"
        except OSError:
            return False
    return False
