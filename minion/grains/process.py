"""The minion's own process: who it runs as, and with which Python. Called by `minion.grains.collect`."""

from __future__ import annotations

import grp
import os
import pwd
import sys
from typing import Any

Grains = dict[str, Any]


def process_grains() -> Grains:
    """User, group, directory, search path, shell and Python of this process."""
    path = os.environ.get("PATH", "")
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
