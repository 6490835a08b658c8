"""The state module `cmd`: commands that run, each time or when something that they watch has changed.

Behaviour: doc/ref/states/all/salt.states.cmd. `creates`, `unless` and `onlyif` are the engine's. A command acts
whenever it runs, so no second plan is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.states.plan import Change, Machine, Plan, Reader, StateFailed, StateFunction, Value


def run(
    machine: Reader,
    name: str,
    *,
    cwd: Value = None,
    env: Value = None,
    runas: Value = None,
    shell: Value = None,
    timeout: Value = None,
    stdin: Value = None,
    stateful: Value = False,
    success_retcodes: Value = None,
    hide_output: bool = False,
) -> Plan:
    """The plan of cmd.run: one act, which is the command."""
    if stateful:
        raise StateFailed("stateful commands are not supported: use unless, onlyif or creates")
    if not isinstance(name, str) or not name.strip():
        raise StateFailed(f"The command must be text, not {name!r}")
    limit = _seconds(timeout)
    variables = environment(env)
    command: list[str] | str = [str(shell), "-c", name] if shell else name
    good = {0, *_codes(success_retcodes)}

    def act(machine: Machine) -> Mapping[str, Value]:
        done = machine.run(
            command,
            cwd=None if cwd is None else str(cwd),
            env=variables,
            runas=None if runas is None else str(runas),
            timeout=limit,
            stdin=None if stdin is None else str(stdin),
        )
        shown: dict[str, Any] = {
            "pid": done.pid,
            "retcode": done.returncode,
            "stdout": "" if hide_output else done.stdout.rstrip("\n"),
            "stderr": "" if hide_output else done.stderr.rstrip("\n"),
        }
        if done.returncode not in good:
            raise StateFailed(f'Command "{name}" run', shown)
        return shown

    return Plan(
        changes=(Change(key="", act=act),),
        pending=f'Command "{name}" would have been executed',
        done=f'Command "{name}" run',
        converges=False,
    )


def wait(machine: Reader, name: str, **arguments: Value) -> Plan:
    """cmd.wait: nothing, until `mod_watch` is called."""
    return Plan()


def mod_watch(machine: Reader, name: str, *, sfun: str = "run", **arguments: Value) -> Plan:
    """Run the command because something that it watches has changed."""
    if sfun not in ("run", "wait", "watch"):
        raise StateFailed(f"cmd.{sfun} does not work with the watch requisite, please use cmd.wait or cmd.run")
    known = run.__kwdefaults__ or {}
    return run(machine, name, **{key: value for key, value in arguments.items() if key in known})


def environment(env: Value) -> dict[str, str] | None:
    """`env` as Salt takes it: a mapping, or a list of mappings; values become text."""
    if not env:
        return None
    parts = env if isinstance(env, list) else [env]
    if not all(isinstance(part, Mapping) for part in parts):
        raise StateFailed("env must be a mapping, or a list of mappings, of names to values")
    return {str(key): _text(key, value) for part in parts for key, value in part.items()}


def _text(key: Value, value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping | list):
        raise StateFailed(f"env: {key} must be text, not {value!r}")
    return str(value)


def _seconds(timeout: Value) -> float | None:
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0:
        raise StateFailed(f"timeout must be a number of seconds, not {timeout!r}")
    return float(timeout)


def _codes(codes: Value) -> list[int]:
    listed = codes if isinstance(codes, list) else [] if codes is None else [codes]
    return [int(code) for code in listed]


STATES: Mapping[str, StateFunction] = {"run": run, "wait": wait, "watch": wait}
