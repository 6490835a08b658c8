"""The state module `keyboard`: the layout of the keyboard on the console, and of the running X server.

Behaviour: doc/ref/states/all/salt.states.keyboard.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.plan import Change, Plan, Reader, StateFunction
from minion.providers.keyboard import Keyboard, console_of, x_server


def system(machine: Reader, name: str) -> Plan:
    """The console has this layout."""
    return _layout(machine, name, console_of(machine), "System", "system")


def xorg(machine: Reader, name: str) -> Plan:
    """The X server that runs has this layout, until it ends."""
    return _layout(machine, name, x_server(), "XOrg", "XOrg")


def _layout(machine: Reader, name: str, keyboard: Keyboard, title: str, word: str) -> Plan:
    if keyboard.layout(machine) == name:
        return Plan(comment=f"{title} layout {name} already set")
    return Plan(
        changes=(Change(key="layout", reported=name, act=lambda machine: keyboard.set(machine, name)),),
        pending=f"{title} layout {name} needs to be set",
        done=f"Set {word} keyboard layout {name}",
    )


STATES: Mapping[str, StateFunction] = {"system": system, "xorg": xorg}
