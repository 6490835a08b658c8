"""The state module `schedule`: jobs that the minion does by itself.

Behaviour: doc/ref/states/all/salt.states.schedule. What is there is what `schedule.list` says, what is wanted is what
`schedule.build_schedule_item` makes of the arguments; the functions of that module change it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.functions import Functions, KnownFunctions
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value

Act = Callable[[Machine], None]


class JobChange(NamedTuple):
    """Arguments about the change, and not about the job."""

    persist: bool = True
    """Change what the agent reads at its start, too."""
    offline: bool = False
    """Change that alone."""


def present(machine: Reader, name: str, *, functions: Functions, how: JobChange, **arguments: Value) -> Plan:
    """The job is in the schedule, as the arguments say."""
    found = _jobs(functions, how)
    wanted = functions.look("schedule.build_schedule_item", [name], arguments)
    if wanted.get("result") is False:
        raise StateFailed(str(wanted["comment"]))
    if found.get(name) == wanted:
        return Plan(comment=f"Job {name} in correct state")
    if name in found:
        change = Change(
            key=name, old=found[name], new=wanted, act=_call(functions, "modify", name, {**arguments, **how._asdict()})
        )
        pending, done = f"Job: {name} would be modified in schedule.", f"Modifying job {name} in schedule"
    else:
        change = Change(key=name, reported="added", act=_call(functions, "add", name, {**arguments, **how._asdict()}))
        pending, done = f"Job: {name} would be added to schedule.", f"Adding new job {name} to schedule"
    return Plan(changes=(change,), pending=pending, done=done)


def absent(machine: Reader, name: str, *, functions: Functions, how: JobChange, **arguments: Value) -> Plan:
    """The job is not in the schedule."""
    if name not in _jobs(functions, how):
        return Plan(comment=f"Job {name} not present in schedule")
    change = Change(key=name, reported="removed", act=_call(functions, "delete", name, how._asdict()))
    pending = f"Job: {name} would be deleted from schedule."
    return Plan(changes=(change,), pending=pending, done=f"Removed job {name} from schedule")


def enabled(machine: Reader, name: str, *, functions: Functions, how: JobChange, **arguments: Value) -> Plan:
    """A job that is in the schedule is done."""
    return _turned(functions, name, True, how)


def disabled(machine: Reader, name: str, *, functions: Functions, how: JobChange, **arguments: Value) -> Plan:
    """A job that is in the schedule is not done."""
    return _turned(functions, name, False, how)


def _turned(functions: KnownFunctions, name: str, wanted: bool, how: JobChange) -> Plan:
    word = "enabled" if wanted else "disabled"
    found = _jobs(functions, how).get(name)
    if found is None:
        return Plan(comment=f"Job {name} not present in schedule")
    done = f"{word.capitalize()} job {name} from schedule"
    if found["enabled"] == wanted:
        return Plan(comment=done)
    change = Change(key=name, reported=word, act=_call(functions, f"{word[:-1]}_job", name, how._asdict()))
    return Plan(changes=(change,), pending=f"Job: {name} would be {word} in schedule.", done=done)


def _jobs(functions: KnownFunctions, how: JobChange) -> Mapping[str, Value]:
    asked = {"show_all": True, "return_yaml": False, "offline": how.offline}
    found: Mapping[str, Value] = functions.look("schedule.list", [], asked)
    return found


def _call(functions: KnownFunctions, fun: str, name: str, arguments: Mapping[str, Value]) -> Act:
    def act(machine: Machine) -> None:
        said = functions.call(f"schedule.{fun}", [name], arguments)
        if said["result"] is False:
            raise StateFailed(str(said["comment"]))

    return act


STATES: Mapping[str, StateFunction] = {"absent": absent, "disabled": disabled, "enabled": enabled, "present": present}
