"""Whether this is a virtual machine or a container: Salt's `virtual` and `virtual_subtype`.

Called by `minion.grains.collect`. `virtual_of` is a function of recorded `Signs` alone. Salt asks systemd-detect-virt,
dmidecode and lspci; here the kernel's files say the same without starting a program.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minion.grains.files import read

Grains = dict[str, Any]

_DMI = "/sys/class/dmi/id"
_PRODUCTS: tuple[tuple[str, str, str], ...] = (
    ("VirtualBox", "VirtualBox", ""),
    ("RHEV Hypervisor", "kvm", "rhev"),
    ("oVirt", "kvm", "ovirt"),
    ("Google", "gce", ""),
    ("BHYVE", "bhyve", ""),
    ("VMware", "VMware", ""),
    ("Parallels", "Parallels", ""),
    ("Nutanix AHV", "kvm", "Nutanix AHV"),
    ("Amazon EC2", "Nitro", "Amazon EC2"),
    ("Microsoft Corporation Virtual Machine", "VirtualPC", ""),
    ("HVM domU", "xen", "Xen HVM DomU"),
    ("QEMU", "kvm", ""),
    ("Bochs", "kvm", ""),
    ("KVM", "kvm", ""),
    ("OpenStack", "kvm", ""),
    ("SeaBIOS", "kvm", ""),
)
"""What stands in vendor, product or BIOS vendor -> `virtual`, `virtual_subtype`."""

_CONTAINERS = {"lxc": "LXC", "lxc-libvirt": "LXC", "docker": "Docker", "podman": "Podman"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What a machine shows of its being virtual."""

    product: str = ""
    """System vendor, product name and BIOS vendor of the firmware, one after the other."""
    cpuinfo: str = ""
    cgroup: str = ""
    """/proc/1/cgroup."""
    container: str = ""
    """What process 1 or systemd says that it runs in."""
    paths: frozenset[str] = frozenset()
    """Those of `PATHS` that exist."""
    changed_root: bool = False
    """Whether / is another folder than the / of process 1."""
    xen: str = ""
    """/proc/xen/capabilities."""


PATHS = (
    "/.dockerenv",
    "/run/.containerenv",
    "/proc/vz",
    "/proc/vz/version",
    "/proc/vz/veinfo",
    "/proc/xen",
    "/proc/xen/xsd_kva",
    "/sys/bus/xen",
    "/sys/bus/xen/drivers/xenconsole",
)


def virtual_grains() -> Grains:
    """`physical`, or what the machine runs in."""
    dmi = " ".join(read(f"{_DMI}/{name}") for name in ("sys_vendor", "product_name", "bios_vendor"))
    return virtual_of(
        Signs(
            product=dmi,
            cpuinfo=read("/proc/cpuinfo"),
            cgroup=read("/proc/1/cgroup"),
            container=read("/run/systemd/container") or _environment_of_init(),
            paths=frozenset(path for path in PATHS if Path(path).exists()),
            changed_root=_changed_root(),
            xen=read("/proc/xen/capabilities"),
        )
    )


def virtual_of(signs: Signs) -> Grains:
    """`virtual`, and `virtual_subtype` where there is one; a container counts before the machine that it is on."""
    virtual, subtype = _machine(signs)
    if signs.changed_root:
        subtype = subtype or "chroot"
    virtual, subtype = _container(signs) or (virtual, _in_group(signs) or subtype)
    if subtype and virtual == "physical":
        virtual = "virtual"
    return {"virtual": virtual, **({"virtual_subtype": subtype} if subtype else {})}


def _machine(signs: Signs) -> tuple[str, str]:
    paths = signs.paths
    if "/proc/vz" in paths and ("/proc/vz/version" in paths or "/proc/vz/veinfo" in paths):
        return ("openvzhn" if "/proc/vz/version" in paths else "openvzve"), ""
    for word, virtual, subtype in _PRODUCTS:
        if word.lower() in signs.product.lower():
            return virtual, subtype
    if paths & {"/proc/xen", "/sys/bus/xen"}:
        return _xen(signs)
    if "QEMU Virtual CPU" in signs.cpuinfo or re.search(r"^flags\s*:.* hypervisor\b", signs.cpuinfo, re.MULTILINE):
        return "kvm", ""
    return "physical", ""


def _xen(signs: Signs) -> tuple[str, str]:
    if "/proc/xen/xsd_kva" in signs.paths or "control_d" in signs.xen:
        return "xen", "Xen Dom0"
    if signs.xen or "/sys/bus/xen/drivers/xenconsole" in signs.paths:
        return "xen", "Xen PV DomU"
    return "physical", ""


def _container(signs: Signs) -> tuple[str, str] | None:
    if ":/lxc/" in signs.cgroup:
        return "container", "LXC"
    if any(word in signs.cgroup for word in (":/docker/", ":/docker-ce/", ":/system.slice/docker")):
        return "container", "Docker"
    if signs.container in _CONTAINERS:
        return "container", _CONTAINERS[signs.container]
    if signs.container == "systemd-nspawn":
        return "systemd-nspawn", ""
    if "/run/.containerenv" in signs.paths:
        return "container", "Podman"
    return ("container", "Docker") if "/.dockerenv" in signs.paths else None


def _in_group(signs: Signs) -> str:
    """A container that Salt calls by its subtype alone."""
    if ":/kubepods/" in signs.cgroup:
        return "kubernetes"
    return "libpod" if ":/libpod_parent/" in signs.cgroup else ""


def _environment_of_init() -> str:
    """The `container=` of process 1."""
    found = re.search(r"(?:^|\0)container=([^\0]+)", read("/proc/1/environ"))
    return found[1] if found else ""


def _changed_root() -> bool:
    try:
        ours, first = os.stat("/"), os.stat("/proc/1/root/.")  # noqa: PTH116
    except OSError:
        return False
    return (ours.st_dev, ours.st_ino) != (first.st_dev, first.st_ino)
