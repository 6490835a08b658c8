"""The state module `docker_container`.

Behaviour: doc/ref/states/all/salt.states.docker_container.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, NamedTuple

from minion.arguments.types import AnyValue, Ignored, Seconds, ToCome, WatchedFun
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.providers.docker import attachments
from minion.providers.docker.containers import WantedContainer
from minion.providers.docker.engine import CLIENT_TIMEOUT, SHUTDOWN_TIMEOUT, DockerEngine, state_of
from minion.providers.docker.options import ContainerOptions
from minion.providers.docker.replacement import Replacement
from minion.providers.docker.runs import ContainerRun

_ALL_OUTPUT = Ignored("Salt gives them to nothing either: the output is all that the container wrote")


class RunningOptions(NamedTuple):
    """How a container is replaced and started."""

    image: str | None = None
    networks: AnyValue = None
    force: bool = False
    watch_action: str = "force"
    start: bool = True
    shutdown_timeout: int | None = None
    client_timeout: Seconds = CLIENT_TIMEOUT


def running(
    machine: Reader,
    name: str,
    *,
    how: RunningOptions,
    options: ContainerOptions,
    to_come: ToCome = frozenset(),
) -> Plan:
    """There is a container of this image and configuration, and it runs; one of another is replaced.

    `networks`: those that it is connected to, and no others; without it, that of `network_mode`. `start: False`: one
    that is as it shall be and does not run is left.
    """
    return _plan(machine, name, how, options, to_come, signal=None)


class OnceOptions(NamedTuple):
    """How a container is run once."""

    image: str | None = None
    networks: AnyValue = None
    bg: bool = False
    failhard: bool = True
    replace: bool = False
    force: bool = False
    client_timeout: Seconds = CLIENT_TIMEOUT
    stdout: Annotated[AnyValue, _ALL_OUTPUT] = None
    stderr: Annotated[AnyValue, _ALL_OUTPUT] = None
    timestamps: Annotated[AnyValue, _ALL_OUTPUT] = None
    tail: Annotated[AnyValue, _ALL_OUTPUT] = None
    since: Annotated[AnyValue, _ALL_OUTPUT] = None


def run(
    machine: Reader, name: str, *, how: OnceOptions, options: ContainerOptions, to_come: ToCome = frozenset()
) -> Plan:
    """Run a container each time, and wait for its end (`bg`: do not); `creates`, `unless` and `onlyif` keep it from it.

    An exit code that is not 0 is a failure, unless `failhard` is false. `replace`: a container of the name is removed,
    with `force` one that runs, too.
    """
    if how.image is None:
        raise StateFailed("The 'image' argument is required")
    engine = DockerEngine(machine, to_come=to_come, timeout=how.client_timeout)
    networks = attachments.wanted(engine, how.networks)
    wanted = WantedContainer(engine, how.image, options, networks or {})
    if not how.bg:  # it is looked at when it has ended, and removed then
        wanted = WantedContainer(engine, how.image, options._replace(auto_remove=None, rm=None), networks or {})
    once = ContainerRun(
        engine=engine, wanted=wanted, name=name, networks=networks, background=how.bg, replace=how.replace,
        force=how.force, remove=not how.bg and bool(options.auto_remove or options.rm),
    )  # fmt: skip
    once.refuse()

    def act(machine: Machine) -> Mapping[str, Any]:
        machine.begin_elsewhere()
        try:
            done = once.perform()
        except StateFailed as error:
            raise StateFailed(f"Encountered error running container: {error}") from None
        if how.bg:
            return done
        comment = f"Container ran and exited with a return code of {done['ExitCode']}"
        if done["ExitCode"] != 0 and how.failhard:
            raise StateFailed(comment, done)
        return {**done, "__comment__": comment}

    return Plan(
        changes=(Change(key="container", reported=how.image, predicted_only=True, act=act),),
        pending=f"Container would be run{' in the background' if how.bg else ''}",
        done="Container was run in the background",
        converges=False,
        each_time=True,
    )


def mod_watch(
    machine: Reader,
    name: str,
    *,
    sfun: WatchedFun,
    how: RunningOptions,
    options: ContainerOptions,
    to_come: ToCome = frozenset(),
) -> Plan:
    """What it does when something that it watches has changed: it is made anew, or gets the signal `watch_action`."""
    if sfun != "running":
        raise StateFailed(f"watch requisite is not implemented for {sfun}")
    if how.watch_action == "force":
        return _plan(machine, name, how._replace(force=True), options, to_come, signal=None)
    return _plan(machine, name, how._replace(force=False), options, to_come, signal=how.watch_action)


def _plan(
    machine: Reader,
    name: str,
    how: RunningOptions,
    options: ContainerOptions,
    to_come: ToCome,
    *,
    signal: str | None,
) -> Plan:
    if how.image is None:
        raise StateFailed("The 'image' argument is required")
    engine = DockerEngine(machine, to_come=to_come, timeout=how.client_timeout)
    networks = attachments.wanted(engine, how.networks)
    wanted = WantedContainer(engine, how.image, options, networks or {})
    replacing = Replacement(engine, name, wanted, networks, how.shutdown_timeout)
    found = engine.found("inspect_container", name)
    image = engine.found("inspect_image", how.image)
    if found is None:
        return _created(replacing)
    state, old = state_of(found), found["Image"]
    if image is None or how.force or old != image["Id"]:
        new = image["Id"] if image is not None else how.image
        return _replaced(replacing, state, how.start, {} if old == new else {"image": {"old": old, "new": new}})
    different = wanted.differences(machine, found, image)
    connected = attachments.differences(engine, found, networks, wanted.network_mode)
    if different:
        reported = {**different, **({"Networks": connected} if connected else {})}
        return _replaced(replacing, state, how.start, {"container": reported})
    return _kept(engine, name, how, state, connected, networks or {}, signal)


def _created(replacing: Replacement) -> Plan:
    name = replacing.name
    changes = [
        Change(key="state", reported={"old": None, "new": "running"}, act=replacing.create_and_start),
    ]
    return Plan(
        changes=tuple(changes), pending=f"Container '{name}' would be created", done=f"Created container '{name}'"
    )


def _replaced(replacing: Replacement, state: str, start: bool, reported: Mapping[str, Value]) -> Plan:
    name = replacing.name
    starts = start or state == "running"
    act = replacing.replace_and_start if starts else replacing.replace
    changes = [Change(key=key, reported=value, act=_done_by_replacement) for key, value in reported.items()]
    if not reported:
        changes.append(Change(key="forced_update", reported=True, act=_done_by_replacement))
    if starts and state != "running":
        changes.append(Change(key="state", old=state, new="running", act=_done_by_replacement))
    changes[0] = replace(changes[0], act=act)
    return Plan(
        changes=tuple(changes),
        pending=f"Container '{name}' would be replaced",
        done=f"Replaced container '{name}'",
        converges="forced_update" not in (change.key for change in changes),
        each_time=not reported,
    )


def _kept(
    engine: DockerEngine,
    name: str,
    how: RunningOptions,
    state: str,
    connected: Mapping[str, Value],
    networks: Mapping[str, Mapping[str, Any]],
    signal: str | None,
) -> Plan:
    """The container stays; its networks are changed, it is started, or gets a signal."""
    there = f"Container '{name}' is already configured as specified"
    changes: list[Change] = []
    said: list[str] = []
    if connected:
        act = partial(attachments.change, engine, name, list(connected), networks)
        changes.append(Change(key="container", reported={"Networks": connected}, act=act))
        said.append("Network configuration would be updated")
    if how.start and state != "running":
        changes.append(Change(key="state", old=state, new="running", act=partial(_start, engine, name, state)))
        said.append("Container would be started")
    elif signal is not None and state == "running":
        changes.append(Change(key="signal", reported=signal, act=partial(_signal, engine, name, signal)))
        said.append(f"Signal {signal} would be sent to container")
    if not changes:
        return Plan(comment=there)
    return Plan(
        changes=tuple(changes),
        pending=". ".join([there, *said]) + ".",
        done=". ".join([there, *(text.replace("would be", "was") for text in said)]) + ".",
        converges=signal is None,
    )


def _done_by_replacement(machine: Machine) -> None:
    """The first change has made the container anew."""


def _start(engine: DockerEngine, name: str, state: str, machine: Machine) -> None:
    machine.begin_elsewhere()
    try:
        engine.call("unpause" if state == "paused" else "start", name)
    except StateFailed as error:
        raise StateFailed(f"Failed to start container '{name}': '{error}'") from None
    if engine.state(name) != "running":
        raise StateFailed("Container is not running")


def _signal(engine: DockerEngine, name: str, signal: str, machine: Machine) -> None:
    machine.begin_elsewhere()
    engine.call("kill", name, signal=signal)


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


STATES: Mapping[str, StateFunction] = {"absent": absent, "run": run, "running": running, "stopped": stopped}
