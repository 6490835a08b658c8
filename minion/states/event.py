"""The state module `event`: events to the controller.

Behaviour: doc/ref/states/all/salt.states.event.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.arguments.types import AnyValue, List, Map
from minion.machine.failure import StateFailed
from minion.machine.functions import Functions
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value


def send(
    machine: Reader,
    name: str,
    *,
    functions: Functions,
    data: AnyValue = None,
    preload: Map | None = None,
    with_env: bool = False,
    with_grains: bool | List = False,
    with_pillar: bool | List = False,
    show_changed: bool = True,
    **more: Value,
) -> Plan:
    """The event `name` with this data."""
    given = {"data": data, "preload": preload, "with_env": with_env}
    given |= {"with_grains": with_grains, "with_pillar": with_pillar}

    def act(machine: Machine) -> None:
        if functions.call("event.send", (name,), {**given, **more}) is not True:
            raise StateFailed("The event could not be sent")

    shown = show_changed and data is not None
    changes = [Change(key="tag", reported=name, act=_with_its_neighbour)] if show_changed else []
    changes.append(Change(key="data" if shown else "", reported=data, act=act))
    return Plan(
        changes=tuple(changes),
        pending="Event would have been fired",
        done="Event fired",
        converges=False,
        each_time=True,
    )


def wait(machine: Reader, name: str, **arguments: Value) -> Plan:
    """Nothing, until `mod_watch` is called."""
    return Plan()


def mod_watch(machine: Reader, name: str, *, functions: Functions, data: AnyValue = None) -> Plan:
    """The event, because something that it watches has changed."""
    return send(machine, name, functions=functions, data=data)


def _with_its_neighbour(machine: Machine) -> None:
    """One act sends tag and data."""


STATES: Mapping[str, StateFunction] = {"send": send, "fire_master": send, "wait": wait}
