"""The state module `debconf`: answers to the questions of Debian's packages, given before they ask.

Behaviour: doc/ref/states/all/salt.states.debconfmod. A password that debconf holds cannot be read: it is taken to be
right once there is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from minion.states.plan import Change, Machine, Plan, Reader, StateFailed, StateFunction, Value

_LINE = re.compile(r"^[\s*]*(\S+?):\s?(.*)$")


def set_(machine: Reader, name: str, *, data: Value) -> Plan:
    """The questions of the package `name` are answered: `{question: {type: string, value: x}}`."""
    if not isinstance(data, Mapping) or not all(isinstance(one, Mapping) for one in data.values()):
        raise StateFailed("data must be a mapping of questions to mappings with type and value")
    have = _answers(machine, name)
    lines, shown = [], dict[str, str]()
    for question, answer in data.items():
        kind, value = str(answer.get("type", "string")), _value(answer.get("value"))
        if any("\n" in part for part in (str(question), kind, value)):
            raise StateFailed(f"The answer to {question} has several lines, which debconf cannot take here")
        old = have.get(str(question))
        if old == value or (kind == "password" and old):
            continue
        lines.append(f"{name} {question} {kind} {value}\n")
        shown[str(question)] = "(password hidden)" if kind == "password" else f"New value: {value}"
    if not shown:
        return Plan(comment="All specified answers are already set")
    return Plan(
        changes=tuple(Change(key=key, shown=value, act=_set("".join(lines))) for key, value in shown.items()),
        pending="Changes would be made",
        done=f"Set answers to: {', '.join(shown)}",
    )


def _answers(machine: Reader, name: str) -> dict[str, str]:
    asked = machine.query(["debconf-show", name])
    if asked.returncode == 127:
        raise StateFailed("There is no debconf-show program: debconf is for Debian and its kin")
    found = (_LINE.match(line) for line in asked.stdout.splitlines())
    return {one[1]: one[2].strip() for one in found if one is not None}


def _set(text: str) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        done = machine.run(["debconf-set-selections"], stdin=text)
        if done.returncode != 0:
            raise StateFailed(f"debconf-set-selections failed: {done.stderr.strip()}")

    return act


def _value(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


STATES: Mapping[str, StateFunction] = {"set": set_}
