"""The kernel, what process 1 is, security modules, and the locale. Called by `minion.grains.collect`."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

from minion.grains.files import read

Grains = dict[str, Any]

_INIT_WORDS = (b"upstart", b"sysvinit", b"systemd")
"""What the binary of process 1 says of itself."""
_LIBRARIES = ("systemd/libsystemd-shared-*.so", "*/systemd/libsystemd-shared-*.so")
"""Below /usr/lib, where distributions keep what systemd's programs share."""
_FEATURES = re.compile(rb"[+-]PAM(?: [+-][A-Z0-9_]+)+(?: [a-z-]+=[a-z]+)*")


def kernel_grains() -> Grains:
    """What uname(2) says, and the kernel's command line."""
    uname = os.uname()
    grains: Grains = {
        "kernel": uname.sysname,
        "kernelrelease": uname.release,
        "kernelversion": uname.version,
        "cpuarch": uname.machine,
        "nodename": uname.nodename,
        "ps": "ps -efHww" if uname.sysname == "Linux" else "ps auxwww",
    }
    parameters = read("/proc/cmdline")
    if parameters:
        grains["kernelparams"] = parse_kernel_parameters(parameters)
    machine_id = read("/etc/machine-id") or read("/var/lib/dbus/machine-id")
    return {**grains, "machine_id": machine_id} if machine_id else grains


def parse_kernel_parameters(text: str) -> list[list[str | None]]:
    """Pairs of name and value from /proc/cmdline; as with Salt, a value that holds `=` counts as none."""
    words = (word.split("=") for word in text.split())
    return [[word[0], word[1].strip("\"'") if len(word) == 2 else None] for word in words]


def init_grains() -> Grains:
    """Which init system runs the machine, and systemd's version where it is installed."""
    grains: Grains = {"init": _init(), "transactional": shutil.which("transactional-update") is not None}
    if shutil.which("systemctl") and shutil.which("localectl"):
        grains["systemd"] = _systemd()
    return grains


def selinux_grains() -> Grains:
    """Whether SELinux is on; nothing where its tools are not installed."""
    if shutil.which("selinuxenabled") is None:
        return {}
    return {
        "selinux": selinux_of(mounted=Path("/sys/fs/selinux/enforce").exists(), text=read("/sys/fs/selinux/enforce"))
    }


def selinux_of(*, mounted: bool, text: str) -> dict[str, Any]:
    """The grain, from the kernel's `enforce` file."""
    return {"enabled": mounted, "enforced": {"1": "Enforcing", "0": "Permissive"}.get(text, "Disabled")}


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
        "timezone": time.localtime().tm_zone or "unknown",
    }
    return {"locale_info": info}


def parse_systemctl_version(text: str) -> dict[str, str]:
    """Version and features from `systemctl --version`."""
    first, _, rest = text.strip().partition("\n")
    match = re.match(r"systemd (\d+)", first)
    return {"version": match[1], "features": rest.partition("\n")[0]} if match else {}


def _systemd() -> dict[str, str]:
    """From systemd's own library, whose name has the version; from `systemctl` where there is no such file."""
    for path in (path for pattern in _LIBRARIES for path in Path("/usr/lib").glob(pattern)):
        found = re.match(r"libsystemd-shared-(\d+)", path.name)
        features = _features(path) if found else ""
        if found and features:
            return {"version": found[1], "features": features}
    return _asked_of_systemctl() or {"version": "UNDEFINED", "features": ""}


def _features(library: Path) -> str:
    import mmap

    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        at = max(content.find(b"PAM +AUDIT"), content.find(b"PAM -AUDIT"))
        found = _FEATURES.match(content, at - 1) if at > 0 else None
        return found[0].decode() if found else ""


def _asked_of_systemctl() -> dict[str, str]:
    import subprocess

    try:
        done = subprocess.run(["systemctl", "--version"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return parse_systemctl_version(done.stdout)


def _init() -> str:
    if Path("/run/systemd/system").exists():
        return "systemd"
    words = read("/proc/1/cmdline").replace("\0", " ").split()
    program = shutil.which(words[0]) if words else None
    content = Path(program).read_bytes().lower() if program and program.endswith("bin/init") else b""
    return init_of(words, content)


def init_of(words: list[str], content: bytes) -> str:
    """The init system by the command line of process 1, and by the binary where that is called `init`."""
    if content:
        return next((word.decode() for word in _INIT_WORDS if word in content), "unknown")
    called = {Path(word).name for word in words}
    for name in ("supervisord", "dumb-init", "tini"):
        if name in called:
            return name
    return "runit" if words == ["runit"] or "my_init" in called else "unknown"
