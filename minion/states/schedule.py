"""The state module `schedule`: jobs that the minion does by itself.

Behaviour: doc/ref/states/all/salt.states.schedule. What is there is what `schedule.list` says, what is wanted is what
`schedule.build_schedule_item` makes of the arguments; the functions of that module change it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from minion.machine.functions import Functions, KnownFunctions
from minion.machine.plan import Change, Machine, Plan, Reader, StateFailed, StateFunction, Value

Act = Callable[[Machine], None]

_HOW = ("persist", "offline")
"""Arguments about the change, and not about the job."""


def present(machine: Reader, name: str, *, functions: Functions, **arguments: Value) -> Plan:
    """The job is in the schedule, as the arguments say."""
    found = _jobs(functions, arguments)
    wanted = functions.look("schedule.build_schedule_item", [name], _about(arguments))
    if wanted.get("result") is False:
        raise StateFailed(str(wanted["comment"]))
    if found.get(name) == wanted:
        return Plan(comment=f"Job {name} in correct state")
    if name in found:
        change = Change(key=name, old=found[name], new=wanted, act=_call(functions, "modify", name, arguments))
        pending, done = f"Job: {name} would be modified in schedule.", f"Modifying job {name} in schedule"
    else:
        change = Change(key=name, shown="added", act=_call(functions, "add", name, arguments))
        pending, done = f"Job: {name} would be added to schedule.", f"Adding new job {name} to schedule"
    return Plan(changes=(change,), pending=pending, done=done)


def absent(machine: Reader, name: str, *, functions: Functions, **arguments: Value) -> Plan:
    """The job is not in the schedule."""
    if name not in _jobs(functions, arguments):
        return Plan(comment=f"Job {name} not present in schedule")
    change = Change(key=name, shown="removed", act=_call(functions, "delete", name, arguments))
    pending = f"Job: {name} would be deleted from schedule."
    return Plan(changes=(change,), pending=pending, done=f"Removed job {name} from schedule")


def enabled(machine: Reader, name: str, *, functions: Functions, **arguments: Value) -> Plan:
    """A job that is in the schedule is done."""
    return _turned(functions, name, True, arguments)


def disabled(machine: Reader, name: str, *, functions: Functions, **arguments: Value) -> Plan:
    """A job that is in the schedule is not done."""
    return _turned(functions, name, False, arguments)


def _turned(functions: KnownFunctions, name: str, wanted: bool, arguments: Mapping[str, Value]) -> Plan:
    word = "enabled" if wanted else "disabled"
    found = _jobs(functions, arguments).get(name)
    if found is None:
        return Plan(comment=f"Job {name} not present in schedule")
    done = f"{word.capitalize()} job {name} from schedule"
    if found["enabled"] == wanted:
        return Plan(comment=done)
    change = Change(key=name, shown=word, act=_call(functions, f"{word[:-1]}_job", name, arguments))
    return Plan(changes=(change,), pending=f"Job: {name} would be {word} in schedule.", done=done)


def _jobs(functions: KnownFunctions, arguments: Mapping[str, Value]) -> Mapping[str, Value]:
    how = {"show_all": True, "return_yaml": False, "offline": bool(arguments.get("offline"))}
    found: Mapping[str, Value] = functions.look("schedule.list", [], how)
    return found


def _about(arguments: Mapping[str, Value]) -> dict[str, Value]:
    return {key: value for key, value in arguments.items() if key not in _HOW}


def _call(functions: KnownFunctions, fun: str, name: str, arguments: Mapping[str, Value]) -> Act:
    def act(machine: Machine) -> None:
        said = functions.call(f"schedule.{fun}", [name], arguments)
        if said["result"] is False:
            raise StateFailed(str(said["comment"]))

    return act


STATES: Mapping[str, StateFunction] = {"absent": absent, "disabled": disabled, "enabled": enabled, "present": present}
