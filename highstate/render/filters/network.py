"""Salt's Jinja filters for IP addresses and networks: arithmetic on text, no network is asked."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from highstate.types import Value

_Interface: TypeAlias = ipaddress.IPv4Interface | ipaddress.IPv6Interface


_TRAITS = {
    "global": "is_global",
    "public": "is_global",
    "link-local": "is_link_local",
    "linklocal": "is_link_local",
    "link_local": "is_link_local",
    "ll": "is_link_local",
    "loopback": "is_loopback",
    "lo": "is_loopback",
    "multicast": "is_multicast",
    "private": "is_private",
    "reserved": "is_reserved",
    "site-local": "is_site_local",
    "site_local": "is_site_local",
    "sl": "is_site_local",
    "unspecified": "is_unspecified",
}


def _interface(value: Value, version: int | None = None) -> _Interface | None:
    try:
        found = ipaddress.ip_interface(str(value))
    except ValueError:
        return None
    return found if version in (None, found.version) else None


def _is_ip(version: int | None) -> Callable[..., bool]:
    def check(value: Value, options: str | None = None) -> bool:
        found = _interface(value, version)
        return found is not None and _fits(found, options)

    return check


def _fits(found: _Interface, options: str | None) -> bool:
    """Whether an address has all of the traits named in `options` ("private, ll, ..."); unknown ones do not count."""
    wanted = {_TRAITS[one] for name in (options or "").split(",") if (one := name.strip()) in _TRAITS}
    return all(bool(getattr(found.ip, trait, False)) for trait in wanted)


def _addresses(version: int | None) -> Callable[..., Value]:
    def select(value: Value, options: str | None = None) -> Value:
        """The address, or those of a list; None (or an empty list) when there is none."""
        if isinstance(value, list | tuple | set):
            versions = (4, 6) if version is None else (version,)
            return [str(one) for each in versions for one in value if _kept(one, each, options)]
        return str(value) if _kept(value, version, options) else None

    return select


def _kept(value: Value, version: int | None, options: str | None) -> bool:
    found = _interface(value, version)
    return found is not None and _fits(found, options)


def ip_host(value: Value, options: str | None = None, version: int | None = None) -> Value:
    """Address with prefix length: 192.168.0.12/24."""
    if isinstance(value, list | tuple | set):
        return [str(found) for one in value if (found := _interface(one, version))]
    found = _interface(value, version)
    return str(found) if found else None


def network_hosts(value: Value, options: str | None = None, version: int | None = None) -> Value:
    """All hosts of a network, which must not be larger than a /16."""
    if isinstance(value, list | tuple | set):
        return [hosts for one in value if (hosts := network_hosts(one, options, version)) is not None]
    found = _interface(value, version)
    if found is None:
        return None
    if found.network.num_addresses > 65_536:
        raise ValueError(f"{found.network} has too many hosts to list")
    return [str(host) for host in found.network.hosts()]


def network_size(value: Value, options: str | None = None, version: int | None = None) -> Value:
    """Number of addresses in a network."""
    if isinstance(value, list | tuple | set):
        return [network_size(one, options, version) for one in value]
    found = _interface(value, version)
    return found.network.num_addresses if found else None


def ipwrap(value: Value) -> Value:
    """IPv6 addresses in brackets, others as they are."""
    if isinstance(value, list | tuple | set):
        return [ipwrap(one) for one in value]
    return f"[{value}]" if _interface(value, 6) and "/" not in str(value) else value


def filter_by_networks(values: Iterable[Value] | None, networks: Iterable[str] | None) -> list[str] | None:
    """Those addresses that are in one of the networks."""
    if values is None or networks is None:
        return list(values) if values is not None else None
    known = [ipaddress.ip_network(one) for one in networks]
    return [
        str(value)
        for value in values
        if (found := _interface(value)) and any(found.version == one.version and found.ip in one for one in known)
    ]


def mac_str_to_bytes(value: str) -> bytes:
    """Six bytes of `01:23:45:67:89:ab`, with any separator or none; ValueError for another form."""
    digits = value.replace(value[2], "") if len(value) == 17 else value
    if len(digits) != 12:
        raise ValueError(f"{value!r} is no MAC address")
    return bytes.fromhex(digits)


NETWORK_FILTERS: Mapping[str, Callable[..., Value]] = {
    "is_ip": _is_ip(None),
    "is_ipv4": _is_ip(4),
    "is_ipv6": _is_ip(6),
    "ipaddr": _addresses(None),
    "ipv4": _addresses(4),
    "ipv6": _addresses(6),
    "ip_host": ip_host,
    "network_hosts": network_hosts,
    "network_size": network_size,
    "ipwrap": ipwrap,
    "filter_by_networks": filter_by_networks,
    "mac_str_to_bytes": mac_str_to_bytes,
}
