"""Networks of a Docker engine: the arguments of `docker_network.present`, what they ask for, and what differs.

Called by the state and by `docker.create_network`. Salt makes a network of another name to compare with; here what the
engine makes of the arguments is known, so that a plan makes nothing.
Behaviour: doc/ref/states/all/salt.states.docker_network.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from minion.arguments.types import AnyValue, Ignored, Unsupported
from minion.machine.failure import StateFailed
from minion.providers.docker import values
from minion.providers.docker.values import BadDockerValue

BRIDGE_NAME = "com.docker.network.bridge.name"
_OF_PODMAN = ("driver", "host-local")
"""An option that podman says of each network."""
_POOL = {"subnet": "Subnet", "iprange": "IPRange", "gateway": "Gateway", "aux_addresses": "AuxiliaryAddresses"}
_POOL_ALIASES = {"ip_range": "iprange", "aux_address": "aux_addresses"}


class NetworkOptions(NamedTuple):
    """Arguments of a network."""

    driver: str | None = None
    options: AnyValue = None
    driver_opts: AnyValue = None
    driver_opt: AnyValue = None
    internal: bool = False
    labels: AnyValue = None
    enable_ipv6: bool | None = None
    ipv6: bool | None = None
    attachable: bool = False
    scope: str | None = None
    ingress: bool = False
    ipam: AnyValue = None
    ipam_driver: str | None = None
    ipam_opts: AnyValue = None
    ipam_pools: AnyValue = None
    subnet: AnyValue = None
    iprange: AnyValue = None
    ip_range: AnyValue = None
    gateway: AnyValue = None
    aux_addresses: AnyValue = None
    aux_address: AnyValue = None
    ignore_collisions: bool = False
    validate_ip_addrs: bool = True
    check_duplicate: Annotated[AnyValue, Ignored("a plan looks for the name, and engines refuse duplicates")] = None
    skip_translate: Annotated[AnyValue, Unsupported("give the arguments as they are documented")] = None


class WantedNetwork(NamedTuple):
    """A network as the engine would have it."""

    driver: str
    options: Mapping[str, str]
    internal: bool
    labels: Mapping[str, str]
    ipv6: bool
    attachable: bool
    scope: str | None
    ingress: bool
    ipam_driver: str
    ipam_options: Mapping[str, str]
    pools: Sequence[Mapping[str, Any]]

    def creation(self) -> dict[str, Any]:
        """The arguments of the SDK's `create_network`, without the name."""
        ipam: dict[str, Any] = {"Driver": self.ipam_driver, "Config": [dict(pool) for pool in self.pools]}
        if self.ipam_options:
            ipam["Options"] = dict(self.ipam_options)
        return {
            "driver": self.driver, "options": dict(self.options), "ipam": ipam, "internal": self.internal,
            "labels": dict(self.labels), "enable_ipv6": self.ipv6, "attachable": self.attachable,
            "scope": self.scope, "ingress": self.ingress,
        }  # fmt: skip

    def differences(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """What is another in the network that there is, as Salt's `changes` has it."""
        seen: dict[str, Any] = {}
        wanted = {
            "Driver": self.driver, "EnableIPv6": self.ipv6, "Internal": self.internal, "Attachable": self.attachable,
            "Ingress": self.ingress, "Labels": dict(self.labels), **({"Scope": self.scope} if self.scope else {}),
        }  # fmt: skip
        for key, value in wanted.items():
            if (found.get(key) or value) and found.get(key) != value:
                seen[key] = {"old": found.get(key), "new": value}
        if options := _different(found.get("Options") or {}, self.options, (BRIDGE_NAME,)):
            seen["Options"] = options
        ipam = found.get("IPAM") or {}
        changed = _different({"Driver": ipam.get("Driver")}, {"Driver": self.ipam_driver})
        own = {key: one for key, one in (ipam.get("Options") or {}).items() if (key, one) != _OF_PODMAN}
        if own != dict(self.ipam_options):
            changed["Options"] = {"old": ipam.get("Options"), "new": dict(self.ipam_options)}
        of_podman = _OF_PODMAN in (ipam.get("Options") or {}).items()
        asked = [_as_podman_shows(pool) for pool in self.pools] if of_podman else self.pools
        old, new = _sorted_pools(ipam.get("Config") or ()), _sorted_pools(asked)
        if old != new and (new or not _is_chosen_by_engine(old)):
            changed["Config"] = {"old": old, "new": new}
        return {**seen, "IPAM": changed} if changed else seen


def wanted_network(given: NetworkOptions) -> WantedNetwork:
    """What the arguments ask for. Raises StateFailed for those that are wrong."""
    invalid: dict[str, str] = {}
    options = _aliased(given, "options", "driver_opts", "driver_opt")
    ipv6 = _aliased(given, "enable_ipv6", "ipv6")
    checked = given.validate_ip_addrs
    read: dict[str, Any] = {}
    readers: tuple[tuple[str, Any, Callable[[Any], Any]], ...] = (
        ("options", options, values.pairs),
        ("labels", given.labels, values.labels),
        ("ipam_opts", given.ipam_opts, values.pairs),
        ("ipam_pools", given, lambda one: _pools(one, checked)),
    )
    for name, value, reader in readers:
        try:
            read[name] = reader(value) if value is not None else {}
        except BadDockerValue as error:
            invalid[name] = str(error)
    if invalid:
        said = ", ".join(f"{name}: {why}" for name, why in sorted(invalid.items()))
        raise StateFailed(f"Failed to translate input: {said}")
    whole = given.ipam
    if whole is not None and (given.ipam_driver or given.ipam_opts or read["ipam_pools"]):
        raise StateFailed(
            "Cannot mix the 'ipam' argument with any of the IPAM config arguments. See documentation for details."
        )
    ipam = whole if isinstance(whole, Mapping) else {}
    return WantedNetwork(
        driver=given.driver or "bridge",
        options={str(key): str(value) for key, value in read["options"].items()},
        internal=given.internal,
        labels=read["labels"],
        ipv6=bool(ipv6),
        attachable=given.attachable,
        scope=given.scope,
        ingress=given.ingress,
        ipam_driver=str(ipam.get("Driver") or given.ipam_driver or "default"),
        ipam_options=dict(ipam.get("Options") or read["ipam_opts"]),
        pools=[dict(pool) for pool in ipam.get("Config") or ()] or read["ipam_pools"],
    )


def _aliased(given: NetworkOptions, name: str, *aliases: str) -> Any:
    """The argument by its name or an alias. Raises StateFailed where both are given."""
    there = [each for each in (name, *aliases) if getattr(given, each) is not None]
    if len(there) > 1 and not given.ignore_collisions:
        raise StateFailed(f"'{there[1]}' is an alias for '{name}', they cannot both be used")
    return getattr(given, there[0]) if there else None


def _pools(given: NetworkOptions, checked: bool) -> list[dict[str, Any]]:
    """The pools of addresses, at most one of each version of IP."""
    one = {
        "subnet": given.subnet,
        "iprange": _aliased(given, "iprange", "ip_range"),
        "gateway": given.gateway,
        "aux_addresses": _aliased(given, "aux_addresses", "aux_address"),
    }
    pools = [{key: value for key, value in one.items() if value is not None}]
    for each in given.ipam_pools or ():
        if not isinstance(each, Mapping):
            raise BadDockerValue("ipam_pools must be a list of dictionaries")
        pools.append({_POOL_ALIASES.get(str(key), str(key)): value for key, value in each.items()})
    found = [_pool(pool, checked) for pool in pools if pool]
    versions = [ipaddress.ip_network(pool["Subnet"], strict=False).version for pool in found if checked]
    for version in (4, 6):
        if versions.count(version) > 1:
            raise BadDockerValue(f"Only one IPv{version} pool is permitted")
    if versions == [6]:
        raise BadDockerValue("An IPv4 pool is required when an IPv6 pool is used")
    return found


def _pool(pool: Mapping[str, Any], checked: bool) -> dict[str, Any]:
    if "subnet" not in pool:
        raise BadDockerValue("A subnet is required in each IPAM pool")
    if unknown := sorted(set(pool) - set(_POOL)):
        raise BadDockerValue(f"a pool has no {', '.join(unknown)}")
    read: dict[str, Any] = {}
    for key, value in pool.items():
        if key == "aux_addresses":
            read[_POOL[key]] = {name: values.address(one, checked) for name, one in values.pairs(value).items()}
        else:
            read[_POOL[key]] = (values.address if key == "gateway" else values.subnet)(value, checked)
    return read


def _different(old: Mapping[str, Any], new: Mapping[str, Any], ignored: Sequence[str] = ()) -> dict[str, Any]:
    """Keys with another value, in the order of their names."""
    return {
        key: {"old": old.get(key), "new": new.get(key)}
        for key in sorted({*old, *new})
        if key not in ignored and old.get(key) != new.get(key)
    }


def _as_podman_shows(pool: Mapping[str, Any]) -> dict[str, Any]:
    """With the gateway that podman gives a pool which has none, and without the range, which it does not show."""
    shown = {key: value for key, value in pool.items() if key != "IPRange"}
    if shown.get("Subnet") and not shown.get("Gateway"):
        shown["Gateway"] = str(ipaddress.ip_network(str(shown["Subnet"]), strict=False)[1])
    return shown


def _sorted_pools(pools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Without fields that are empty, which newer engines add."""
    kept = [{key: value for key, value in pool.items() if value} for pool in pools]
    return sorted(kept, key=lambda pool: sorted(map(str, pool.items())))


def _is_chosen_by_engine(pools: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the engine may have chosen them by itself: one of a subnet and a gateway."""
    return len(pools) == 1 and set(pools[0]) == {"Gateway", "Subnet"}
