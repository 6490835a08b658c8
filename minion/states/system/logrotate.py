"""The state module `logrotate`: single directives of its configuration.

Behaviour: doc/ref/states/all/salt.states.logrotate.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.arguments.types import Scalar
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.providers import logrotate


def set_(
    machine: Reader,
    name: str,
    *,
    key: str,
    value: Scalar,
    setting: Scalar | None = None,
    conf_file: str = logrotate.MAIN,
) -> Plan:
    """A directive has this value; with `setting`, the directive `value` of the block `key` has that one."""
    found = logrotate.configuration(machine, conf_file)
    if setting is None:
        wanted, there = logrotate.number_or_text(value), logrotate.current(found, key)
        if isinstance(there, Mapping):
            raise StateFailed(f"Error: {key} includes a dict, and a specific setting inside the dict was not declared")
        title = f"command '{key}'"
    else:
        wanted, there = logrotate.number_or_text(setting), logrotate.current(found, key, str(value))
        title = f"block '{key}' command '{value}'"
    if _same(there, wanted):
        return Plan(comment=f"{title[0].upper()}{title[1:]} already has value: {wanted}")
    if setting is None:
        made = logrotate.with_directive(machine, conf_file, key, wanted)
    else:
        made = logrotate.with_setting(machine, conf_file, key, str(value), wanted)
    return Plan(
        changes=(
            Change(key="old", reported=there, act=lambda machine: machine.write(made.path, made.text.encode())),
            Change(key="new", reported=wanted, act=_with_its_neighbour),
        ),
        pending=f"{title[0].upper()}{title[1:]} will be set to value: {wanted}",
        done=f"Set {title} value: {wanted}",
    )


def _same(there: Value, wanted: Value) -> bool:
    """1 is not True here."""
    return bool(there == wanted) and isinstance(there, bool) == isinstance(wanted, bool)


def _with_its_neighbour(machine: Machine) -> None:
    """One act writes the file."""


STATES: Mapping[str, StateFunction] = {"set": set_}
