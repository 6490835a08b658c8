"""The state module `flatpak`: packages of Flatpak, and remotes.

Behaviour: doc/ref/states/all/salt.states.flatpak of Salt 3006.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from minion.arguments.types import Value
from minion.machine.plan import NULL, Change, Machine, Plan, Reader, StateFunction
from minion.providers import flatpaks


def installed(machine: Reader, name: str, *, location: str) -> Plan:
    """The package is there; a new one comes from the remote `location`."""
    if flatpaks.version_of(machine, name) is not None:
        return Plan(comment=f'Package "{name}" is already installed')
    return _turning(
        None, name, lambda machine: flatpaks.install(machine, location, name),
        pending=f'The package "{name}" would have been installed', done=f'The package "{name}" was installed',
    )  # fmt: skip


def uninstalled(machine: Reader, name: str) -> Plan:
    """The package is not there."""
    version = flatpaks.version_of(machine, name)
    if version is None:
        return Plan(comment=f"Package {name} is not installed")
    return _turning(
        version, None, lambda machine: flatpaks.uninstall(machine, name),
        pending=f"Package {name} would have been uninstalled", done=f"Package {name} uninstalled",
    )  # fmt: skip


def add_remote(machine: Reader, name: str, *, location: str) -> Plan:
    """Packages can come from this remote."""
    if name in flatpaks.remotes(machine):
        return Plan(comment=f'Remote "{name}" already exists')
    return _turning(
        None, name, lambda machine: flatpaks.add_remote(machine, name, location),
        pending=f'Remote "{name}" would have been added', done=f'Remote "{name}" was added',
    )  # fmt: skip


def _turning(old: Value, new: Value, tell: Callable[[Machine], str], *, pending: str, done: str) -> Plan:
    def act(machine: Machine) -> None:
        tell(machine)

    changes = (
        Change(key="old", reported=NULL if old is None else old, act=act),
        Change(key="new", reported=NULL if new is None else new, act=lambda machine: None),
    )
    return Plan(changes=changes, pending=pending, done=done)


STATES: Mapping[str, StateFunction] = {"add_remote": add_remote, "installed": installed, "uninstalled": uninstalled}
