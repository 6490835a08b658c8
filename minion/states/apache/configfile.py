"""The state module `apache`: a file of Apache's configuration, written from data.

Behaviour: doc/ref/states/all/salt.states.apache.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.arguments.types import List
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.apache.configuration import configuration
from minion.states.file.paths import behind, checked


def configfile(machine: Reader, name: str, *, config: List) -> Plan:
    """The file holds these directives and sections. The key `this` of a section is what stands behind its name."""
    path, found = behind(machine, checked(name))
    wanted = configuration(config)
    there = "" if found is None else machine.read(path).decode("utf-8", "surrogateescape")
    if wanted.strip() == there.strip():
        return Plan(comment="Configuration is up to date.")

    def write(machine: Machine) -> None:
        machine.write(path, f"{wanted}\n".encode("utf-8", "surrogateescape"))

    return Plan(
        changes=(
            Change(key="old", reported=there, act=write),
            Change(key="new", reported=wanted, act=_written_with_its_neighbour),
        ),
        pending="Configuration will update.",
        done="Successfully created configuration.",
    )


def _written_with_its_neighbour(machine: Machine) -> None:
    """The old text is replaced by the new one at once."""


STATES: Mapping[str, StateFunction] = {"configfile": configfile}
