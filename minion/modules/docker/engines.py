"""The engine of an execution function, what the engine says of itself, and networks and volumes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from minion.arguments.types import CommaList, Map, Pairs, Seconds
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers.docker.engine import CLIENT_TIMEOUT, DockerEngine
from minion.providers.docker.networks import NetworkOptions, wanted_network

_VERSION = re.compile(r"([\d.]+)")


def engine_of(context: Context, timeout: float = CLIENT_TIMEOUT) -> DockerEngine:
    """The engine that the minion's configuration names."""
    return DockerEngine(context.machine, timeout=timeout)


def version(context: Context) -> dict[str, Any]:
    """The engine's version, also as numbers in `VersionInfo` and `ApiVersionInfo`."""
    said: dict[str, Any] = dict(engine_of(context).call("version"))
    for key in ("Version", "ApiVersion"):
        found = _VERSION.match(str(said.get(key, "")))
        if found:
            said[f"{key}Info"] = [int(part) for part in found[1].split(".") if part]
    return said


def info(context: Context) -> dict[str, Any]:
    """What the engine says of itself and its machine."""
    return dict(engine_of(context).call("info"))


def networks(context: Context, names: CommaList = (), ids: CommaList = ()) -> list[dict[str, Any]]:
    """All networks, with the containers that are connected, or those of these names or IDs."""
    engine = engine_of(context)
    found = engine.call("networks", names=list(names) or None, ids=list(ids) or None)
    return [dict(engine.found("inspect_network", one["Id"]) or one) for one in found]


def inspect_network(context: Context, network_id: str) -> dict[str, Any]:
    """What the engine says of a network."""
    return dict(engine_of(context).call("inspect_network", network_id))


def create_network(
    context: Context, name: str, *, client_timeout: Seconds = CLIENT_TIMEOUT, network: NetworkOptions
) -> dict[str, Any]:
    """Make a network; its ID."""
    return dict(engine_of(context, client_timeout).call("create_network", name, **wanted_network(network).creation()))


def remove_network(context: Context, network_id: str) -> bool:
    """Take a network away, to which no container is connected."""
    engine_of(context).call("remove_network", network_id)
    return True


def connected(context: Context, name: str, verbose: bool = False) -> list[str] | dict[str, Any]:
    """The containers that are connected to a network; with `verbose` how."""
    containers = engine_of(context).call("inspect_network", name).get("Containers") or {}
    found = {one["Name"]: {**one, "Id": each} for each, one in containers.items()}
    return found if verbose else list(found)


def connect_container_to_network(
    context: Context, container: str, net_id: str, ipv4_address: str | None = None, ipv6_address: str | None = None,
    aliases: CommaList | None = None, links: Pairs | None = None, link_local_ips: CommaList | None = None,
    driver_opt: Map | None = None, mac_address: str | None = None,
) -> bool:  # fmt: skip
    """Connect a container to a network."""
    given: dict[str, Any] = {
        "ipv4_address": ipv4_address, "ipv6_address": ipv6_address, "aliases": list(aliases) if aliases else None,
        "links": links, "link_local_ips": list(link_local_ips) if link_local_ips else None,
        "driver_opt": driver_opt, "mac_address": mac_address,
    }  # fmt: skip
    options = {key: value for key, value in given.items() if value is not None}
    engine_of(context).call("connect_container_to_network", container, net_id, **options)
    return True


def disconnect_container_from_network(context: Context, container: str, network_id: str) -> bool:
    """Disconnect a container from a network."""
    engine_of(context).call("disconnect_container_from_network", container, network_id)
    return True


def disconnect_all_containers_from_network(context: Context, network_id: str) -> list[str]:
    """Disconnect all containers from a network; their names."""
    engine = engine_of(context)
    containers = engine.call("inspect_network", network_id).get("Containers") or {}
    for each in containers:
        engine.call("disconnect_container_from_network", each, network_id)
    return [one["Name"] for one in containers.values()]


def volumes(context: Context, filters: Map | None = None) -> dict[str, Any]:
    """All volumes, or those of a filter."""
    return dict(engine_of(context).call("volumes", filters=filters))


def inspect_volume(context: Context, name: str) -> dict[str, Any]:
    """What the engine says of a volume."""
    return dict(engine_of(context).call("inspect_volume", name))


def create_volume(
    context: Context, name: str, driver: str | None = None, driver_opts: Pairs | None = None
) -> dict[str, Any]:
    """Make a volume."""
    return dict(engine_of(context).call("create_volume", name, driver=driver, driver_opts=driver_opts))


def remove_volume(context: Context, name: str) -> bool:
    """Take a volume away, which no container has."""
    engine_of(context).call("remove_volume", name)
    return True


def prune(
    context: Context, containers: bool = False, networks: bool = False, images: bool = False, build: bool = False,
    volumes: bool = False, system: bool | None = None, dangling: bool | None = None, until: str | None = None,
    label: CommaList = (),
) -> dict[str, Any]:  # fmt: skip
    """Take away what nothing uses: of all kinds but volumes, unless kinds are named."""
    if system is None:
        system = not (containers or networks or images or build)
    filters: Mapping[str, Any] = {
        **({"dangling": dangling} if dangling is not None else {}),
        **({"until": until} if until else {}),
        **({"label": list(label)} if label else {}),
    }
    engine = engine_of(context)
    kinds = {"containers": containers, "images": images, "networks": networks}
    done = {kind: engine.call(f"prune_{kind}", filters=filters) for kind, one in kinds.items() if one or system}
    if build or system:
        done["build"] = engine.call("prune_builds", filters=filters)
    if volumes:
        done["volumes"] = engine.call("prune_volumes", filters=filters)
    return done


def inspect(context: Context, name: str) -> dict[str, Any]:
    """What the engine says of a container, else an image, else a volume, else a network."""
    engine = engine_of(context)
    for kind in ("container", "image", "volume", "network"):
        found = engine.found(f"inspect_{kind}", name)
        if found is not None:
            return dict(found)
    raise CallFailed(f"Error 404: No such image/container/volume/network: {name}")
