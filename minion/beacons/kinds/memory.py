"""The beacons `memusage` and `swapusage`: memory and swap that are in use beyond a threshold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from minion.beacons.beacon import BeaconKind, Found, Memory, Options, World, check_percent, percent

_KNOWN = frozenset(("percent", "emitatstartup", "onchangeonly"))


def _look(name: str, used: Callable[[dict[str, int]], float], options: Options, memory: Memory, world: World) -> Found:
    now = used(_meminfo())
    return [{name: now}] if now >= percent(options["percent"]) else []


def _meminfo() -> dict[str, int]:
    """/proc/meminfo; values in KiB."""
    lines = (line.split() for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
    return {words[0].rstrip(":"): int(words[1]) for words in lines if len(words) > 1}


def _memory(info: dict[str, int]) -> float:
    """Percent of memory that is not available, as psutil's `virtual_memory().percent`."""
    total = info["MemTotal"]
    available = info.get("MemAvailable", info["MemFree"] + info.get("Buffers", 0) + info.get("Cached", 0))
    return round(100.0 * (total - available) / total, 1) if total else 0.0


def _swap(info: dict[str, int]) -> float:
    """Percent of swap in use, as psutil's `swap_memory().percent`; 0 without any."""
    total = info.get("SwapTotal", 0)
    return round(100.0 * (total - info.get("SwapFree", 0)) / total, 1) if total else 0.0


_MEMUSAGE = BeaconKind(
    check=partial(check_percent, key="percent"), look=partial(_look, "memusage", _memory), known=_KNOWN
)
_SWAPUSAGE = BeaconKind(
    check=partial(check_percent, key="percent"), look=partial(_look, "swapusage", _swap), known=_KNOWN
)

BEACONS: Mapping[str, BeaconKind] = {"memusage": _MEMUSAGE, "swapusage": _SWAPUSAGE}
