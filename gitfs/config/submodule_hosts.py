"""Which hosts submodules may be fetched from: anybody who can push a branch writes their addresses.

`host_fault` is called by `gitfs.tree.gitlinks`, `address_fault` by `gitfs.mirror.submodules` before a fetch,
`fault_of_address` by the transports for the address that they connect to. Without `submodule_hosts` it is the host of
the remote alone. A name that a pattern allows may lead to no address of this machine or of this link, where services
may trust every client; neither may a place that a server of Git LFS names.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from gitfs.config.urls import host_and_port, same_server

_USUAL_PORTS = {"http": 80, "https": 443, "ssh": 22, "git": 9418}
_METADATA = frozenset(
    map(ipaddress.ip_address, ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16"))
)
"""Where clouds tell a machine its credentials: EC2 and those that follow it, Alibaba, Azure."""


def host_fault(url: str, parent: str, allowed: Collection[str]) -> str | None:
    """Why a submodule may not be fetched from this address, and what to set; None when it may.

    Args:
        url: of the submodule, checked by `parse_url`.
        parent: address of the remote.
        allowed: hosts as `submodule_hosts` has them: names or patterns (`*.example.org`).
    """
    host, port = host_and_port(url)
    if not host or same_server(parent, url) or _named(host, allowed):
        return None
    own, _ = host_and_port(parent)
    if host == own:
        scheme = urlsplit(url).scheme if "://" in url else "ssh"
        if port in (_USUAL_PORTS.get(scheme), host_and_port(parent)[1]):
            return None
        what = f"port {port} of {host} is not the remote's own"
    else:
        what = f"{host} is not the host of the remote"
    return (
        f"{what}; to fetch from there, add it to `submodule_hosts` ([{host}]) of the remote or `gitfs_submodule_hosts`"
    )


def address_fault(url: str, parent: str, allowed: Collection[str]) -> str | None:
    """Why the addresses of a host that a pattern allows may not be asked; None when they may. Asks the resolver."""
    host, port = host_and_port(url)
    if not host or host == host_and_port(parent)[0] or host in allowed:
        return None
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return None  # the connection fails and says why
    faults = (fault_of_address(host, str(address[0]), parent, allowed) for *_, address in found)
    return next(filter(None, faults), None)


def fault_of_address(host: str, address: str, parent: str, allowed: Collection[str]) -> str | None:
    """Why this address of a host may not be asked; None when it may.

    Args:
        host: name, in lower case.
        address: of IPv4 or IPv6, as `socket.getaddrinfo` writes it.
        parent: address of the remote, whose own host may be anywhere.
        allowed: as in `host_fault`; a host that is named itself may be anywhere.
    """
    if host == host_and_port(parent)[0] or host in allowed or not _is_inside(address):
        return None
    return f"{host} leads to {address}, inside this machine or link; name {host!r} itself in `submodule_hosts`"


def _named(host: str, allowed: Collection[str]) -> bool:
    return any(fnmatchcase(host, each.lower()) for each in allowed)


def _is_inside(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    inside = address.is_loopback or address.is_link_local or address.is_unspecified or address.is_multicast
    return inside or address in _METADATA
