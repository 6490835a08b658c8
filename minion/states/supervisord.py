"""The state module `supervisord`: processes and groups that supervisord runs, or does not.

Behaviour: doc/ref/states/all/salt.states.supervisord. A name that ends with `:` or `:*` is a group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from minion.arguments.types import ToCome, WatchedFun
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.supervisorctl import FAILING, Process, Supervisor, SupervisorPlace, error_in, groups_of

_BRINGING = frozenset({"file", "pip", "pkg", "service"})
"""States of the same run that may bring supervisord, or start it."""


@dataclass(frozen=True, slots=True)
class _Target:
    """What a name stands for in what supervisord has."""

    name: str
    members: Mapping[str, Process]
    """The process, or all of the group; empty where supervisord has none."""

    @property
    def is_group(self) -> bool:
        return self.name.endswith(":")

    @property
    def titled(self) -> str:
        """`Service 'web'`, `Group 'web:'`."""
        return f"{'Group' if self.is_group else 'Service'} '{self.name}'"

    @property
    def word(self) -> str:
        """For a comment after the act: ` service`, ` group`; nothing where it was not there."""
        return (" group" if self.is_group else " service") if self.members else ""

    @property
    def addressed(self) -> str:
        """As supervisorctl takes it."""
        return f"{self.name}*" if self.is_group else self.name

    def stopped(self) -> list[str]:
        return [name for name, process in self.members.items() if process.stopped]

    def failing(self) -> list[str]:
        """Those that do not stay up, with what supervisord says of them."""
        return [f"{name}: {each.state} {each.reason}" for name, each in self.members.items() if each.state == FAILING]


def running(
    machine: Reader,
    name: str,
    *,
    restart: bool = False,
    update: bool = False,
    place: SupervisorPlace,
    to_come: ToCome = frozenset(),
) -> Plan:
    """The process, or each of the group, runs.

    Where supervisord does not have it, its configuration is read again and the process added. `restart`: restarted
    where it runs. `update`: supervisord reads its configuration again first, and restarts what is another there.
    """
    supervisor = Supervisor(place)
    try:
        target = _target(machine, supervisor, name)
    except StateFailed as failure:
        if any(state in _BRINGING for state, _ in to_come):
            return _promised(name, str(failure), f"Service {name} will be started once supervisord is there")
        raise
    if not target.members:
        return _added(supervisor, target, update)
    stopped, failing = target.stopped(), target.failing()
    if failing and not (stopped or restart or update):
        return Plan(comment=f"supervisord starts it again and again: {', '.join(failing)}", result=False)
    if not (stopped or restart or update):
        all_run = f"All services in group '{target.name}' are already running"
        one_runs = f"Service {target.name} is already running"
        there = f"Not starting already running{target.word}: {target.name}"
        return Plan(comment=there, test_comment=all_run if target.is_group else one_runs)
    step = f"{'Starting' if stopped else 'Restarting'}{target.word}: {target.name}"
    done = step if stopped or restart else "Updating supervisor"
    return Plan(
        changes=(Change(key=target.name, reported=done, act=_run(supervisor, target, restart, update)),),
        pending=_start_text(target, stopped) if stopped else f"{target.titled} will be {_again(restart, update)}",
        done=done,
        converges=not (restart or update),
        each_time=restart or update,
    )


def dead(machine: Reader, name: str, *, place: SupervisorPlace) -> Plan:
    """The process, or each of the group, does not run."""
    supervisor = Supervisor(place)
    target = _target(machine, supervisor, name)
    if not target.members:
        return Plan(comment=f"Service {target.name} doesn't exist")
    if len(target.stopped()) == len(target.members):
        return Plan(comment=f"Service {target.name} is not running")
    done = f"Stopping service: {target.name}"

    def act(machine: Machine) -> None:
        _require(supervisor, machine, "stop", target.addressed)

    return Plan(
        changes=(Change(key=target.name, reported=done, act=act),),
        pending=f"Service {target.name} is set to be stopped",
        done=done,
    )


def mod_watch(
    machine: Reader, name: str, *, sfun: WatchedFun, restart: bool = True, update: bool = False, place: SupervisorPlace
) -> Plan:
    """What it does when something that it watches has changed: it is restarted (`restart: False`: started at most)."""
    if sfun == "dead":
        return dead(machine, name, place=place)
    return running(machine, name, restart=restart, update=update, place=place)


def _target(machine: Reader, supervisor: Supervisor, name: str) -> _Target:
    """Raises StateFailed when supervisord cannot be asked."""
    name = name.removesuffix("*") if name.endswith(":*") else name
    processes = supervisor.processes(machine)
    if name in processes:
        return _Target(name, {name: processes[name]})
    if name in groups_of(processes):
        # A process without a group is one of its own name.
        members = {each: one for each, one in processes.items() if f"{each}:".startswith(name)}
        return _Target(name, members)
    return _Target(name, {})


def _promised(name: str, failure: str, text: str) -> Plan:
    """Under test=True, what an earlier state of the run brings is not there yet."""

    def act(machine: Machine) -> None:
        raise StateFailed(failure)

    return Plan(changes=(Change(key=name, reported=text, act=act),), pending=text)


def _added(supervisor: Supervisor, target: _Target, update: bool) -> Plan:
    """supervisord does not have it: it reads its configuration again, which starts what starts by itself."""
    steps = f"{'' if update else f'Adding service: {target.name} '}Starting: {target.name}"

    def act(machine: Machine) -> None:
        if update:
            _require(supervisor, machine, "update")
        else:
            supervisor.told(machine, "reread")
            _require(supervisor, machine, "add", target.name.removesuffix(":"))
        if _target(machine, supervisor, target.name).stopped():
            _require(supervisor, machine, "start", target.addressed)

    return Plan(
        changes=(Change(key=target.name, reported=steps, act=act),),
        pending=f"{target.titled if target.is_group else f'Service {target.name}'} will be added and started",
        done=f"Starting: {target.name}",
        converges=not update,
        each_time=update,
    )


def _start_text(target: _Target, stopped: Sequence[str]) -> str:
    if not target.is_group:
        return f"Service {target.name} will be started"
    if len(stopped) == len(target.members):
        return f"All services in group '{target.name}' will be started"
    return f"The following services will be started: {' '.join(stopped)}"


def _again(restart: bool, update: bool) -> str:
    if not update:
        return "restarted"
    return "updated, and restarted" if restart else "updated"


def _run(supervisor: Supervisor, target: _Target, restart: bool, update: bool) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        updated = update and f"{target.name.removesuffix(':')}: updated" in _require(supervisor, machine, "update")
        if _target(machine, supervisor, target.name).stopped():
            _require(supervisor, machine, "start", target.addressed)
        elif restart and not updated:  # what was updated has been restarted
            _require(supervisor, machine, "restart", target.addressed)

    return act


def _require(supervisor: Supervisor, machine: Machine, verb: str, *words: str) -> str:
    done = supervisor.told(machine, verb, *words)
    if error := error_in(done):
        raise StateFailed(error)
    return done.stdout


STATES: Mapping[str, StateFunction] = {"dead": dead, "running": running}
