"""The state module `disk`: how full a file system is. It changes nothing.

Behaviour: doc/ref/states/all/salt.states.disk.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.arguments.types import NumberOrText
from minion.machine.failure import StateFailed
from minion.machine.plan import Plan, Reader, StateFunction
from minion.providers.commands import complaint
from minion.states.file.paths import behind


def status(
    machine: Reader, name: str, *, maximum: NumberOrText | None = None, minimum: NumberOrText | None = None,
    absolute: bool = False, free: bool = False,
) -> Plan:  # fmt: skip
    """The file system that is mounted at `name`, or that has this folder, is as full as this.

    Limits are percent, or kilobytes when `absolute`; of what is used, or of what is free.
    """
    low, high = _limit("minimum", minimum, absolute), _limit("maximum", maximum, absolute)
    if low is not None and high is not None and low >= high:
        raise StateFailed("minimum must be less than maximum ")
    used, available = _space(machine, name, absolute)
    value, what = (available, "available") if free else (used, "used")
    unit = "KB" if absolute else "%"
    if low is not None and value < low:
        raise StateFailed(f"Disk {what} space is below minimum of {low} {unit} at {value} {unit}")
    if high is not None and value > high:
        raise StateFailed(f"Disk {what} space is above maximum of {high} {unit} at {value} {unit}")
    return Plan(comment="Disk used space in acceptable range")


def _limit(name: str, value: str | None, absolute: bool) -> int | None:
    if value is None:
        return None
    try:
        number = int(value.strip(" KB" if absolute else " %"))
    except ValueError:
        raise StateFailed(f"{name} must be an integer ") from None
    if not absolute and not 0 <= number <= 100:
        raise StateFailed(f"{name} must be in the range [0, 100] ")
    return number


def _space(machine: Reader, name: str, absolute: bool) -> tuple[float, float]:
    """What is used and what is free, in the unit of the limits."""
    done = machine.query(["df", "-P", "-k"])
    if done.returncode not in (0, 1):  # 1: one of them cannot be asked
        raise StateFailed(f"df cannot tell: {complaint(done)}")
    rows = [line.split(None, 5) for line in done.stdout.splitlines()[1:]]
    mounted = next((row for row in rows if row[5] == name), None)
    if mounted is not None:
        used = int(mounted[4].rstrip("%")) if mounted[4] != "-" else 0
        return (int(mounted[2]), int(mounted[3])) if absolute else (used, 100 - used)
    _, found = behind(machine, name)
    if found is None or found.kind != "directory":
        raise StateFailed(
            f"Disk mount {name} not present. Directory {name} does not exist or is not a directory"
        )  # fmt: skip
    of_folder = machine.query(["df", "-P", "-k", "--", name])
    if of_folder.returncode != 0:
        raise StateFailed(f"df cannot tell: {complaint(of_folder)}")
    row = of_folder.stdout.splitlines()[-1].split(None, 5)
    total, available = int(row[1]), int(row[3])
    if absolute:
        return total - available, available
    return (round((total - available) / total * 100, 1), round(available / total * 100, 1)) if total else (0, 0)


STATES: Mapping[str, StateFunction] = {"status": status}
