"""Names and addresses of the machine. Called by `minion.grains.collect`.

Nothing here may wait for a name server: the fqdn is asked for in a thread that is given up after a moment.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from minion.grains.system import read

Grains = dict[str, Any]

NAME_SECONDS = 0.05
"""How long the resolver is waited for; /etc/hosts and a cache nearby answer well within it."""


def host_grains() -> Grains:
    """Host name, domain, and the addresses that the fqdn stands for."""
    hostname = socket.gethostname()
    fqdn, addresses = _resolved(hostname)
    host, _, domain = fqdn.partition(".")
    return {
        "localhost": hostname,
        "fqdn": fqdn,
        "host": host,
        "domain": domain,
        "fqdn_ip4": [one for one in addresses if ":" not in one],
        "fqdn_ip6": [one for one in addresses if ":" in one],
    }


def interface_grains() -> Grains:
    """Addresses by interface and family, and hardware addresses."""
    import psutil

    ip4: dict[str, list[str]] = {}
    ip6: dict[str, list[str]] = {}
    hardware: dict[str, str] = {}
    by_name = psutil.net_if_addrs()
    order = {name: number for number, (_, name) in enumerate(socket.if_nameindex())}
    for name in sorted(by_name, key=lambda one: order.get(one, len(order))):
        ip4[name], ip6[name] = [], []
        for address in by_name[name]:
            if address.family == socket.AF_INET:
                ip4[name].append(address.address)
            elif address.family == socket.AF_INET6:
                ip6[name].append(address.address.partition("%")[0])
            elif address.family == psutil.AF_LINK:
                hardware[name] = address.address
    return {
        "ip4_interfaces": ip4,
        "ip6_interfaces": ip6,
        "ip_interfaces": {name: ip4[name] + ip6[name] for name in ip4},
        "ipv4": _sorted(ip4),
        "ipv6": _sorted(ip6),
        "hwaddr_interfaces": hardware,
    }


def gateway_grains() -> Grains:
    """The default gateways: an address, True for a route without one, False where there is none."""
    four = parse_route4(read("/proc/net/route"))
    six = parse_route6(read("/proc/net/ipv6_route"))
    return {"ip4_gw": four, "ip6_gw": six, "ip_gw": bool(four or six)}


def dns_grains() -> Grains:
    """What resolv.conf says."""
    return {"dns": parse_resolv_conf(read("/etc/resolv.conf"))}


def parse_route4(text: str) -> str | bool:
    """The IPv4 default gateway in /proc/net/route."""
    best: tuple[int, str | bool] | None = None
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) < 8 or fields[1] != "00000000" or fields[7] != "00000000":
            continue
        gateway = ".".join(str(byte) for byte in reversed(bytes.fromhex(fields[2])))
        found = (int(fields[6]), True if gateway == "0.0.0.0" else gateway)  # noqa: S104
        best = found if best is None or found[0] < best[0] else best
    return best[1] if best else False


def parse_route6(text: str) -> str | bool:
    """The IPv6 default gateway in /proc/net/ipv6_route."""
    best: tuple[int, str | bool] | None = None
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 10 or fields[0] != "0" * 32 or fields[1] != "00" or fields[9] == "lo":
            continue
        gateway = str(ipaddress.IPv6Address(bytes.fromhex(fields[4])))
        found = (int(fields[5], 16), True if gateway == "::" else gateway)
        best = found if best is None or found[0] < best[0] else best
    return best[1] if best else False


def parse_resolv_conf(text: str) -> dict[str, Any]:
    """Name servers, search list and options of resolv.conf(5)."""
    servers: list[str] = []
    found: dict[str, Any] = {"sortlist": [], "domain": "", "search": [], "options": []}
    for line in text.splitlines():
        words = re.split(r"[#;]", line)[0].split()
        if len(words) < 2:
            continue
        match words[0]:
            case "nameserver":
                servers.append(words[1])
            case "domain":
                found["domain"] = words[1]
            case "search" | "sortlist" | "options":
                found[words[0]] = words[1:]
    return {
        "nameservers": servers,
        "ip4_nameservers": [one for one in servers if ":" not in one],
        "ip6_nameservers": [one for one in servers if ":" in one],
        **found,
    }


def _sorted(by_name: Mapping[str, Sequence[str]]) -> list[str]:
    return sorted({one for addresses in by_name.values() for one in addresses})


def _resolved(hostname: str) -> tuple[str, list[str]]:
    """The fqdn and its addresses; the plain host name and none when the resolver takes too long."""
    answer: list[tuple[str, list[str]]] = []

    def ask() -> None:
        try:
            found = socket.getaddrinfo(hostname, None, type=socket.SOCK_STREAM, flags=socket.AI_CANONNAME)
        except OSError:
            return
        canonical = next((entry[3] for entry in found if entry[3]), "")
        names = [canonical, hostname]
        fqdn = next((name for name in names if "." in name and name != "localhost.localdomain"), hostname)
        answer.append((fqdn, list(dict.fromkeys(str(entry[4][0]) for entry in found))))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(NAME_SECONDS)
    return answer[0] if answer else (hostname, [])
