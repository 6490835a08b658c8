"""The beacon `load`: load averages that leave their bounds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from minion.beacons.beacon import BeaconKind, Complaint, Found, Memory, Options, World

_AVERAGES = ("1m", "5m", "15m")
_EXAMPLE = "`- averages:` with lists of two numbers below 1m, 5m or 15m, as `1m: [0.0, 2.0]`"


def _check(options: Options) -> Iterator[Complaint]:
    averages = options.get("averages")
    if not isinstance(averages, Mapping) or not averages:
        yield (("averages",) if "averages" in options else ()), f"averages are missing: {_EXAMPLE}"
        return
    for name, bounds in averages.items():
        if name not in _AVERAGES:
            yield ("averages", str(name)), f"{name} is no load average: {_EXAMPLE}"
        elif not isinstance(bounds, list) or len(bounds) != 2 or not all(_is_number(each) for each in bounds):
            yield ("averages", name), f"{name} must be a list of the lowest and the highest load, not {bounds!r}"


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)


def _look(options: Options, memory: Memory, world: World) -> Found:
    now = dict(zip(_AVERAGES, os.getloadavg(), strict=True))
    bounds = {name: (float(low), float(high)) for name, (low, high) in options["averages"].items()}
    if not options.get("onchangeonly", False):
        return [now] if any(_outside(now[name], *bounds[name]) for name in bounds) else []
    before = dict(memory)
    memory.update(now)
    if not before:
        outside = any(_outside(now[name], *bounds[name]) for name in bounds)
        return [now] if outside and options.get("emitatstartup", True) else []
    return [now] if any(_crossed(before[name], now[name], *bounds[name]) for name in bounds) else []


def _outside(load: float, low: float, high: float) -> bool:
    return load < low or load > high


def _crossed(before: float, now: float, low: float, high: float) -> bool:
    """Whether a load went over the highest, or below the lowest."""
    return (now > high > before) or (now < low < before)


def _bad(options: Options, memory: Memory) -> bool:
    bounds = options["averages"].items()
    return any(name in memory and _outside(memory[name], float(low), float(high)) for name, (low, high) in bounds)


_KIND = BeaconKind(
    check=_check,
    look=_look,
    bad=_bad,
    known=frozenset(("averages", "emitatstartup", "onchangeonly")),
    own_changes=True,
)

BEACONS: Mapping[str, BeaconKind] = {"load": _KIND}
