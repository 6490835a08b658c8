"""Grains of FreeBSD, which has sysctl where Linux has /proc. Called by `minion.grains.osrelease`.

`freebsd_grains_of` is a function of recorded answers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from minion.grains.files import read
from minion.grains.releases import Grains, release_grains

_NAMES = ("hw.ncpu", "hw.machine", "hw.model", "hw.physmem", "vm.swap_total", "hw.hv_vendor", "security.jail.jailed")
_FIRMWARE = {
    "productname": "smbios.system.product",
    "manufacturer": "smbios.system.maker",
    "serialnumber": "smbios.system.serial",
    "uuid": "smbios.system.uuid",
    "biosversion": "smbios.bios.version",
    "biosvendor": "smbios.bios.vendor",
    "biosreleasedate": "smbios.bios.reldate",
    "boardname": "smbios.planar.product",
}
_PRODUCTS = (("VMware", "VMware"), ("VirtualBox", "VirtualBox"))
_MAKERS = (("OpenStack", "OpenStack"), ("Bochs", "kvm"), ("Amazon EC2", "Nitro"), ("Xen", "xen"), ("QEMU", "kvm"))


def freebsd_grains(uname: os.uname_result) -> Grains:
    """The grains of this machine; three commands are run."""
    userland = _said(["freebsd-version", "-u"]) or uname.release
    values = parse_values(_said(["sysctl", *_NAMES]), ": ")
    values |= parse_values(_said(["kenv"]), "=")
    return freebsd_grains_of(userland, values, read("/var/run/dmesg.boot"))


def freebsd_grains_of(userland: str, values: Mapping[str, str], boot: str) -> Grains:
    """From `freebsd-version -u`, the values of sysctl and kenv, and what the kernel said at boot."""
    release = userland.partition("-")[0].strip()
    full = f"FreeBSD {release}"
    firmware = {grain: values[name] for grain, name in _FIRMWARE.items() if values.get(name)}
    return {
        "os": "FreeBSD",
        "os_family": "FreeBSD",
        "osfullname": full,
        "osarch": values.get("hw.machine", ""),
        "cpuarch": values.get("hw.machine", ""),
        "num_cpus": int(values.get("hw.ncpu", "1")),
        "cpu_model": values.get("hw.model", ""),
        "cpu_flags": cpu_flags(boot),
        "mem_total": int(values.get("hw.physmem", "0")) // 1024 // 1024,
        "swap_total": int(values.get("vm.swap_total", "0")) // 1024 // 1024,
        **firmware,
        **_virtual(values),
        **release_grains("FreeBSD", full, release),
    }


def parse_values(text: str, sign: str) -> dict[str, str]:
    """`name: value` or `name="value"` lines."""
    pairs = (line.partition(sign) for line in text.splitlines() if sign in line)
    return {name.strip(): value.strip().strip('"') for name, _, value in pairs}


def cpu_flags(boot: str) -> list[str]:
    """The features of the processor in what the kernel said at boot."""
    found = re.search(r"^CPU: .*\n((?:[ \t].*\n?)*)", boot, re.MULTILINE)
    lines = found[1].splitlines() if found else []
    marked = (re.search(r"<([^>]*)>", line) for line in lines if "Features" in line)
    return [flag for match in marked if match for flag in match[1].split(",")]


def _virtual(values: Mapping[str, str]) -> Grains:
    product, maker = values.get("smbios.system.product", ""), values.get("smbios.system.maker", "")
    virtual = next((name for word, name in _PRODUCTS if product.startswith(word)), "")
    virtual = virtual or next((name for word, name in _MAKERS if maker.startswith(word)), "physical")
    if maker.startswith("Microsoft") and product.startswith("Virtual"):
        virtual = "VirtualPC"
    if "bhyve" in values.get("hw.hv_vendor", ""):
        virtual = "bhyve"
    elif "QEMU Virtual CPU" in values.get("hw.model", ""):
        virtual = "kvm"
    if values.get("security.jail.jailed") == "1":
        return {"virtual": "virtual" if virtual == "physical" else virtual, "virtual_subtype": "jail"}
    return {"virtual": virtual, **({"virtual_subtype": f"{maker} {product}"} if virtual == "xen" else {})}


def _said(command: list[str]) -> str:
    import subprocess

    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
