"""The state module `beacon`: what the minion watches.

Behaviour: doc/ref/states/all/salt.states.beacon. What is there is what `beacons.list` says; the functions of that
module change it. With `save` they are kept for the next agent, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from minion.machine.failure import StateFailed
from minion.machine.functions import Functions, KnownFunctions
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value

Act = Callable[[Machine], None]


def present(machine: Reader, name: str, *, functions: Functions, save: bool = False, **arguments: Value) -> Plan:
    """The beacon is configured, with the arguments as its options."""
    found = _beacons(functions)
    wanted = [{key: value} for key, value in arguments.items()]
    if found.get(name) == wanted:
        return Plan(comment=f"Job {name} in correct state")
    checked: Any = functions.look("beacons.validate_beacon", [name, wanted])
    if not checked["result"]:
        word = "modifying" if name in found else "adding"
        raise StateFailed(f"Beacon {name} configuration invalid, not {word}.\n{checked['comment']}")
    if name in found:
        act = _call(functions, "modify", [name, wanted], save=save)
        change = Change(key=name, old=found[name], new=wanted, act=act)
        pending, done = f"Beacon: {name} would be modified.", f"Modifying {name} in beacons"
    else:
        change = Change(key=name, reported="added", act=_call(functions, "add", [name, wanted], save=save))
        pending, done = f"Beacon: {name} would be added.", f"Adding {name} to beacons"
    return _plan(change, pending, done, name, save=save)


def absent(machine: Reader, name: str, *, functions: Functions, save: bool = False, **arguments: Value) -> Plan:
    """The beacon is not configured."""
    if name not in _beacons(functions):
        return Plan(comment=f"{name} not configured in beacons")
    change = Change(key=name, reported="removed", act=_call(functions, "delete", [name], save=save))
    return _plan(change, f"Beacon: {name} would be deleted.", f"Removed {name} from beacons", name, save=save)


def enabled(machine: Reader, name: str, *, functions: Functions, **arguments: Value) -> Plan:
    """A beacon that is configured runs."""
    return _turned(functions, name, wanted=True)


def disabled(machine: Reader, name: str, *, functions: Functions, **arguments: Value) -> Plan:
    """A beacon that is configured does not run."""
    return _turned(functions, name, wanted=False)


def _turned(functions: KnownFunctions, name: str, *, wanted: bool) -> Plan:
    found = _beacons(functions)
    if name not in found:
        return Plan(comment=f"{name} not a configured beacon" if wanted else f"Job {name} is not configured.")
    done = f"Enabled {name} from beacons" if wanted else f"Disabled beacon {name}."
    items = found[name] if isinstance(found[name], list) else []
    if all(item.get("enabled", True) == wanted for item in items if "enabled" in item) and (
        wanted or any("enabled" in item for item in items)
    ):
        return Plan(comment=done)
    word = "enable" if wanted else "disable"
    act = _call(functions, f"{word}_beacon", [name], save=False)
    change = Change(key=name, reported=f"{word}d", act=act)
    return Plan(changes=(change,), pending=f"Beacon {name} would be {word}d.", done=done)


def _plan(change: Change, pending: str, done: str, name: str, *, save: bool) -> Plan:
    if not save:
        return Plan(changes=(change,), pending=pending, done=done)
    return Plan(
        changes=(change,), pending=f"{pending}\nBeacon {name} would be saved", done=f"{done}\nBeacon {name} saved"
    )


def _beacons(functions: KnownFunctions) -> Mapping[str, Any]:
    found: Mapping[str, Any] = functions.look("beacons.list", [], {"return_yaml": False})
    return found


def _call(functions: KnownFunctions, fun: str, args: list[Any], *, save: bool) -> Act:
    def act(machine: Machine) -> None:
        said: Any = functions.call(f"beacons.{fun}", args)
        if not said["result"]:
            raise StateFailed(str(said["comment"]))
        if save:
            functions.call("beacons.save")

    return act


STATES: Mapping[str, StateFunction] = {"absent": absent, "disabled": disabled, "enabled": enabled, "present": present}
