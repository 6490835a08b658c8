"""Processors, memory, firmware and display adapters. Called by `minion.grains.collect`.

Everything is read from /proc and /sys: no command is run, so that collecting stays fast on a large machine.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from minion.grains.files import names, read

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
_PCI = "/sys/bus/pci/devices"
_PCI_NAMES = ("/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids")
_DISPLAY_CLASSES = ("0x03", "0x12")
"""Display controllers and processing accelerators."""
_VENDORS = ("nvidia", "amd", "ati", "intel", "cirrus logic", "vmware", "matrox", "aspeed")
_VENDORS_BY_NUMBER = {"10de": "nvidia", "1002": "amd", "8086": "intel", "15ad": "vmware", "102b": "matrox"}


def cpu_grains() -> Grains:
    """The processors that are online."""
    return parse_cpuinfo(read("/proc/cpuinfo"))


def parse_cpuinfo(text: str) -> Grains:
    """Number, model and flags from /proc/cpuinfo, whose lines differ by architecture."""
    fields: dict[str, str] = {}
    count = 0
    for line in text.splitlines():
        key, _, value = line.partition(":")
        key = key.strip()
        count += key == "processor"
        fields[key] = value.strip()
    if fields.get("# processors", "").isdigit():  # s390
        count = int(fields["# processors"])
    elif "Processor" in fields:  # the first ARM kernels
        count = 1
    model = fields.get("model name") or fields.get("cpu") or fields.get("vendor_id")
    if model is None and "Processor" in fields:
        model = fields["Processor"].partition("-")[0]
    flags = fields.get("flags") or fields.get("Features") or ""
    return {"num_cpus": count, "cpu_model": model or "Unknown", "cpu_flags": flags.split()}


def memory_grains() -> Grains:
    """Memory and swap in MiB."""
    return parse_meminfo(read("/proc/meminfo"))


def parse_meminfo(text: str) -> Grains:
    """Totals from /proc/meminfo, which counts in KiB."""
    found = dict(re.findall(r"^(MemTotal|SwapTotal):\s+(\d+) kB$", text, re.MULTILINE))
    return {"mem_total": int(found.get("MemTotal", 0)) // 1024, "swap_total": int(found.get("SwapTotal", 0)) // 1024}


def firmware_grains() -> Grains:
    """What the firmware says of the machine, as far as it may be read, and whether it is EFI."""
    variables = next((path for path in ("efivars", "vars") if Path(f"/sys/firmware/efi/{path}").exists()), None)
    grains: Grains = {"efi": variables is not None, "efi-secure-boot": _secure_boot()}
    found = {grain: read(str(_DMI / file)) for grain, file in _DMI_GRAINS.items() if (_DMI / file).exists()}
    if "uuid" in found:
        found["uuid"] = found["uuid"].lower()
    known = {grain: value for grain, value in found.items() if value}
    return {**grains, **devicetree(_tree("model"), _tree("system-id"), _tree("serial-number")), **known}


def devicetree(model: str, system_id: str, serial: str) -> Grains:
    """What boards without a BIOS say of themselves: `manufacturer,model`, and their number."""
    grains: Grains = {}
    if model:
        manufacturer, comma, product = model.partition(",")
        grains = {"manufacturer": manufacturer, "productname": product} if comma else {"productname": model}
    return {**grains, "serialnumber": serial or system_id} if serial or system_id else grains


def gpu_grains() -> Grains:
    """Display adapters and accelerators, named by the machine's list of PCI devices where it has one."""
    found = []
    for device in names(_PCI):
        if read(f"{_PCI}/{device}/class").startswith(_DISPLAY_CLASSES):
            found.append((read(f"{_PCI}/{device}/vendor")[2:], read(f"{_PCI}/{device}/device")[2:]))
    listed = next((text for path in _PCI_NAMES if (text := read(path))), "") if found else ""
    gpus = [gpu_of(listed, vendor, device) for vendor, device in found]
    return {"num_gpus": len(gpus), "gpus": gpus}


def gpu_of(listed: str, vendor: str, device: str) -> dict[str, str]:
    """Vendor (one of Salt's short names) and model; `listed` is the text of pci.ids, the rest are its numbers."""
    section = re.search(rf"^{vendor}  (.+)\n((?:[\t#].*\n|\n)*)", listed, re.MULTILINE)
    if section is None:
        return {"vendor": _VENDORS_BY_NUMBER.get(vendor, "unknown"), "model": f"Device {device}"}
    model = re.search(rf"^\t{device}  (.+)$", section[2], re.MULTILINE)
    words = re.split(r"[^a-z0-9]", section[1].lower())
    short = next((name for name in _VENDORS if name in words), "unknown")
    return {"vendor": short, "model": model[1] if model else f"Device {device}"}


def _tree(name: str) -> str:
    return read(f"/proc/device-tree/{name}").rstrip("\0")


def _secure_boot() -> bool:
    for variable in Path("/sys/firmware/efi/efivars").glob("SecureBoot-*"):
        try:
            return variable.read_bytes()[-1:] == b"\x01"
        except OSError:
            return False
    return False
