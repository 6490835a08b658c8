"""The state module `timezone`: the time zone of the system.

Behaviour: doc/ref/states/all/salt.states.timezone. /etc/localtime is a symlink into the zones, /etc/timezone has the
name where the system keeps one.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction

ZONES = "/usr/share/zoneinfo"


def system(machine: Reader, name: str, *, utc: bool = True) -> Plan:
    """The zone is `name`. The hardware clock is left alone, so `utc` false is refused."""
    zone = f"{ZONES}/{name}"
    if not utc:
        raise StateFailed("utc: False is not supported: the hardware clock stays in UTC")
    if posixpath.normpath(zone) != zone or machine.stat(zone) is None:
        raise StateFailed(f"Zone {name} does not exist: there is no {zone} (is the package tzdata installed?)")
    link, noted = machine.stat("/etc/localtime"), machine.stat("/etc/timezone")
    current = "" if link is None else link.target.partition("zoneinfo/")[2]
    said = machine.read("/etc/timezone").decode().strip() if noted is not None else name
    if current == name and said == name:
        return Plan(comment=f"Timezone {name} already set, UTC already set to {utc}")

    def act(machine: Machine) -> None:
        if link is not None and link.kind != "symlink":
            machine.remove("/etc/localtime")
        machine.symlink(zone, "/etc/localtime")
        if noted is not None:
            machine.write("/etc/timezone", f"{name}\n".encode())

    return Plan(
        changes=(Change(key="timezone", reported=name, act=act),),
        pending=f"Timezone {name} needs to be set",
        done=f"Set timezone {name}",
    )


STATES: Mapping[str, StateFunction] = {"system": system}
