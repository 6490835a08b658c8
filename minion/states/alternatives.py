"""The state module `alternatives`: which of several programs a common name stands for.

Behaviour: Salt's states.alternatives; the work is done by update-alternatives(1).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction


def install(machine: Reader, name: str, *, link: str, path: str, priority: int) -> Plan:
    """`path` is one of the alternatives for `name`."""
    group = group_of(machine, name)
    if group.priorities.get(path) == str(priority):
        return Plan(comment=f"Alternative {path} for {name} is already registered")
    shown = {"name": name, "link": link, "path": path, "priority": priority}
    act = _run("--install", link, name, path, str(priority))
    return Plan(
        changes=tuple(Change(key=key, reported=shown[key], act=act if key == "name" else _nothing) for key in shown),
        pending=f"Alternative will be set for {name} to {path} with priority {priority}",
        done=f"Alternative for {name} set to path {path} with priority {priority}",
    )


def remove(machine: Reader, name: str, *, path: str) -> Plan:
    """`path` is none of the alternatives for `name`."""
    if path not in group_of(machine, name).priorities:
        return Plan(comment=f"Alternative for {name} doesn't exist")
    return Plan(
        changes=(Change(key="path", reported=path, act=_run("--remove", name, path)),),
        pending=f"Alternative for {name} will be removed",
        done=f"Alternative for {name} removed",
    )


def set_(machine: Reader, name: str, *, path: str) -> Plan:
    """`name` stands for `path`, whatever the priorities say."""
    group = group_of(machine, name)
    if group.value == path:
        return Plan(comment=f"Alternative for {name} already set to {path}")
    if path not in group.priorities:
        raise StateFailed(f"Alternative {path} for {name} doesn't exist")
    return Plan(
        changes=(Change(key="path", reported=path, act=_run("--set", name, path)),),
        pending=f"Alternative for {name} will be set to path {path}",
        done=f"Alternative for {name} set to path {path}",
    )


def auto(machine: Reader, name: str) -> Plan:
    """`name` stands for the alternative of the highest priority."""
    group = group_of(machine, name)
    if not group.priorities:
        raise StateFailed(f"There are no alternatives for {name}")
    if group.is_auto:
        return Plan(comment=f"{name} already in auto mode")
    return Plan(
        changes=(Change(key="result", reported="auto mode", act=_run("--auto", name)),),
        pending=f"{name} will be put in auto mode",
        done=f"{name} put in auto mode",
    )


class AlternativesGroup:
    """What `update-alternatives --query` says of a name."""

    def __init__(self, text: str) -> None:
        self.priorities: dict[str, str] = {}
        self.value, self.is_auto, last = "", False, ""
        for line in text.splitlines():
            key, _, value = line.partition(": ")
            if key == "Status":
                self.is_auto = value == "auto"
            elif key == "Value":
                self.value = value
            elif key == "Alternative":
                last = value
            elif key == "Priority":
                self.priorities[last] = value


def group_of(machine: Reader, name: str) -> AlternativesGroup:
    """The alternatives of a name; none when there is no such name."""
    asked = machine.query([program(), "--query", name])
    if asked.returncode == 127:
        raise StateFailed("There is no update-alternatives program on this machine")
    return AlternativesGroup(asked.stdout if asked.returncode == 0 else "")


def _run(*words: str) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        done = machine.run([program(), *words])
        if done.returncode != 0:
            raise StateFailed(f"update-alternatives: {done.stderr.strip() or done.stdout.strip()}")

    return act


def program() -> str:
    """The program that keeps alternatives here."""
    return shutil.which("update-alternatives") or "alternatives"


def _nothing(machine: Machine) -> None:
    """Done by its neighbour."""


STATES: Mapping[str, StateFunction] = {"auto": auto, "install": install, "remove": remove, "set": set_}
