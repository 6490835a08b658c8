"""Names and addresses of the machine. Called by `minion.grains.collect`.

Nothing here may wait for a name server: names are asked for in threads that are given up after a moment, and what was
known before stands in for an answer that does not come.
"""

from __future__ import annotations

import functools
import ipaddress
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minion.grains.files import read
from minion.machine.netlink import Interface, interfaces

Grains = dict[str, Any]

NAME_SECONDS = 0.05
"""How long resolvers are waited for, all together; /etc/hosts and a cache nearby answer well within it."""

_LOOKUPS = 16
"""Addresses whose names are looked up at most."""


def network_grains(before: Mapping[str, Any], *, fqdns: bool = True) -> Grains:
    """Interfaces, names and addresses. `before` has the grains of the last collection; without `fqdns` (Salt's
    `enable_fqdns_grains`) no address is looked up."""
    found = interfaces()
    outside = [one for name, card in found.items() if name != "lo" for one in (*card.ip4, *card.ip6)]
    return {**interface_grains(found), **name_grains(outside if fqdns else (), before)}


def name_grains(addresses: Sequence[str], before: Mapping[str, Any]) -> Grains:
    """Host name, fqdn and its addresses, and the names of these addresses of the machine."""
    hostname = socket.gethostname()
    kept = before if before.get("localhost") == hostname else {}
    asked: dict[str, Callable[[], Any]] = {"": lambda: _resolved(hostname)}
    for one in addresses[:_LOOKUPS]:
        if not ipaddress.ip_address(one).is_link_local:
            asked[one] = functools.partial(_name_of, one)
    answers = in_time(asked, NAME_SECONDS)
    fqdn, stands_for = answers.pop("", None) or (
        kept.get("fqdn", hostname),
        [*kept.get("fqdn_ip4", ()), *kept.get("fqdn_ip6", ())],
    )
    late = len(answers) < len(asked) - 1
    names = {name for name in answers.values() if name} | (set(kept.get("fqdns", ())) if late else set())
    host, _, domain = fqdn.partition(".")
    return {
        "localhost": hostname,
        "fqdn": fqdn,
        "host": host,
        "domain": domain,
        "fqdn_ip4": [one for one in stands_for if ":" not in one],
        "fqdn_ip6": [one for one in stands_for if ":" in one],
        "fqdns": sorted(names),
    }


def in_time(asked: Mapping[str, Callable[[], Any]], seconds: float) -> dict[str, Any]:
    """What was answered within so many seconds; None for a question that has no answer."""
    answers: dict[str, Any] = {}

    def ask(key: str, question: Callable[[], Any]) -> None:
        try:
            answers[key] = question()
        except OSError:
            answers[key] = None

    threads = [threading.Thread(target=ask, args=one, daemon=True) for one in asked.items()]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    return dict(answers)


def interface_grains(found: Mapping[str, Interface]) -> Grains:
    """Addresses by interface and family, and hardware addresses."""
    return {
        "ip4_interfaces": {name: list(one.ip4) for name, one in found.items()},
        "ip6_interfaces": {name: list(one.ip6) for name, one in found.items()},
        "ip_interfaces": {name: [*one.ip4, *one.ip6] for name, one in found.items()},
        "ipv4": sorted({address for one in found.values() for address in one.ip4}),
        "ipv6": sorted({address for one in found.values() for address in one.ip6}),
        "hwaddr_interfaces": {name: one.hardware for name, one in found.items() if one.hardware},
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


def _resolved(hostname: str) -> tuple[str, list[str]]:
    """The fqdn, as the resolver has it, and the addresses that it stands for."""
    found = socket.getaddrinfo(hostname, None, type=socket.SOCK_STREAM, flags=socket.AI_CANONNAME)
    canonical = next((entry[3] for entry in found if entry[3]), "")
    fqdn = next((name for name in (canonical, hostname) if "." in name and name != "localhost.localdomain"), hostname)
    return fqdn, list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _name_of(address: str) -> str:
    return socket.gethostbyaddr(address)[0]
