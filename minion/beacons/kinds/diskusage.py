"""The beacon `diskusage`: file systems that are full beyond a threshold.

The names of options are mount points, or regular expressions that match from the beginning to the end.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from matching import bounded_regex
from matching.linear_regex import PatternRefused
from minion.beacons.beacon import BeaconKind, Complaint, Found, Memory, Options, World, check_is_percent, percent

_REMOTE = ("nfs", "cifs", "smb", "fuse", "ceph", "9p", "afs", "gfs", "glusterfs", "lustre", "ocfs", "autofs")
"""How kinds of file systems begin that may keep a look waiting."""

_COMMON = ("emitatstartup", "onchangeonly")


def _check(options: Options) -> Iterator[Complaint]:
    mounts = _thresholds(options)
    if not mounts:
        yield (), "no mount point is named: write them with their thresholds, as `- /: 63%`"
    for name, value in mounts.items():
        yield from check_is_percent(value, (name,))
        try:
            bounded_regex.check(name)
        except (re.error, PatternRefused) as error:
            yield (name,), f"{name} is no mount point and no regular expression: {error}"


def _known(options: Options, memory: Memory, world: World) -> Found | None:
    """What a look finds, where no file system that is looked at may keep it waiting."""
    remote = {mount for mount, kind in _mounts() if kind.startswith(_REMOTE)}
    if any(remote & set(_matching(name, remote)) for name in _thresholds(options)):
        return None
    return _look(options, memory, world)


def _look(options: Options, memory: Memory, world: World) -> Found:
    mounted = [mount for mount, _ in _mounts()]
    found: Found = []
    for name, threshold in _thresholds(options).items():
        for mount in _matching(name, mounted):
            used = _used(mount)
            if used is not None and used >= percent(threshold):
                found.append({"diskusage": used, "mount": mount})
    return found


def _thresholds(options: Options) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in _COMMON}


def _matching(name: str, mounts: Iterable[str]) -> list[str]:
    pattern = name if name.endswith("$") else f"{name}$"
    return [mount for mount in mounts if bounded_regex.match(pattern, mount)]


def _mounts() -> list[tuple[str, str]]:
    """Mount points and kinds of file systems, as /proc/self/mounts has them, with its escapes undone."""
    lines = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    return [(_unescaped(words[1]), words[2]) for words in (line.split(" ") for line in lines)]


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), text) if "\\" in text else text


def _used(mount: str) -> float | None:
    """Percent of what a user can use, as df and psutil have it; None for what is no file system any more."""
    try:
        status = os.statvfs(mount)
    except OSError:
        return None
    used = status.f_blocks - status.f_bfree
    total = used + status.f_bavail
    return 0.0 if not total else round(100.0 * used / total, 1)


_KIND = BeaconKind(check=_check, look=_look, interval=5.0, slow=True, quick=_known)

BEACONS: Mapping[str, BeaconKind] = {"diskusage": _KIND}
