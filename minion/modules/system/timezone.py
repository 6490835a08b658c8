"""The execution module `timezone`: the time zone of the system. The hardware clock is left alone."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from minion.execution.apply_state import act
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.states.timezone import ZONES


def get_zone(context: Context) -> str:
    """The zone's name: `Europe/Vienna`."""
    machine = context.machine
    link = machine.stat("/etc/localtime")
    if link is not None and "zoneinfo/" in link.target:
        return link.target.partition("zoneinfo/")[2]
    if machine.stat("/etc/timezone") is not None:
        return machine.read("/etc/timezone").decode().strip()
    return "UTC"


def get_zonecode(context: Context) -> str:
    """The zone's short name now: CET, CEST."""
    return _now(context).tzname() or ""


def get_offset(context: Context) -> str:
    """The zone's distance from UTC now: +0100."""
    return _now(context).strftime("%z")


def set_zone(context: Context, timezone: str) -> bool:
    """Set the zone."""
    act(context, "timezone.system", timezone)
    return True


def zone_compare(context: Context, timezone: str) -> bool:
    """Whether the zone is this one, by name or by its rules."""
    if get_zone(context) == timezone:
        return True
    machine, path = context.machine, f"{ZONES}/{timezone}"
    if ".." in timezone or machine.stat(path) is None:
        return False
    return machine.stat("/etc/localtime") is not None and machine.read("/etc/localtime") == machine.read(path)


def get_hwclock(context: Context) -> str:
    """What the hardware clock is said to keep: UTC or localtime."""
    if context.machine.stat("/etc/adjtime") is None:
        return "UTC"
    lines = context.machine.read("/etc/adjtime").decode().splitlines()
    return "localtime" if len(lines) > 2 and lines[2].strip() == "LOCAL" else "UTC"


def _now(context: Context) -> datetime.datetime:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    name = get_zone(context)
    try:
        return datetime.datetime.now(ZoneInfo(name))
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise CallFailed(f"Zone {name} is not known here: is the package tzdata installed?") from error


FUNCTIONS: Mapping[str, Any] = {
    "get_hwclock": get_hwclock,
    "get_offset": get_offset,
    "get_zone": get_zone,
    "get_zonecode": get_zonecode,
    "set_zone": set_zone,
    "zone_compare": zone_compare,
}
