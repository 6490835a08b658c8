"""`onlyif`, `unless`, `creates` and `check_cmd`: conditions that every state takes.

Called by the engine, before a plan is made and after it is acted on. Conditions are evaluated under test=True too,
as Salt does: they are meant to look and not to change.
Behaviour: doc/ref/states/requisites, "altering states".
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from minion.machine.environment import environment
from minion.machine.existence import exists
from minion.machine.failure import StateFailed
from minion.machine.functions import ConditionFunctions
from minion.machine.plan import Machine, Value
from minion.machine.umask import umask_of


class ConditionUnknown(Exception):
    """A condition that may not be evaluated now: the state is planned as if nothing kept it, and says so."""


def condition(machine: Machine, functions: ConditionFunctions | None, arguments: Mapping[str, Value]) -> str | None:
    """Why the state is not to run, in Salt's words; None when nothing keeps it. All of them are evaluated, as there."""
    kept, said = False, list[str]()
    if "onlyif" in arguments:
        entries = _listed(arguments["onlyif"])
        holds = all(_holds(machine, functions, entry, arguments, "onlyif") for entry in entries)
        kept = not holds
        said.append(f"onlyif condition is {'true' if holds else 'false'}")
    if "unless" in arguments:
        entries = _listed(arguments["unless"])
        holds = bool(entries) and all(_holds(machine, functions, entry, arguments, "unless") for entry in entries)
        kept = kept or holds
        said.append(f"unless condition is {'true' if holds else 'false'}")
    if "creates" in arguments:
        found = _created(machine, arguments["creates"])
        kept = kept or found is not None
        said.append(found or "Creates files not found")
    return "\n".join(said) if kept else None


def checked(machine: Machine, arguments: Mapping[str, Value], comment: str) -> str:
    """The comment when all of `check_cmd` succeed; StateFailed otherwise. Of its state it has `runas` alone (Salt)."""
    runas = arguments.get("runas")
    for command in _listed(arguments["check_cmd"]):
        if machine.run(str(command), runas=None if runas is None else str(runas)).returncode != 0:
            raise StateFailed("check_cmd determined the state failed")
    return "check_cmd determined the state succeeded" if arguments["check_cmd"] else comment


def _created(machine: Machine, creates: Value) -> str | None:
    if isinstance(creates, str) and exists(machine, creates):
        return f"{creates} exists"
    if isinstance(creates, list) and creates and all(exists(machine, str(path)) for path in creates):
        return "All files in creates exist"
    return None


def _holds(
    machine: Machine, functions: ConditionFunctions | None, entry: Value, arguments: Mapping[str, Value], kind: str
) -> bool:
    if isinstance(entry, bool):
        return entry
    if isinstance(entry, Mapping):
        return _answer(machine, functions, dict(entry), kind)
    if not isinstance(entry, str):
        raise StateFailed(f"{kind}: an entry must be a command, or a mapping with `fun`, not {entry!r}")
    text, options = as_command(entry, arguments)
    return machine.run(text, **options).returncode in (0, *_codes(arguments))


def as_command(entry: str, arguments: Mapping[str, Value]) -> tuple[str, dict[str, Any]]:
    """A condition's command as the arguments of its state have it run, for `Machine.run` (Salt's POSSIBLE_CMD_ARGS)."""
    excluded = arguments.get("cmd_opts_exclude") or ()
    given = {key: value for key, value in arguments.items() if value is not None and key not in excluded}
    shell = str(given.get("shell", "/bin/sh"))
    text = entry
    if "root" in given:
        text = shlex.join(["chroot", str(given["root"]), shell, "-c", entry])
    elif "shell" in given:
        text = shlex.join([shell, "-c", entry])
    if "umask" in given:
        text = f"umask {umask_of(given['umask']):04o}\n{text}"
    options: dict[str, Any] = {key: given[key] for key in ("cwd", "runas", "timeout") if key in given}
    variables = environment(given.get("env"), given.get("prepend_path"))
    return text, {**options, "env": variables} if variables else options


def _codes(arguments: Mapping[str, Value]) -> list[int]:
    codes = arguments.get("success_retcodes")
    if codes is None or "success_retcodes" in (arguments.get("cmd_opts_exclude") or ()):
        return []
    return [int(code) for code in _listed(codes)]


def _known(machine: Machine, fun: str, entry: Mapping[str, Value]) -> bool | None:
    """What a planned machine knows of a function that a condition calls."""
    ask = getattr(machine, "answered", None)
    if ask is None:
        return None
    args = entry.get("args") or ()
    found: bool | None = ask(fun, args if isinstance(args, (list, tuple)) else (args,), _but_args(entry))
    return found


def _but_args(entry: Mapping[str, Value]) -> dict[str, Value]:
    return {key: value for key, value in entry.items() if key != "args"}


def _answer(machine: Machine, functions: ConditionFunctions | None, entry: dict[str, Value], kind: str) -> bool:
    fun = entry.pop("fun", None)
    if not isinstance(fun, str):
        raise StateFailed(f"no `fun` argument in {kind}: {entry}")
    if functions is None:
        raise StateFailed(f"{kind}: no execution functions are available here to call {fun}")
    path = entry.pop("get_return", None)
    known = None if path else _known(machine, fun, entry)
    if known is not None:
        return known
    value, retcode = functions.call_with_retcode(fun, entry.pop("args", None) or (), entry)
    for step in str(path).split(":") if path else ():
        value = value.get(step) if isinstance(value, Mapping) else None
    return bool(value) and not retcode


def _listed(value: Value) -> list[Value]:
    return value if isinstance(value, list) else [value]
