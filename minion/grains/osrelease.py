"""Which operating system this is: Salt's `os` grains from os-release(5).

Called by `minion.grains.collect`. `os_grains_of` is a function of the file's text alone; the tests hold it against
recorded files and against what Salt says of them.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Grains = dict[str, Any]

_FILES = ("/etc/os-release", "/usr/lib/os-release")

_OS = {
    "almalinux": "AlmaLinux",
    "alpine": "Alpine",
    "amzn": "Amazon",
    "arch": "Arch",
    "centos": "CentOS Stream",
    "debian": "Debian",
    "devuan": "Devuan",
    "fedora": "Fedora",
    "gentoo": "Gentoo",
    "kali": "Kali",
    "linuxmint": "Mint",
    "manjaro": "Manjaro",
    "ol": "OEL",
    "opensuse-leap": "SUSE",
    "opensuse-tumbleweed": "SUSE",
    "pop": "Pop",
    "raspbian": "Raspbian",
    "rhel": "RedHat",
    "rocky": "Rocky",
    "sles": "SUSE",
    "sled": "SUSE",
    "ubuntu": "Ubuntu",
    "void": "Void",
}
"""os-release's ID -> Salt's `os`."""

_FAMILY = {
    "AlmaLinux": "RedHat",
    "Amazon": "RedHat",
    "CentOS": "RedHat",
    "CentOS Stream": "RedHat",
    "Devuan": "Debian",
    "Fedora": "RedHat",
    "Kali": "Debian",
    "Manjaro": "Arch",
    "Mint": "Debian",
    "OEL": "RedHat",
    "Pop": "Debian",
    "Raspbian": "Debian",
    "Rocky": "RedHat",
    "SUSE": "Suse",
    "Ubuntu": "Debian",
}
"""Salt's `os` -> `os_family`, where they differ."""

_LIKE = (
    ("debian", "Debian"),
    ("ubuntu", "Debian"),
    ("rhel", "RedHat"),
    ("fedora", "RedHat"),
    ("suse", "Suse"),
    ("arch", "Arch"),
    ("alpine", "Alpine"),
)
"""Words of ID_LIKE -> `os_family` of systems that the table does not know."""

_FULL_NAME = {"opensuse-leap": "Leap", "opensuse-tumbleweed": "Tumbleweed"}
"""Where Salt's `osfullname` is not os-release's NAME."""

_FINGER_BY_OS = ("AlmaLinux", "Debian", "Raspbian")
_FINGER_BY_RELEASE = ("Pop", "Ubuntu")
_DEBIAN_ARCHITECTURES = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "armv7l": "armhf",
    "armv6l": "armel",
    "i686": "i386",
    "i586": "i386",
    "ppc64le": "ppc64el",
    "loongarch64": "loong64",
}


def os_grains() -> Grains:
    """The grains of this machine."""
    uname = os.uname()
    for name in _FILES:
        path = Path(name)
        if path.is_file():
            return os_grains_of(path.read_text(encoding="utf-8", errors="replace"), uname.machine)
    return {"os": uname.sysname, "os_family": uname.sysname, "osarch": uname.machine}


def os_grains_of(text: str, machine: str) -> Grains:
    """The grains that an os-release file gives on a machine of this architecture (`uname -m`).

    A system without a release (Debian's testing) has no `osrelease` grains, as with Salt.
    """
    fields = parse(text)
    identity = fields.get("ID", "linux").lower()
    name = _OS.get(identity) or re.sub(r"\s+(GNU/)?Linux$", "", fields.get("NAME", identity))
    family = _family(name, fields.get("ID_LIKE", ""))
    full = _FULL_NAME.get(identity) or fields.get("NAME", name)
    codename = _codename(identity, fields)
    grains: Grains = {
        "os": name,
        "os_family": family,
        "osfullname": full,
        "oscodename": codename,
        "osarch": _DEBIAN_ARCHITECTURES.get(machine, machine) if family == "Debian" else machine,
        "lsb_distrib_id": full,
        "lsb_distrib_codename": codename,
    }
    release = fields.get("VERSION_ID") or fields.get("BUILD_ID") or ""
    return {**grains, **_release(name, full, release)} if release else grains


def _release(name: str, full: str, release: str) -> Grains:
    info = [int(part) if part.isdigit() else part for part in release.split(".")]
    finger = name if name in _FINGER_BY_OS else full
    return {
        "osrelease": release,
        "osrelease_info": info,
        "osmajorrelease": info[0],
        "osfinger": f"{finger}-{release if name in _FINGER_BY_RELEASE else info[0]}",
        "lsb_distrib_release": release,
    }


def _family(name: str, like: str) -> str:
    if name in _FAMILY:
        return _FAMILY[name]
    if name in _OS.values():
        return name
    words = like.lower().replace('"', "").split()
    return next((family for word, family in _LIKE if any(one.startswith(word) for one in words)), name)


def _codename(identity: str, fields: Mapping[str, str]) -> str:
    """From its own field, from the brackets in VERSION, or what SUSE calls itself."""
    if fields.get("VERSION_CODENAME"):
        return fields["VERSION_CODENAME"]
    if _FAMILY.get(_OS.get(identity, "")) == "Suse":
        return fields.get("PRETTY_NAME", "")
    bracketed = re.search(r"\(([^)]+)\)", fields.get("VERSION", ""))
    return bracketed[1] if bracketed and identity != "fedora" else ""


def parse(text: str) -> dict[str, str]:
    """The assignments of an os-release file, as a shell would read them."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        match = re.fullmatch(r"\s*([A-Za-z0-9_]+)=(.*)", line)
        if match is None:
            continue
        try:
            fields[match[1]] = "".join(shlex.split(match[2]))
        except ValueError:  # a quote that is never closed
            fields[match[1]] = match[2].strip("\"' ")
    return fields
