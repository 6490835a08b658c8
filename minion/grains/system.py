"""The kernel, what process 1 is, and the locale. Called by `minion.grains.collect`."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

Grains = dict[str, Any]

_INIT_NAMES = ("systemd", "runit", "s6-svscan", "dumb-init", "tini", "shutdown", "openrc")


def kernel_grains() -> Grains:
    """What uname(2) says, and the kernel's command line."""
    uname = os.uname()
    grains: Grains = {
        "kernel": uname.sysname,
        "kernelrelease": uname.release,
        "kernelversion": uname.version,
        "cpuarch": uname.machine,
        "nodename": uname.nodename,
        "ps": "ps -efHww",
    }
    parameters = read("/proc/cmdline")
    if parameters:
        grains["kernelparams"] = [_parameter(word) for word in parameters.split()]
    machine_id = read("/etc/machine-id") or read("/var/lib/dbus/machine-id")
    return {**grains, "machine_id": machine_id} if machine_id else grains


def init_grains() -> Grains:
    """Which init system runs the machine, and systemd's version where it is installed."""
    grains: Grains = {"init": _init()}
    if Path("/run/systemd/system").exists() or shutil.which("systemctl"):
        version = _systemd_version()
        if version:
            grains["systemd"] = version
    return {**grains, "transactional": False}


def locale_grains() -> Grains:
    """The locale that this process runs under, and the time zone."""
    import locale

    try:
        language, encoding = locale.getlocale()
    except ValueError:  # a LANG that nobody knows
        language = encoding = "unknown"
    info = {
        "defaultlanguage": language,
        "defaultencoding": encoding,
        "detectedencoding": (locale.getencoding() or "ascii").lower(),
        "timezone": time.tzname[0] if time.tzname else "unknown",
    }
    return {"locale_info": info}


def parse_systemctl_version(text: str) -> dict[str, str]:
    """Version and features from `systemctl --version`."""
    first, _, rest = text.strip().partition("\n")
    match = re.match(r"\w+\s+(\d+)", first)
    return {"version": match[1], "features": rest.strip()} if match else {}


def read(path: str) -> str:
    """A small file of the system without white space around it; empty when it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _systemd_version() -> dict[str, str]:
    import subprocess

    try:
        done = subprocess.run(["systemctl", "--version"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return parse_systemctl_version(done.stdout)


def _init() -> str:
    if Path("/run/systemd/system").exists():
        return "systemd"
    words = Path("/proc/1/cmdline").read_bytes().split(b"\0") if Path("/proc/1/cmdline").exists() else []
    name = Path(words[0].decode(errors="replace")).name if words else ""
    if name in _INIT_NAMES:
        return name
    if name == "init":
        return "upstart" if Path("/etc/init/rcS.conf").exists() else "sysvinit"
    return "unknown"


def _parameter(word: str) -> list[str | None]:
    key, equals, value = word.partition("=")
    return [key, value.strip("\"'") if equals else None]
