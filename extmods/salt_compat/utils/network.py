"""`salt.utils.network` and `salt.utils.validate.net`: addresses and names."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
from typing import Any

_PLAIN = re.compile(r"[^0-9A-Za-z_.-]")


def _read(kind: Any, text: Any) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True


def is_ip(ip_addr: Any) -> bool:
    """Whether it is an address."""
    return _read(ipaddress.ip_address, ip_addr)


def is_ipv4(ip_addr: Any) -> bool:
    """Whether it is an address of version 4."""
    return _read(ipaddress.IPv4Address, ip_addr)


def is_ipv6(ip_addr: Any) -> bool:
    """Whether it is an address of version 6."""
    return _read(ipaddress.IPv6Address, ip_addr)


def is_subnet(cidr: Any) -> bool:
    """Whether it is a network with its length."""
    return "/" in str(cidr) and _read(ipaddress.ip_network, cidr)


def is_loopback(ip_addr: Any) -> bool:
    """Whether it is an address of the machine itself."""
    return is_ip(ip_addr) and ipaddress.ip_address(ip_addr).is_loopback


def in_subnet(cidr: str, addr: Any = None) -> bool:
    """Whether one of some addresses (this machine's without any) lies in a network."""
    network = ipaddress.ip_network(cidr, strict=False)
    addresses = addr if isinstance(addr, list | tuple) else [addr] if addr else [*ip_addrs(), *ip_addrs6()]
    return any(ipaddress.ip_address(one) in network for one in addresses)


def calc_net(ipaddr: str, netmask: str | None = None) -> str:
    """The network of an address."""
    text = f"{ipaddr}/{netmask}" if netmask else ipaddr
    return str(ipaddress.ip_network(text, strict=False))


def cidr_to_ipv4_netmask(cidr_bits: Any) -> str:
    """A length as a mask; empty when it is none."""
    with contextlib.suppress(ValueError):
        return str(ipaddress.IPv4Network(f"0.0.0.0/{int(cidr_bits)}").netmask)
    return ""


def sanitize_host(host: str) -> str:
    """A host's name without what names do not have."""
    return _PLAIN.sub("", host)


def get_fqhostname() -> str:
    """The full name of this machine."""
    return socket.getfqdn().lower()


def host_to_ips(host: str) -> list[str] | None:
    """The addresses of a host; None when it is not found."""
    try:
        return list(dict.fromkeys(str(found[4][0]) for found in socket.getaddrinfo(host, None)))
    except OSError:
        return None


def ip_to_host(ip: str) -> str | None:
    """The name of an address; None when there is none."""
    with contextlib.suppress(OSError):
        return socket.gethostbyaddr(ip)[0]
    return None


def ip_bracket(addr: str, strip: bool = False) -> str:
    """An address as URLs have it."""
    bare = addr.strip("[]")
    return bare if strip or not is_ipv6(bare) else f"[{bare}]"


def ip_addrs(interface: str | None = None, include_loopback: bool = False, interface_data: Any = None) -> list[str]:
    """The addresses of this machine, version 4."""
    return _addresses(socket.AF_INET, interface, include_loopback)


def ip_addrs6(interface: str | None = None, include_loopback: bool = False, interface_data: Any = None) -> list[str]:
    """The addresses of this machine, version 6."""
    return _addresses(socket.AF_INET6, interface, include_loopback)


def _addresses(family: int, interface: str | None, include_loopback: bool) -> list[str]:
    import psutil

    found = {
        one.address.partition("%")[0]
        for name, addresses in psutil.net_if_addrs().items()
        if interface in (None, name)
        for one in addresses
        if one.family == family
    }
    return sorted(one for one in found if include_loopback or not is_loopback(one))


ipv4_addr, ipv6_addr, ip_addr = is_ipv4, is_ipv6, is_ip


def mac(addr: str) -> bool:
    """Whether it is the address of a network card."""
    return re.fullmatch(r"[0-9A-Fa-f]{2}([:-])[0-9A-Fa-f]{2}(\1[0-9A-Fa-f]{2}){4}", addr) is not None


def netmask(mask: str) -> bool:
    """Whether it is a mask of version 4."""
    return is_ipv4(mask) and _read(ipaddress.IPv4Network, f"0.0.0.0/{mask}")
