"""The minion itself: its id and master, and the process that it is. Called by `minion.grains.collect`."""

from __future__ import annotations

import grp
import hashlib
import os
import pwd
import sys
from typing import Any

from minion.config.groups import GrainsOptions

Grains = dict[str, Any]

COMPATIBLE_WITH = (3008, 3)
"""The release of Salt whose language this speaks; formulas compare `saltversion` with what they need."""


def version_grains() -> Grains:
    """The release of Salt that this is like."""
    return {
        "saltversion": ".".join(str(part) for part in COMPATIBLE_WITH),
        "saltversioninfo": list(COMPATIBLE_WITH),
    }


def identity_grains(minion_id: str, options: GrainsOptions) -> Grains:
    """Who this minion is, and whom it listens to; nothing without an id."""
    if not minion_id:
        return {}
    number = int(hashlib.sha256(minion_id.encode()).hexdigest(), 16) % 2**31
    grains: Grains = {"id": minion_id, "server_id": number, "master": options.master or "salt"}
    if options.resources:
        grains["salt_resources"] = options.resources
    return grains


def process_grains() -> Grains:
    """User, group, directory, search path, shell and Python of this process."""
    path = os.environ.get("PATH", "").strip()
    return {
        "uid": os.geteuid(),
        "gid": os.getegid(),
        "username": _user(os.geteuid()),
        "groupname": _group(os.getegid()),
        "pid": os.getpid(),
        "cwd": os.getcwd(),  # noqa: PTH109
        "path": path,
        "systempath": path.split(os.pathsep) if path else [],
        "shell": os.environ.get("SHELL", "/bin/sh"),
        "pythonexecutable": sys.executable,
        "pythonpath": list(sys.path),
        "pythonversion": list(sys.version_info),
    }


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""


def _group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return ""
