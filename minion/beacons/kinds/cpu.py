"""The beacon `cpu`: processors that were busy beyond a threshold since the last look. Not Salt's; as its memusage."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from minion.beacons.beacon import BeaconKind, Found, Memory, Options, World, check_percent, percent


def _look(options: Options, memory: Memory, world: World) -> Found:
    ticks = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
    idle, total = ticks[3] + ticks[4], sum(ticks)
    before_idle, before_total = memory.get("idle", idle), memory.get("total", total)
    memory.update(idle=idle, total=total)
    if total <= before_total:
        return []
    busy = round(100.0 * (1 - (idle - before_idle) / (total - before_total)), 1)
    return [{"cpu": busy}] if busy >= percent(options["percent"]) else []


_KIND = BeaconKind(
    check=partial(check_percent, key="percent"),
    look=_look,
    interval=5.0,
    known=frozenset(("percent", "emitatstartup", "onchangeonly")),
)

BEACONS: Mapping[str, BeaconKind] = {"cpu": _KIND}
