"""The state module `saltutil`: user modules brought up to date in the middle of a run.

Behaviour: doc/ref/states/all/salt.states.saltutil. Whether there is anything to fetch is known when it is fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from minion.machine.functions import Functions
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value

KINDS = ("beacons", "grains", "modules", "outputters", "pillar", "renderers", "returners", "states", "tops", "utils")


def sync_all(machine: Reader, name: str, *, functions: Functions, **arguments: Value) -> Plan:
    """All kinds."""

    def act(machine: Machine) -> Mapping[str, Value]:
        found = functions.call("saltutil.sync_all")
        changes = {kind: names for kind, names in found.items() if names}
        return {**changes, "__comment__": "Sync performed" if changes else "No updates to sync"}

    return _plan("all", act)


def _one(kind: str) -> StateFunction:
    def sync(machine: Reader, name: str, *, functions: Functions, **arguments: Value) -> Plan:
        def act(machine: Machine) -> Mapping[str, Value]:
            found = functions.call(f"saltutil.sync_{kind}")
            changes = {kind: found} if found else {}
            return {**changes, "__comment__": f"Updated {kind}." if found else "No updates to sync"}

        return _plan(kind, act)

    sync.__doc__ = f"Modules of `_{kind}`."
    return sync


def _plan(kind: str, act: Callable[[Machine], Mapping[str, Value]]) -> Plan:
    pending = f"saltutil.sync_{kind} would have been run"
    return Plan(changes=(Change(key="", act=act),), pending=pending, converges=False, each_time=True)


STATES: Mapping[str, StateFunction] = {"sync_all": sync_all, **{f"sync_{kind}": _one(kind) for kind in KINDS}}
