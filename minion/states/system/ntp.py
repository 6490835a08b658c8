"""The state module `ntp`: the servers that the machine takes its time from.

Behaviour: doc/ref/states/all/salt.states.ntp, which is for Windows; here it is the program that keeps the time.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.arguments.types import List
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers import ntp


def managed(machine: Reader, name: str, *, servers: List) -> Plan:
    """These servers are named in its file, and no others."""
    if not servers or not all(isinstance(one, str) for one in servers):
        raise StateFailed("NTP servers must be a list of strings")
    program, wanted = ntp.time_program(machine), sorted(set(servers))
    there = sorted(set(ntp.servers(machine, program)))
    if there == wanted:
        return Plan(comment="NTP servers already configured as specified")
    text = ntp.with_servers(machine, program, wanted)
    return Plan(
        changes=(
            Change(key="old", reported=there, act=lambda machine: ntp.write(machine, program, text)),
            Change(key="new", reported=wanted, act=_with_its_neighbour),
        ),
        pending=f"NTP servers will be updated to: {', '.join(wanted)}",
        done="NTP servers updated",
    )


def _with_its_neighbour(machine: Machine) -> None:
    """One act writes the file."""


STATES: Mapping[str, StateFunction] = {"managed": managed}
