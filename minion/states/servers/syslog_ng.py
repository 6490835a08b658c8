"""The state module `syslog_ng`: statements of its configuration, and its daemon where no service manager has it.

Behaviour: doc/ref/states/all/salt.states.syslog_ng.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.arguments.types import AnyValue
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.syslog_ng import daemon
from minion.providers.syslog_ng.daemon import StartOptions
from minion.providers.syslog_ng.statements import statement


def config(machine: Reader, name: str, config: AnyValue, *, write: bool = True) -> Plan:
    """The configuration has this statement; it goes to the end of the file. Without `write` it is shown alone."""
    text = statement(name, config)
    if not write:
        return Plan(comment=text)
    path, content = daemon.config_file(machine), daemon.with_statement(machine, text)
    if content is None:
        return Plan(comment=f"{path} has the statement already")
    new = content

    def act(machine: Machine) -> None:
        machine.write(path, new)

    return Plan(
        changes=(Change(key="new", reported=text, act=act), Change(key="old", reported="", act=lambda machine: None)),
        pending=f"State syslog_ng will write '{text}' into {path}",
        done=f"The statement was written into {path}",
    )


def started(machine: Reader, name: str, *, options: StartOptions) -> Plan:
    """The daemon runs; one that does not is started with these options."""
    if daemon.pids(machine):
        return Plan(comment="Syslog-ng is already running")
    command = daemon.start_command(machine, options)
    return Plan(
        changes=(
            Change(key="new", reported=" ".join(command), act=lambda machine: daemon.start(machine, command)),
            Change(key="old", reported="", act=lambda machine: None),
        ),
        pending=f"Syslog_ng state module will start {command}",
        done="Syslog-ng was started",
    )


def stopped(machine: Reader, name: str) -> Plan:
    """The daemon does not run."""
    running = daemon.pids(machine)
    if not running:
        return Plan(comment="Syslog-ng is not running")
    return Plan(
        changes=(
            Change(key="old", reported=running, act=lambda machine: daemon.stop(machine, running)),
            Change(key="new", reported=[], act=lambda machine: None),
        ),
        pending=f"Syslog_ng state module will kill {len(running)} pids",
        done="Syslog-ng was stopped",
    )


def reloaded(machine: Reader, name: str) -> Plan:
    """The daemon reads its configuration anew, each time that the state runs: call it by `onchanges`."""

    def act(machine: Machine) -> None:
        daemon.reload(machine)

    return Plan(
        changes=(Change(key="", act=act),),
        pending="Syslog-ng would be reloaded",
        done="Config reload successful",
        converges=False,
        each_time=True,
    )


STATES: Mapping[str, StateFunction] = {
    "config": config,
    "reloaded": reloaded,
    "started": started,
    "stopped": stopped,
}
