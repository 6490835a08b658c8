"""The state module `docker_network`.

Behaviour: doc/ref/states/all/salt.states.docker_network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minion.arguments.types import CommaList, ToCome
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.providers.docker.engine import DockerEngine
from minion.providers.docker.networks import NetworkOptions, WantedNetwork, wanted_network


def present(
    machine: Reader,
    name: str,
    *,
    containers: CommaList | None = None,
    reconnect: bool = True,
    network: NetworkOptions,
    to_come: ToCome = frozenset(),
) -> Plan:
    """There is a network of this configuration; one that has another is replaced.

    `containers`: those that run are connected to it. Without it, `reconnect` has those that were connected to a
    network that is replaced connected again: with their addresses, where those are still to be had.
    """
    engine = DockerEngine(machine, to_come=to_come)
    wanted = wanted_network(network)
    found = engine.found("inspect_network", name)
    connecting, warnings = _to_connect(engine, containers or ())
    if found is None:
        changes = [Change(key="created", reported=True, act=_creation(engine, name, wanted))]
        changes += _connections(engine, name, connecting)
        return Plan(
            changes=tuple(changes),
            warnings=warnings,
            pending="Network will be created",
            done=f"Network '{name}' created",
        )
    different = wanted.differences(found)
    connected: Mapping[str, Mapping[str, Any]] = found.get("Containers") or {}
    if different:
        again = {} if containers is not None or not reconnect else connected
        return _replacement(engine, name, wanted, different, connected, connecting, again, warnings)
    changes = _connections(engine, name, {each: known for each, known in connecting.items() if each not in connected})
    there = f"Network '{name}' already exists, and is configured as specified"
    return Plan(
        changes=tuple(changes),
        comment=there,
        warnings=warnings,
        pending=f"{there}. Containers will be connected",
        done=there,
    )


def absent(machine: Reader, name: str, *, to_come: ToCome = frozenset()) -> Plan:
    """There is no network of this name; containers are disconnected from it first."""
    engine = DockerEngine(machine, to_come=to_come)
    found = engine.found("inspect_network", name)
    if found is None:
        return Plan(comment=f"Network '{name}' already absent")
    return Plan(
        changes=tuple(_removal(engine, found)),
        pending=f"Network '{name}' will be removed",
        done=f"Removed network '{name}'",
    )


def _to_connect(engine: DockerEngine, containers: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """ID → name of the containers that run, and warnings of the others."""
    running: dict[str, str] = {}
    missing, stopped = [], []
    for each in containers:
        seen = engine.found("inspect_container", each)
        if seen is None:
            missing.append(each)
        elif not (seen.get("State") or {}).get("Running"):
            stopped.append(each)
        else:
            running[seen["Id"]] = each
    warnings = [f"The following containers do not exist: {', '.join(missing)}."] if missing else []
    warnings += [f"The following containers are not running: {', '.join(stopped)}."] if stopped else []
    return running, tuple(warnings)


def _creation(engine: DockerEngine, name: str, wanted: WantedNetwork) -> Any:
    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        try:
            engine.call("create_network", name, **wanted.creation())
        except StateFailed as error:
            raise StateFailed(f"Failed to create network '{name}': {error}") from None

    return act


def _connections(engine: DockerEngine, name: str, connecting: Mapping[str, str]) -> list[Change]:
    if not connecting:
        return []

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        for each in connecting:
            engine.call("connect_container_to_network", each, name)

    return [Change(key="connected", reported=list(connecting.values()), act=act)]


def _removal(engine: DockerEngine, found: Mapping[str, Any]) -> list[Change]:
    connected: Mapping[str, Mapping[str, Any]] = found.get("Containers") or {}
    name = str(found["Name"])

    def disconnect(machine: Machine) -> None:
        machine.begin_elsewhere()
        for each in connected:
            engine.call("disconnect_container_from_network", each, name)

    def remove(machine: Machine) -> None:
        machine.begin_elsewhere()
        try:
            engine.call("remove_network", name)
        except StateFailed as error:
            raise StateFailed(f"Failed to remove network: {error}") from None

    names = [str(each.get("Name")) for each in connected.values()]
    changes = [Change(key="disconnected", reported=names, act=disconnect)] if names else []
    return [*changes, Change(key="removed", reported=True, act=remove)]


def _replacement(
    engine: DockerEngine,
    name: str,
    wanted: WantedNetwork,
    different: Mapping[str, Value],
    connected: Mapping[str, Mapping[str, Any]],
    connecting: Mapping[str, str],
    again: Mapping[str, Mapping[str, Any]],
    warnings: tuple[str, ...],
) -> Plan:
    settings = {each: _settings(engine, each, name) for each in again}

    def remove(machine: Machine) -> None:
        machine.begin_elsewhere()
        for each in connected:
            engine.call("disconnect_container_from_network", each, name)
        engine.call("remove_network", name)

    def reconnect(machine: Machine) -> None:
        machine.begin_elsewhere()
        for each, kept in settings.items():
            try:
                engine.call("connect_container_to_network", each, name, **kept)
            except StateFailed:  # its address is none of the new network's
                engine.call("connect_container_to_network", each, name)

    names = [str(each["Name"]) for each in again.values()]
    gone = [str(one["Name"]) for each, one in connected.items() if each not in again and each not in connecting]
    changes = [
        Change(key=name, reported=different, act=remove),
        Change(key="recreated", reported=True, act=_creation(engine, name, wanted)),
        *([Change(key="reconnected", reported=names, act=reconnect)] if names else []),
        *_connections(engine, name, connecting),
        *([Change(key="disconnected", reported=gone, act=_done_by_removal)] if gone else []),
    ]
    return Plan(
        changes=tuple(changes),
        warnings=warnings,
        pending="Network would be recreated with new config",
        done=f"Network '{name}' was replaced with updated config",
    )


def _done_by_removal(machine: Machine) -> None:
    """The removal of the old network has disconnected them."""


def _settings(engine: DockerEngine, container: str, network: str) -> dict[str, Any]:
    """How a container is connected, as arguments of a new connection."""
    seen = engine.found("inspect_container", container) or {}
    had = ((seen.get("NetworkSettings") or {}).get("Networks") or {}).get(network) or {}
    own = {container[:12], (seen.get("Config") or {}).get("Hostname")}
    kept = {
        "aliases": [each for each in had.get("Aliases") or () if each not in own],
        "links": had.get("Links"),
        "ipv4_address": had.get("IPAddress"),
        "ipv6_address": had.get("GlobalIPv6Address"),
    }
    return {key: value for key, value in kept.items() if value}


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
