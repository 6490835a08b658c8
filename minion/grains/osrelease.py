"""Which operating system this is: Salt's `os` grains from os-release(5) and lsb-release.

Called by `minion.grains.collect`. `os_grains_of` is a function of the files' texts alone; the tests hold it against
recorded files and against what Salt 3008.3 says of them.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from minion.grains.files import read
from minion.grains.freebsd import freebsd_grains
from minion.grains.releases import Grains, release_grains

_FILES = ("/etc/os-release", "/usr/lib/os-release")

_OS = {
    "archarm": "Arch ARM",
    "enterprise": "OEL",
    "linuxmint": "Mint",
    "neon": "KDE neon",
    "oracleserv": "OEL",
    "pop": "Pop",
    "pop!_os": "Pop",
    "redhatente": "RedHat",
    "sles": "SUSE",
    "slesexpand": "RES",
    "manjarolin": "Manjaro",
    "cloudserve": "CloudLinux",
    "alibabaclo": "Alinux",
    "scientific": "ScientificLinux",
}
"""The first ten characters of NAME, without blanks and the word Linux, in small letters -> Salt's `os`. What is not
here is called by its NAME, without the word Linux."""

_KEY_LENGTH = 10

_FAMILIES = {
    "Arch": ("Antergos", "Arch", "Arch ARM", "EndeavourOS", "Manjaro", "Manjaro ARM"),
    "Debian": (
        "AstraLinuxCE",
        "AstraLinuxSE",
        "Cumulus",
        "Debian",
        "Deepin",
        "Devuan",
        "KDE neon",
        "Kali",
        "Linaro",
        "Mendel",
        "Mint",
        "Parrot OS",
        "Pop",
        "Raspbian",
        "Trisquel",
        "TurnKey",
        "Ubuntu",
        "Univention",
        "antiX",
        "elementary",
        "elementary OS",
    ),
    "RedHat": (
        "ALT",
        "AlmaLinux",
        "AlmaLinux Kitten",
        "Alinux",
        "Amazon",
        "CentOS",
        "CentOS Stream",
        "CloudLinux",
        "Fedora",
        "OEL",
        "OVS",
        "RED OS",
        "RES",
        "RedHat",
        "Rocky",
        "ScientificLinux",
        "VMware Photon OS",
        "Virtuozzo",
        "XCP-ng",
        "XenServer",
        "openEuler",
    ),
    "Suse": ("SLED", "SLES", "SLES_SAP", "SUSE", "openSUSE", "openSUSE Leap", "openSUSE Tumbleweed"),
}
"""`os_family` -> the values of `os` that belong to it; all others are families of their own."""

_LIKE = (
    ("debian", "Debian"),
    ("ubuntu", "Debian"),
    ("rhel", "RedHat"),
    ("fedora", "RedHat"),
    ("suse", "Suse"),
    ("arch", "Arch"),
    ("alpine", "Alpine"),
)
"""Words of ID_LIKE -> `os_family` of systems that nobody knows."""

_NO_NEED_OF_LSB = ("almalinux", "debian", "linuxmint", "pop", "rocky", "ubuntu")
"""IDs of systems whose os-release says all that there is to say."""

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
    if uname.sysname == "FreeBSD":
        return freebsd_grains(uname)
    for name in _FILES:
        path = Path(name)
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            older = read("/etc/centos-release") or read("/etc/debian_version")
            return os_grains_of(text, uname.machine, lsb=read("/etc/lsb-release"), older=older)
    return {"os": uname.sysname, "os_family": uname.sysname, "osarch": uname.machine}


def os_grains_of(text: str, machine: str, *, lsb: str = "", older: str = "") -> Grains:
    """The grains that an os-release file gives on a machine of this architecture (`uname -m`).

    `lsb` is /etc/lsb-release, `older` what /etc/centos-release or /etc/debian_version says: they know the release of
    systems whose os-release does not.
    """
    fields = {"NAME": "Linux", "ID": "linux", "PRETTY_NAME": "Linux", **parse(text)}
    full = _full_name(fields)
    name = _os(fields)
    standard = _standard(fields, lsb)
    family = _family(name, fields.get("ID_LIKE", ""))
    release = fields.get("VERSION_ID", "")
    codename = fields.get("VERSION_CODENAME") or _bracketed(fields)
    if fields["ID"] not in _NO_NEED_OF_LSB:
        release = standard.get("lsb_distrib_release", "")
        codename = standard["lsb_distrib_codename"]
        if not codename or "Red Hat" in codename:
            codename = _bracketed(fields) if name == "RedHat" else ""
    if not release:
        found = re.search(r"\d+(?:\.\d+)+", older) or re.search(r"\S+/\S+", older)
        release = found[0] if found else fields.get("VERSION_ID", "")
    return {
        "os": name,
        "os_family": family,
        "osfullname": full,
        "oscodename": codename,
        "osarch": _DEBIAN_ARCHITECTURES.get(machine, machine) if family == "Debian" else machine,
        **standard,
        **release_grains(name, full, release),
    }


def _os(fields: Mapping[str, str]) -> str:
    if re.match(r"cpe:(?:/o|2\.3:o):(?:open)?suse:", fields.get("CPE_NAME", "")):
        return "SUSE"
    plain = re.sub(r"\W(?:gnu/)?linux", "", fields["NAME"], flags=re.IGNORECASE).strip()
    return _OS.get(plain.replace(" ", "").lower()[:_KEY_LENGTH], plain)


def _full_name(fields: Mapping[str, str]) -> str:
    name = fields["NAME"].strip()
    if _os(fields) == "SUSE" and name == "openSUSE Leap":
        return "Leap"
    return "Tumbleweed" if fields.get("VERSION") == "Tumbleweed" else name


def _family(name: str, like: str) -> str:
    for family, members in _FAMILIES.items():
        if name in members:
            return family
    words = like.lower().split()
    return next((family for word, family in _LIKE if any(one.startswith(word) for one in words)), name)


def _bracketed(fields: Mapping[str, str]) -> str:
    """The codename that stands in the brackets of VERSION."""
    found = re.fullmatch(r"\d\S* \(([^)]+)\)", fields.get("VERSION", ""))
    return found[1] if found else ""


def _standard(fields: Mapping[str, str], lsb: str) -> Grains:
    """The `lsb_distrib_…` grains: from lsb-release where there is one, otherwise what os-release has instead."""
    given = {
        f"lsb_{key.lower()}": value.rstrip()
        for key, value in parse(lsb).items()
        if key in ("DISTRIB_ID", "DISTRIB_RELEASE", "DISTRIB_CODENAME", "DISTRIB_DESCRIPTION")
    }
    if "lsb_distrib_id" in given:
        return {"lsb_distrib_codename": "", **given}
    found = {"lsb_distrib_id": fields["NAME"].strip()}
    if "VERSION_ID" in fields and fields["NAME"] != "CentOS Linux":  # which tells half of its release
        found["lsb_distrib_release"] = fields["VERSION_ID"]
    codename = fields.get("VERSION_CODENAME")
    if codename is None:
        codename = fields["PRETTY_NAME"]
        if fields["ID"] in ("rocky", "almalinux"):
            codename = _bracketed(fields) or codename
    return {**given, **found, "lsb_distrib_codename": codename}


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
