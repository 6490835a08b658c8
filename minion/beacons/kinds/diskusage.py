"""The beacon `diskusage`: file systems that are full beyond a threshold.

The names of options are mount points, or regular expressions that match from the beginning to the end.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from matching import bounded_regex
from matching.linear_regex import PatternRefused
from minion.beacons.beacon import BeaconKind, Complaint, Found, Memory, Options, World, check_is_percent, percent

_COMMON = ("emitatstartup", "onchangeonly")


def _check(options: Options) -> Iterator[Complaint]:
    mounts = {name: value for name, value in options.items() if name not in _COMMON}
    if not mounts:
        yield (), "no mount point is named: write them with their thresholds, as `- /: 63%`"
    for name, value in mounts.items():
        yield from check_is_percent(value, (name,))
        try:
            bounded_regex.check(name)
        except (re.error, PatternRefused) as error:
            yield (name,), f"{name} is no mount point and no regular expression: {error}"


def _look(options: Options, memory: Memory, world: World) -> Found:
    mounted = _mount_points()
    found: Found = []
    for name, threshold in options.items():
        if name in _COMMON:
            continue
        pattern = name if name.endswith("$") else f"{name}$"
        for mount in mounted:
            if not bounded_regex.match(pattern, mount):
                continue
            used = _used(mount)
            if used is not None and used >= percent(threshold):
                found.append({"diskusage": used, "mount": mount})
    return found


def _mount_points() -> list[str]:
    """As /proc/self/mounts has them, with its escapes undone."""
    lines = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    return [re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), line.split(" ")[1]) for line in lines]


def _used(mount: str) -> float | None:
    """Percent of what a user can use, as df and psutil have it; None for what is no file system any more."""
    try:
        status = os.statvfs(mount)
    except OSError:
        return None
    used = status.f_blocks - status.f_bfree
    total = used + status.f_bavail
    return 0.0 if not total else _rounded(100.0 * used / total)


def _rounded(value: float) -> float:
    return math.floor(value * 10 + 0.5) / 10 if value * 10 % 1 != 0.5 else round(value, 1)


_KIND = BeaconKind(check=_check, look=_look, interval=5.0, slow=True)

BEACONS: Mapping[str, BeaconKind] = {"diskusage": _KIND}
