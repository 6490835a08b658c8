"""The state module `sysrc`: variables of FreeBSD's rc.conf.

Behaviour: saltext.freebsd.states.sysrc.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from minion.arguments.types import Scalar
from minion.machine.plan import NULL, Change, Machine, Plan, Reader, StateFunction, Value
from minion.providers import sysrc
from minion.providers.sysrc import RcFiles


def managed(machine: Reader, name: str, *, value: Scalar, files: RcFiles) -> Plan:
    """The variable has this value: in rc.conf, in `file`, or in that of a `jail`."""
    wanted, there = sysrc.value_of(value), sysrc.variables(machine, files, name)
    if there is not None and any(each.get(name) == wanted for each in there.values()):
        return Plan(comment=f"{name} is already set to the desired value.")
    place = files.file or next(iter(there or ()), "/etc/rc.conf")
    return Plan(
        changes=_turned(there, {place: {name: wanted}}, lambda machine: sysrc.assign(machine, files, name, wanted)),
        pending=f'The value of "{name}" will be changed!',
        done=f'The value of "{name}" was changed!',
    )


def absent(machine: Reader, name: str, *, files: RcFiles) -> Plan:
    """The variable is set nowhere."""
    there = sysrc.variables(machine, files, name)
    if there is None:
        return Plan(comment=f'"{name}" is already absent.')
    return Plan(
        changes=_turned(there, f"{name} removed", lambda machine: sysrc.remove(machine, files, name)),
        pending=f'"{name}" will be removed!',
        done=f'"{name}" was removed!',
    )


def _turned(old: Value, new: Value, act: Callable[[Machine], None]) -> tuple[Change, Change]:
    return (
        Change(key="old", reported=NULL if old is None else old, act=act),
        Change(key="new", reported=new, act=lambda machine: None),
    )


STATES: Mapping[str, StateFunction] = {"absent": absent, "managed": managed}
