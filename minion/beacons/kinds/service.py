"""The beacon `service`: services that run, stop, or change.

Asking a service manager starts a program. Where systemd has a control group for the service, it is asked again only
when that has come, gone or been made anew, and once a minute.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from minion.beacons.beacon import BeaconFailed, BeaconKind, Complaint, Found, Memory, Options, World, check_mapping

ASKED_AGAIN = 60.0
"""Seconds."""

_OF_SERVICE = {"onchangeonly": bool, "emitatstartup": bool, "is_running_state": bool, "delay": int | float}
_ALSO = ("uncleanshutdown", "oncleanshutdown")
_EXAMPLE = "`- services:` with a mapping for each, as `nginx: {}` or `nginx: {onchangeonly: True}`"
_GROUPS = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice")


def _check(options: Options) -> Iterator[Complaint]:
    wrong = list(check_mapping(options, "services", _EXAMPLE))
    yield from wrong
    for name, given in {} if wrong else options["services"].items():
        for key, value in (given or {}).items():
            inside = ("services", str(name), str(key))
            if key in _ALSO:
                continue
            if key not in _OF_SERVICE:
                yield inside, f"{key} is no option of a service: {', '.join((*_OF_SERVICE, _ALSO[0]))} are"
            elif not isinstance(value, _OF_SERVICE[key]):
                yield (
                    inside,
                    f"{key} must be {'a number of seconds' if key == 'delay' else 'true or false'}, not {value!r}",
                )


def _look(options: Options, memory: Memory, world: World) -> Found:
    found: Found = []
    for name, given in options["services"].items():
        kept = memory.setdefault(name, {})
        running = _running(name, kept, world)
        event = _event(name, given or {}, kept, world.now(), running=running)
        if event is not None:
            found.append(event)
    return found


def _known(options: Options, memory: Memory, world: World) -> Found | None:
    """What a look finds, where the control groups say that no service manager has to be asked."""
    for name in options["services"]:
        kept = memory.get(name, {})
        if not _is_as_before(name, kept, world):
            return None
    return _look(options, memory, world)


def _is_as_before(name: str, kept: Mapping[str, Any], world: World) -> bool:
    group = _control_group(name)
    return bool(group) and kept.get("group") == group and 0 <= world.now() - kept.get("asked", 0.0) < ASKED_AGAIN


def _running(name: str, kept: dict[str, Any], world: World) -> bool:
    if _is_as_before(name, kept, world):
        return bool(kept["running"])
    try:
        kept["running"] = bool(world.functions["service.status"](name))
    except Exception as error:
        raise BeaconFailed(f"service.status {name}: {error}") from error
    kept["asked"], kept["group"] = world.now(), _control_group(name)
    return bool(kept["running"])


def _control_group(name: str) -> int:
    """The number of the service's control group; 0 where there is none."""
    unit = name if "." in name else f"{name}.service"
    for folder in _GROUPS:
        try:
            return os.stat(f"{folder}/{unit}").st_ino  # noqa: PTH116  (each second)
        except OSError:
            continue
    return 0


def _event(
    name: str, given: Mapping[str, Any], kept: dict[str, Any], now: float, *, running: bool
) -> dict[str, Any] | None:
    state: dict[str, Any] = {"running": running}
    if not running and "uncleanshutdown" in given:
        state["uncleanshutdown"] = os.path.exists(given["uncleanshutdown"])  # noqa: PTH110
    event = {name: state, "service_name": name, "tag": name}
    if given.get("is_running_state", running) != running:
        return None
    if not given.get("onchangeonly", False):
        return event
    first = "told" not in kept
    changed = not first and kept["told"] != running
    kept["told"] = running
    if (first and given.get("emitatstartup", True)) or changed:
        if not given.get("delay", 0):
            return event
        kept["since"] = now
    if "since" in kept and now - kept["since"] > given.get("delay", 0):
        del kept["since"]
        return event
    return None


def _bad(options: Options, memory: Memory) -> bool:
    """Whether a service is not as it should be: it does not run, or with `is_running_state` of False it does."""
    return any(
        memory.get(name, {}).get("running", True) == ((given or {}).get("is_running_state") is False)
        for name, given in options["services"].items()
    )


_KIND = BeaconKind(
    check=_check,
    look=_look,
    bad=_bad,
    interval=5.0,
    slow=True,
    quick=_known,
    known=frozenset(("services",)),
    own_changes=True,
)

BEACONS: Mapping[str, BeaconKind] = {"service": _KIND}
