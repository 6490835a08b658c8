"""The state module `cmd`: commands that run, each time or when something that they watch has changed.

Behaviour: doc/ref/states/all/salt.states.cmd. `creates`, `unless` and `onlyif` are the engine's. A command acts
whenever it runs, so no second plan is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Unpack

from minion.arguments import spec_of
from minion.arguments.commands import ScriptArguments
from minion.arguments.types import Integers, Reads, ScriptContext, Texts, Timeout, Variables, WatchedFun, as_bool
from minion.machine.environment import environment
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Completed, Machine, Plan, Reader, StateFunction, Value
from minion.states.cmd.output import reread
from minion.states.cmd.script import content, run_script, source_of
from minion.states.unused_arguments import CommandOptions


def as_stateful(value: Value) -> str | None:
    """`stateful`: true, or a list in which `test_name` names a command for test=True; None where it is not set.

    A plan runs no command of an author's but conditions: the name is only shown.
    """
    if isinstance(value, list):
        return next((str(one["test_name"]) for one in value if isinstance(one, Mapping) and one.get("test_name")), "")
    return "" if as_bool(value) else None


Stateful = Annotated[str, Reads(as_stateful)]
"""Use it as `Stateful | None`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _How:
    """How a command is run, and what counts as success."""

    cwd: str | None
    env: Mapping[str, str] | None
    runas: str | None
    timeout: float | None
    stdin: str | None
    hide_output: bool
    stateful: bool
    codes: frozenset[int]
    stdout: tuple[str, ...]
    stderr: tuple[str, ...]

    def run(self, machine: Machine, command: list[str] | str) -> Completed:
        """Run it."""
        return machine.run(
            command, cwd=self.cwd, env=self.env, runas=self.runas, timeout=self.timeout, stdin=self.stdin
        )

    def shown(self, done: Completed, name: str) -> Mapping[str, Value]:
        """What stands in `changes`; StateFailed when it did not succeed."""
        said: dict[str, Value] = {
            "pid": done.pid,
            "retcode": 0 if not done.timed_out and self._forgiven(done) else done.returncode,
            "stdout": "" if self.hide_output else done.stdout.rstrip("\n"),
            "stderr": "" if self.hide_output else done.stderr.rstrip("\n"),
        }
        if self.stateful:
            changes = reread(said)
            if said["retcode"]:
                comment = str(changes.pop("__comment__", ""))
                raise StateFailed(comment or f'Command "{name}" run', changes)
            return changes
        if said["retcode"]:
            raise StateFailed(f'Command "{name}" run', said)
        return said

    def _forgiven(self, done: Completed) -> bool:
        """Whether its exit code is one of `success_retcodes`, or its output makes a success of any."""
        if done.returncode in self.codes:
            return True
        return any(one in done.stdout for one in self.stdout) or any(one in done.stderr for one in self.stderr)


def run(
    machine: Reader,
    name: str,
    *,
    cwd: str | None = None,
    root: str | None = None,
    env: Variables | None = None,
    prepend_path: str | None = None,
    runas: str | None = None,
    shell: str | None = None,
    timeout: Timeout | None = None,
    stdin: str | None = None,
    stateful: Stateful | None = None,
    ignore_timeout: bool = False,
    success_retcodes: Integers = (),
    success_stdout: Texts = (),
    success_stderr: Texts = (),
    hide_output: bool = False,
    **_: Unpack[CommandOptions],
) -> Plan:
    """The plan of cmd.run: one act, which is the command."""
    if not name.strip():
        raise StateFailed(f"The command must be text, not {name!r}")
    how = _How(
        cwd=cwd,
        env=environment(env, prepend_path),
        runas=runas,
        timeout=timeout,
        stdin=stdin,
        hide_output=hide_output,
        stateful=stateful is not None,
        codes=frozenset((0, *success_retcodes)),
        stdout=success_stdout,
        stderr=success_stderr,
    )
    command: list[str] | str = [shell, "-c", name] if shell else name
    if root:
        command = ["chroot", root, shell or "/bin/sh", "-c", name]

    def act(machine: Machine) -> Mapping[str, Value]:
        done = how.run(machine, command)
        if done.timed_out and ignore_timeout:
            return {"__comment__": f'Command "{name}" timed out, which is to be ignored'}
        return how.shown(done, name)

    note = f'; its own test, "{stateful}", is not run by a plan' if stateful else ""
    return Plan(
        changes=(Change(key="cmd", reported=name, predicted_only=True, act=act),),
        pending=f'Command "{name}" would have been executed{note}',
        done=f'Command "{name}" run',
        converges=False,
        each_time=True,
    )


def script(
    machine: Reader,
    name: str,
    *,
    source: str | None = None,
    args: ScriptArguments = "",
    template: str | None = None,
    context: ScriptContext | None = None,
    defaults: ScriptContext | None = None,
    saltenv: str = "base",
    cwd: str | None = None,
    env: Variables | None = None,
    runas: str | None = None,
    shell: str | None = None,
    timeout: Timeout | None = None,
    stdin: str | None = None,
    stateful: Stateful | None = None,
    success_retcodes: Integers = (),
    success_stdout: Texts = (),
    success_stderr: Texts = (),
    hide_output: bool = False,
    **_: Unpack[CommandOptions],
) -> Plan:
    """The plan of cmd.script: one act, which is the script. It is fetched and rendered by the plan already."""
    how = _How(
        cwd=cwd,
        env=environment(env),
        runas=runas,
        timeout=timeout,
        stdin=stdin,
        hide_output=hide_output,
        stateful=stateful is not None,
        codes=frozenset((0, *success_retcodes)),
        stdout=success_stdout,
        stderr=success_stderr,
    )
    path, more = source_of(name, source)
    data = content(machine, path, saltenv, template, {**(defaults or {}), **(context or {})})

    def launch(machine: Machine, line: str) -> Completed:
        return how.run(machine, [shell, "-c", line] if shell else line)

    def act(machine: Machine) -> Mapping[str, Value]:
        return how.shown(run_script(machine, data, args or more, how.cwd, how.runas, launch), name)

    return Plan(
        changes=(Change(key="cmd", reported=name, predicted_only=True, act=act),),
        pending=f"Command '{name}' would have been executed",
        done=f"Command '{name}' run",
        converges=False,
        each_time=True,
    )


def wait(machine: Reader, name: str, **arguments: Value) -> Plan:
    """cmd.wait and cmd.wait_script: nothing, until `mod_watch` is called."""
    return Plan()


def mod_watch(machine: Reader, name: str, *, sfun: WatchedFun = "run", **arguments: Value) -> Plan:
    """Run the command or script because something that it watches has changed."""
    function: StateFunction
    if sfun in ("run", "wait", "watch"):
        function = run
    elif sfun in ("script", "wait_script"):
        function = script
    else:
        raise StateFailed(f"cmd.{sfun} does not work with the watch requisite, please use cmd.wait or cmd.wait_script")
    spec = spec_of(function, 2)
    return function(machine, name, **spec.grouped(spec.convert(arguments)))


STATES: Mapping[str, StateFunction] = {
    "run": run,
    "script": script,
    "wait": wait,
    "wait_script": wait,
    "watch": wait,
}
