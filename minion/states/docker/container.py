"""The state module `docker_container`.

Behaviour: doc/ref/states/all/salt.states.docker_container.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from minion.arguments.types import ToCome
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.docker.engine import SHUTDOWN_TIMEOUT, DockerEngine, state_of


def stopped(
    machine: Reader,
    name: str,
    *,
    containers: list[str] | None = None,
    shutdown_timeout: int | None = None,
    unpause: bool = False,
    error_on_absent: bool = True,
    to_come: ToCome = frozenset(),
) -> Plan:
    """The containers do not run. `unpause`: those that are paused are stopped, too, which is else an error."""
    engine = DockerEngine(machine, to_come=to_come)
    targets = [str(each) for each in containers] if containers is not None else [name]
    states = {each: engine.state(each) for each in targets}
    absent = [each for each, state in states.items() if state is None]
    paused = [each for each, state in states.items() if state == "paused"]
    errors = []
    if absent and error_on_absent:
        errors.append(f"The following container(s) are absent: {', '.join(absent)}")
    if paused and not unpause:
        errors.append(f"The following container(s) are paused: {', '.join(paused)}")
    if errors:
        raise StateFailed(". ".join(errors))
    to_stop = [each for each, state in states.items() if state == "running"] + paused
    if not to_stop:
        which = f"Container '{targets[0]}' is" if len(targets) == 1 else "All specified containers are"
        return Plan(comment=f"{which} {'absent or ' if absent else ''}not running")
    changes = [
        Change(
            key=each,
            reported={"result": True, "state": {"old": states[each], "new": "stopped"}},
            act=partial(_stop, engine, each, shutdown_timeout),
        )
        for each in to_stop
    ]
    return Plan(
        changes=tuple(changes),
        pending=f"The following container(s) will be stopped: {', '.join(to_stop)}",
        done=f"The following container(s) were stopped: {', '.join(to_stop)}",
    )


def absent(machine: Reader, name: str, *, force: bool = False, to_come: ToCome = frozenset()) -> Plan:
    """There is no container of this name. One that runs is removed with `force` alone."""
    engine = DockerEngine(machine, to_come=to_come)
    found = engine.found("inspect_container", name)
    if found is None or str(found["Name"]).lstrip("/") != name:
        return Plan(comment=f"Container '{name}' does not exist")
    state = state_of(found)
    if state != "stopped" and not force:
        raise StateFailed("Container is running, set force to True to forcibly remove it")

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        try:
            engine.call("remove_container", name, force=force)
        except StateFailed as error:
            raise StateFailed(f"Failed to remove container '{name}': {error}") from None

    return Plan(
        changes=(Change(key="removed", reported=[found["Id"]], act=act),),
        pending=f"Container '{name}' will be removed",
        done=f"{'Forcibly' if state != 'stopped' else 'Successfully'} removed container '{name}'",
    )


def _stop(engine: DockerEngine, name: str, timeout: int | None, machine: Machine) -> None:
    machine.begin_elsewhere()
    seen = engine.call("inspect_container", name)
    if state_of(seen) == "paused":
        engine.call("unpause", name)
    engine.call("stop", name, timeout=timeout or (seen.get("Config") or {}).get("StopTimeout") or SHUTDOWN_TIMEOUT)


STATES: Mapping[str, StateFunction] = {"absent": absent, "stopped": stopped}
