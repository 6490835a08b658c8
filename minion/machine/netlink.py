"""The network interfaces with their addresses, asked of the kernel over rtnetlink(7).

Called by `minion.grains.network` and the beacon `network_settings`. A library for it costs more time to load than all
other grains take; systems without netlink (FreeBSD) are left to psutil.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

_NEW_LINK, _GET_LINK, _NEW_ADDRESS, _GET_ADDRESS = 16, 18, 20, 22
_ERROR, _DONE = 2, 3
_DUMP = 0x301
"""NLM_F_REQUEST and NLM_F_DUMP."""
_LINK_ADDRESS, _LINK_NAME = 1, 3
_ADDRESS, _LOCAL = 1, 2
_CHANGES = 0x1 | 0x10 | 0x100
"""RTMGRP_LINK, RTMGRP_IPV4_IFADDR and RTMGRP_IPV6_IFADDR."""
_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
_LINK_HEAD, _ADDRESS_HEAD = 16, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """An interface."""

    ip4: tuple[str, ...] = ()
    ip6: tuple[str, ...] = ()
    hardware: str = ""


def interfaces() -> dict[str, Interface]:
    """Interfaces by name, in the kernel's order."""
    if not hasattr(socket, "AF_NETLINK"):
        return _by_psutil()
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0) as asked:
        asked.settimeout(2.0)
        links = parse_links(_dump(asked, _GET_LINK))
        return with_addresses(links, _dump(asked, _GET_ADDRESS))


def changes() -> socket.socket:
    """A socket that is readable when a link or an address has changed. Raises OSError."""
    told = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK, 0)
    try:
        told.bind((0, _CHANGES))
    except BaseException:
        told.close()
        raise
    return told


def parse_links(data: bytes) -> dict[int, tuple[str, Interface]]:
    """Number -> name and interface without addresses, from RTM_NEWLINK messages."""
    found: dict[int, tuple[str, Interface]] = {}
    for kind, body in _messages(data):
        if kind != _NEW_LINK:
            continue
        attributes = _attributes(body[_LINK_HEAD:])
        name = attributes.get(_LINK_NAME, b"").rstrip(b"\0").decode(errors="replace")
        hardware = ":".join(f"{byte:02x}" for byte in attributes.get(_LINK_ADDRESS, b""))
        found[struct.unpack_from("=i", body, 4)[0]] = (name, Interface(hardware=hardware))
    return found


def with_addresses(links: Mapping[int, tuple[str, Interface]], data: bytes) -> dict[str, Interface]:
    """The interfaces by name, with the addresses from RTM_NEWADDR messages."""
    found = dict(links)
    for kind, body in _messages(data):
        number = struct.unpack_from("=I", body, 4)[0] if kind == _NEW_ADDRESS else -1
        if number not in found:
            continue
        attributes = _attributes(body[_ADDRESS_HEAD:])
        # Of a link between two machines, the other end is `address` and this one `local`.
        packed = attributes.get(_LOCAL) or attributes.get(_ADDRESS)
        name, one = found[number]
        if packed and body[0] == socket.AF_INET:
            one = replace(one, ip4=(*one.ip4, str(ipaddress.IPv4Address(packed))))
        elif packed and body[0] == socket.AF_INET6:
            one = replace(one, ip6=(*one.ip6, str(ipaddress.IPv6Address(packed))))
        found[number] = (name, one)
    return dict(found.values())


def _dump(asked: socket.socket, kind: int) -> bytes:
    asked.send(_HEADER.pack(_HEADER.size + 1, kind, _DUMP, kind, 0) + b"\0")
    answer = b""
    while True:
        part = asked.recv(1 << 18)
        answer += part
        if not part or any(kind in (_DONE, _ERROR) for kind, _ in _messages(part)):
            return answer


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= _HEADER.size:
        length, kind, _, _, _ = _HEADER.unpack_from(data)
        if length < _HEADER.size:
            return
        yield kind, data[_HEADER.size : length]
        data = data[_aligned(length) :]


def _attributes(data: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if length < _ATTRIBUTE.size:
            break
        found[kind] = data[_ATTRIBUTE.size : length]
        data = data[_aligned(length) :]
    return found


def _aligned(length: int) -> int:
    return (length + 3) & ~3


def _by_psutil() -> dict[str, Interface]:
    import psutil

    found: dict[str, Interface] = {}
    for name, addresses in psutil.net_if_addrs().items():
        of_kind = {
            kind: tuple(one.address.partition("%")[0] for one in addresses if one.family == kind)
            for kind in (socket.AF_INET, socket.AF_INET6, psutil.AF_LINK)
        }
        hardware = "".join(of_kind[psutil.AF_LINK][:1])
        found[name] = Interface(ip4=of_kind[socket.AF_INET], ip6=of_kind[socket.AF_INET6], hardware=hardware)
    return found
