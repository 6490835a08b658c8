"""network.routes: an interface has these static routes.

Behaviour: doc/ref/states/all/salt.states.network.
"""

from __future__ import annotations

from minion.arguments.types import List, Word
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Plan, Reader
from minion.providers.network.detection import network_files
from minion.providers.network.files import diff_of, write_all
from minion.providers.network.values import checked_name
from minion.states.network.effect import applied, named


def routes(
    machine: Reader,
    name: str,
    *,
    routes: List,
    require_reboot: Word = False,
    apply_hostname: Word = False,
    hostname: str = "",
) -> Plan:
    """The routes of an interface are these. With `require_reboot`, nothing is restarted."""
    if not all(isinstance(route, dict) for route in routes):
        raise StateFailed(f"Invalid option -- Route interface: {name}, Option: routes, Expected: [List of routes]")
    files = network_files(machine)
    there, wanted = files.routes(machine, name), files.wanted_routes(machine, checked_name(name), routes)
    if list(there) == list(wanted.shown):
        return Plan(comment=f"Interface {name} routes are up to date.")
    reported, pending = f"Added interface {name} routes.", f"Interface {name} routes are set to be added."
    done = f"Interface {name} routes added."
    if there:
        reported = diff_of(there, wanted.shown)
        pending, done = (
            f"Interface {name} routes are set to be updated:\n{reported}",
            f"Interface {name} routes updated.",
        )
    changes = [Change(key="network_routes", reported=reported, act=lambda machine: write_all(machine, wanted.files))]
    if apply_hostname and hostname:
        changes += named(machine, hostname)
    if not require_reboot:
        changes.append(applied(machine))
    return Plan(changes=tuple(changes), pending=pending, done=done)
