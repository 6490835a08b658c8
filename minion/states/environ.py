"""The state module `environ`: variables of the environment that the commands of this run are started in.

Behaviour: doc/ref/states/all/salt.states.environ. They last as long as the run: nothing is written to the machine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from typing import Annotated, TypedDict, Unpack

from minion.arguments.types import Reads, Unfit, Unsupported
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value


def as_environ_value(value: Value) -> str | bool | Mapping[str, Value]:
    """The text of a variable, False, or a mapping of variables. Worded as Salt does."""
    if isinstance(value, str | Mapping) or value is False:
        return value
    raise Unfit("", "Environ value must be string, dict or False")


EnvironValue = Annotated[str | bool | Mapping[str, Value], Reads(as_environ_value, null=True)]


class _SetenvUnused(TypedDict, total=False):
    """Arguments of Salt's environ.setenv that are ignored or refused."""

    update_minion: Annotated[Value, Unsupported("the agent's environment is its unit's: put the variable there")]


def setenv(
    machine: Reader,
    name: str,
    *,
    value: EnvironValue,
    false_unsets: bool = False,
    clear_all: bool = False,
    permanent: bool = False,
    **_: Unpack[_SetenvUnused],
) -> Plan:
    """The variable, or each of a mapping, has this value; False empties it, or with `false_unsets` takes it away."""
    if permanent:
        raise StateFailed("permanent is for Windows; on this system put the variable into /etc/environment")
    now = variables(machine)
    given = value if isinstance(value, Mapping) else {name: value}
    wanted: dict[str, str | None] = {}
    for key, one in given.items():
        wanted[str(key)] = str(one) if one is not False else None if false_unsets else ""
    if clear_all:
        wanted |= {key: None if false_unsets else "" for key in now if key not in wanted}
    changed = {key: one for key, one in wanted.items() if now.get(key) != one}
    return Plan(
        changes=tuple(Change(key=key, reported=one or "", act=_Set(key, one)) for key, one in changed.items()),
        comment="Environ values were already set with the correct values",
        test_comment="Environ values are already set with the correct values",
        pending="Environ values will be changed",
        done="Environ values were set",
        transient=True,
    )


class _Set:
    """Sets one variable of this process, whose commands inherit it."""

    def __init__(self, key: str, value: str | None) -> None:
        self._key, self._value = key, value

    def __call__(self, machine: Machine) -> None:
        there = variables(machine)
        if self._value is None:
            there.pop(self._key, None)
        else:
            there[self._key] = self._value


def variables(machine: Reader) -> MutableMapping[str, str]:
    """The variables of this process; under test=True a copy of them, with what earlier states would have set."""
    found: MutableMapping[str, str] = getattr(machine, "planned_environ", os.environ)
    return found


STATES: Mapping[str, StateFunction] = {"setenv": setenv}
