"""The networks that a container is connected to: those that are asked for, what differs, and the change of it.

Called by the state `docker_container.running`. Behaviour: "Network management" of
doc/ref/states/all/salt.states.docker_container, and `docker.compare_container_networks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine
from minion.providers.docker import podman, values
from minion.providers.docker.engine import DockerEngine

_STATIC = ("Aliases", "Links", "IPAMConfig")
_ARGUMENTS = frozenset(
    ("aliases", "links", "ipv4_address", "ipv6_address", "link_local_ips", "driver_opt", "mac_address")
)

Networks = Mapping[str, Mapping[str, Any]]
"""Network → arguments of the connection."""


def wanted(engine: DockerEngine, given: Any) -> Networks | None:
    """The networks of the argument; None where it is not given. Raises StateFailed for one that is not there."""
    if given is None:
        return None
    found: dict[str, Mapping[str, Any]] = {}
    for one in values.words(given) if given and not isinstance(given, Mapping) else [given] if given else []:
        each = one if isinstance(one, Mapping) else {one: None}
        found.update({str(name): _connection(str(name), arguments) for name, arguments in each.items()})
    there = {one["Name"] for one in engine.call("networks")} if found else set()
    if missing := sorted(set(found) - there):
        raise engine.lacking(f"The following networks are not present: {', '.join(missing)}")
    return found


def _connection(name: str, given: Any) -> Mapping[str, Any]:
    arguments = values.merged_pairs(given) or {}
    if not isinstance(arguments, Mapping):
        raise StateFailed(f"Invalid configuration for network '{name}' (see documentation)")
    if unknown := sorted(set(arguments) - _ARGUMENTS):
        raise StateFailed(f"Network '{name}' takes no {', '.join(unknown)}: there are {', '.join(sorted(_ARGUMENTS))}")
    if empty := sorted(key for key, value in arguments.items() if value is None):
        raise StateFailed(f"Config option '{empty[0]}' for network '{name}' is missing a value")
    return {key: values.texts(value) if key == "aliases" else value for key, value in arguments.items()}


def differences(engine: DockerEngine, found: Mapping[str, Any], networks: Networks | None, mode: str) -> dict[str, Any]:
    """Network → what is another in the container's connection, as Salt's `changes` has it."""
    had: Mapping[str, Any] = (found.get("NetworkSettings") or {}).get("Networks") or {}
    if networks is None:
        if mode.startswith("container:"):
            return {}
        networks = {engine.default_network if mode in ("default", "bridge") else mode: {}}
    own = {str(found["Id"])[:12], (found.get("Config") or {}).get("Hostname"), str(found.get("Name")).lstrip("/")}
    seen: dict[str, Any] = {}
    for name in sorted({*had, *networks}):
        old = _static(had.get(name), own) if name in had else None
        new = _static(_endpoint(networks[name]), own) if name in networks else None
        if old is not None and new is not None and new["IPAMConfig"] and engine.is_podman:
            old["IPAMConfig"] = podman.addresses_as_docker(had[name], new["IPAMConfig"]) or None
        if old is None or new is None:
            seen[name] = {"IPConfiguration": {"old": _how(old), "new": _how(new)}}
        changed = {key: {"old": (old or {}).get(key), "new": (new or {}).get(key)} for key in _STATIC}
        changed = {key: one for key, one in changed.items() if one["old"] != one["new"]}
        if changed:
            seen.setdefault(name, {}).update(changed)
    return seen


def change(engine: DockerEngine, name: str, changed: Sequence[str], networks: Networks, machine: Machine) -> None:
    """Connect the container to the networks that changed as they are wanted, and disconnect it from the others."""
    machine.begin_elsewhere()
    connected = (engine.call("inspect_container", name)["NetworkSettings"] or {}).get("Networks") or {}
    for network in changed:
        if network in connected:
            engine.call("disconnect_container_from_network", name, network)
        if network in networks:
            engine.call("connect_container_to_network", name, network, **networks[network])


def connect(engine: DockerEngine, container: str, networks: Networks) -> None:
    """Connect a new container to these networks, and to no others."""
    connected = (engine.call("inspect_container", container)["NetworkSettings"] or {}).get("Networks") or {}
    for network in set(connected) - set(networks):
        engine.call("disconnect_container_from_network", container, network)
    for network, arguments in networks.items():
        if network not in connected:
            engine.call("connect_container_to_network", container, network, **arguments)


def _how(connection: Mapping[str, Any] | None) -> str:
    if connection is None:
        return "not connected"
    return "static" if connection["IPAMConfig"] else "automatic"


def _endpoint(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments in the engine's words."""
    addresses = {
        "IPv4Address": arguments.get("ipv4_address"),
        "IPv6Address": arguments.get("ipv6_address"),
        "LinkLocalIPs": arguments.get("link_local_ips"),
    }
    links = arguments.get("links")
    return {
        "Aliases": arguments.get("aliases"),
        "Links": [f"{key}:{one}" for key, one in values.pairs(links, ":").items()] if links else None,
        "IPAMConfig": {key: one for key, one in addresses.items() if one},
    }


def _static(connection: Mapping[str, Any] | None, own: set[Any]) -> dict[str, Any]:
    """What people have chosen of a connection; the names that engines give by themselves are left out."""
    had = connection or {}
    return {
        "Aliases": sorted(one for one in had.get("Aliases") or () if one not in own) or None,
        "Links": sorted(had.get("Links") or ()) or None,
        "IPAMConfig": dict(had.get("IPAMConfig") or {}) or None,
    }
