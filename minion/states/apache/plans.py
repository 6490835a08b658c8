"""Plans that switch something of Apache on or off."""

from __future__ import annotations

from collections.abc import Callable

from minion.machine.failure import StateFailed
from minion.machine.plan import NULL, Change, Machine, Plan, Reader, Value
from minion.providers.apache.switches import ApacheSwitch, checked


def enabling(machine: Reader, switch: ApacheSwitch, name: str) -> Plan:
    """It is on."""
    if switch.enabled_as(machine, checked(name)):
        return Plan(comment=f"{name} already enabled.")
    failed = f"Failed to enable {name} Apache {switch.title}"
    if not switch.is_available(machine, name):
        raise StateFailed(
            f"{failed} ({switch.shown} {name} Not found): there is no {switch.available_path(name)} on this machine"
        )

    def act(machine: Machine) -> None:
        done = switch.enable(machine, name)
        if done.returncode != 0:
            raise StateFailed(f"{failed}: {done.stderr.strip() or done.stdout.strip()}")

    return _switching(f"Apache {switch.title} {name} is set to be enabled.", NULL, name, act)


def disabling(machine: Reader, switch: ApacheSwitch, name: str) -> Plan:
    """It is off."""
    enabled_as = switch.enabled_as(machine, checked(name))
    if not enabled_as:
        return Plan(comment=f"{name} already disabled.")

    def act(machine: Machine) -> None:
        done = switch.disable(machine, enabled_as)
        if done.returncode != 0:
            said = done.stderr.strip() or done.stdout.strip()
            raise StateFailed(f"Failed to disable {name} Apache {switch.title}: {said}")

    return _switching(f"Apache {switch.title} {name} is set to be disabled.", name, NULL, act)


def _switching(pending: str, old: Value, new: Value, act: Callable[[Machine], None]) -> Plan:
    changes = (Change(key="old", reported=old, act=act), Change(key="new", reported=new, act=_with_its_neighbour))
    return Plan(changes=changes, pending=pending)


def _with_its_neighbour(machine: Machine) -> None:
    """One program has done both."""
