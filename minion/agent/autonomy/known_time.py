"""What the time is while nobody can set it: counted from what a controller said last, by the clock that runs on.

A window is open where both this and the clock of the machine say so: who sets that clock back, stops it, or sets it
forward opens none. Part of `remediation`, which keeps the values on disk. A machine that was restarted counts from
what its clock says then, unless that is before a time that had already come.
"""

from __future__ import annotations

import math
import secrets
from pathlib import Path

import msgspec

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_LATEST = 253402300799.0
"""The end of the year 9999: what is later is no time."""


class KnownTime(msgspec.Struct, frozen=True, kw_only=True):
    """A moment by both clocks. Times are seconds since the epoch."""

    time: float = 0.0
    """What the time was; 0: nothing is known."""
    steady: float = 0.0
    """What the clock of the kernel said then."""
    boot: str = ""
    """Which start of the machine that clock counts from."""

    def at(self, steady: float, boot: str) -> float | None:
        """The time when the clock of the kernel says this; None where it has begun anew since."""
        if not self.time or boot != self.boot or steady < self.steady:
            return None
        return self.time + steady - self.steady


def told(time: float, steady: float, boot: str) -> KnownTime | None:
    """A controller says what the time is; None when it says none."""
    if not math.isfinite(time) or not 0 < time < _LATEST:
        return None
    return KnownTime(time=time, steady=steady, boot=boot)


def counted(known: KnownTime, wall: float, steady: float, boot: str) -> KnownTime | None:
    """What is known now; None where the clock of a restarted machine says a time that is past."""
    at = known.at(steady, boot)
    if at is None and wall < known.time:
        return None
    return KnownTime(time=wall if at is None else at, steady=steady, boot=boot)


def boot_id() -> str:
    """Of this start of the machine; of this process where the kernel says none."""
    try:
        found = _BOOT_ID.read_text("ascii").strip()[:64]
    except (OSError, ValueError):
        found = ""
    return found or secrets.token_hex(16)
