"""The beacon `status`: what functions of the module `status` say, now and then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from minion.beacons.beacon import BeaconFailed, BeaconKind, Complaint, Found, Memory, Options, World

_DEFAULT = ("loadavg", "cpustats", "meminfo", "vmstats", "time")


def _check(options: Options) -> Iterator[Complaint]:
    for name, items in options.items():
        if isinstance(items, dict):
            yield (name,), f"{name} must be a list of the values that are wanted, as `- {name}: [all]`"


def _look(options: Options, memory: Memory, world: World) -> Found:
    wanted = dict(options) or {name: ["all"] for name in _DEFAULT}
    said: dict[str, Any] = {}
    for name, items in wanted.items():
        function = world.functions.get(f"status.{name}")
        if function is None:
            raise BeaconFailed(f"there is no function status.{name}")
        said[name] = _chosen(function(), items if isinstance(items, list) else [items])
    stamp = datetime.fromtimestamp(world.now(), UTC).replace(tzinfo=None).isoformat()
    return [{"tag": stamp, "data": said}]


def _chosen(value: Any, items: list[Any]) -> Any:
    chosen: dict[Any, Any] = {}
    for item in items:
        if item == "all":
            return value
        try:
            chosen[item] = value[item] if isinstance(value, dict) else value[int(item)]
        except (LookupError, TypeError, ValueError) as error:
            return f"Status beacon is incorrectly configured: {error}"
    return chosen


_KIND = BeaconKind(check=_check, look=_look, interval=60.0, slow=True)

BEACONS: Mapping[str, BeaconKind] = {"status": _KIND}
