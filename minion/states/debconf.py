"""The state module `debconf`: answers to the questions of Debian's packages, given before they ask.

Behaviour: doc/ref/states/all/salt.states.debconfmod. A password that debconf holds cannot be read: it is taken to be
right once there is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated

from minion.arguments.sources import Sources
from minion.arguments.types import Context, Reads, Unfit
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.states.file.sources import of_source
from minion.states.file.sources import template as rendering

_LINE = re.compile(r"^[\s*]*(\S+?):\s?(.*)$")


def as_answers(value: Value) -> Mapping[str, tuple[str, str]]:
    """Question → type and answer, of `{question: {type: string, value: x}}`."""
    if not isinstance(value, Mapping) or not all(isinstance(one, Mapping) for one in value.values()):
        raise Unfit("a mapping of questions to mappings with type and value")
    return {
        str(question): (str(answer.get("type", "string")), _value(answer.get("value")))
        for question, answer in value.items()
    }


Answers = Annotated[Mapping[str, tuple[str, str]], Reads(as_answers)]


def set_(machine: Reader, name: str, *, data: Answers) -> Plan:
    """The questions of the package `name` are answered: `{question: {type: string, value: x}}`."""
    have = answers(machine, name)
    lines, shown = [], dict[str, str]()
    for question, (kind, value) in data.items():
        if any("\n" in part for part in (question, kind, value)):
            raise StateFailed(f"The answer to {question} has several lines, which debconf cannot take here")
        old = have.get(question)
        if old == value or (kind == "password" and old):
            continue
        lines.append(f"{name} {question} {kind} {value}\n")
        shown[question] = "(password hidden)" if kind == "password" else value
    if not shown:
        return Plan(comment="All specified answers are already set")
    return Plan(
        changes=tuple(Change(key=key, reported=value, act=_set("".join(lines))) for key, value in shown.items()),
        pending="Changes would be made",
        done=f"Set answers to: {', '.join(shown)}",
    )


def set_file(
    machine: Reader,
    name: str,
    *,
    source: Sources,
    template: str | None = None,
    context: Context | None = None,
    defaults: Context | None = None,
    saltenv: str = "base",
) -> Plan:
    """The answers of a file as `debconf-get-selections` writes it are set."""
    rendered = rendering(template, context, defaults, {"name": name})
    text = of_source(machine, source, saltenv, rendered, None).decode("utf-8", "replace")
    wanted: dict[tuple[str, str], str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        fields = line.split(None, 3)
        if len(fields) < 3:
            raise StateFailed(f"{source[0][0]}, line {number}: package, question, type and value are wanted")
        wanted[fields[0], fields[1]] = f"{line}\n"
    have = {package: answers(machine, package) for package in {package for package, _ in wanted}}
    lines = [line for (package, question), line in wanted.items() if _differs(have[package].get(question), line)]
    if not lines:
        return Plan(comment="All specified answers are already set")
    return Plan(
        changes=(Change(key="selections", reported=[_shown(line) for line in lines], act=_set("".join(lines))),),
        pending="Debconf selections would have been set.",
        done="Debconf selections were set.",
    )


def _differs(have: str | None, line: str) -> bool:
    fields = line.rstrip("\n").split(None, 3)
    if fields[2] == "password" and have:
        return False
    return have != (fields[3].strip() if len(fields) > 3 else "")


def _shown(line: str) -> str:
    fields = line.split(None, 3)
    return (
        f"{fields[1]}: (password hidden)" if fields[2] == "password" else f"{fields[1]}: {''.join(fields[3:]).strip()}"
    )


def answers(machine: Reader, name: str) -> dict[str, str]:
    """Question → answer of a package."""
    asked = machine.query(["debconf-show", name])
    if asked.returncode == 127:
        raise StateFailed("There is no debconf-show program: debconf is for Debian and its derivatives")
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


STATES: Mapping[str, StateFunction] = {"set": set_, "set_file": set_file}
