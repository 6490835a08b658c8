"""network.*, as far as it shows the tables of the kernel: routes, neighbours, sockets; asked of ip(8) and psutil."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed


def routes(context: Context, family: str | None = None) -> list[dict[str, str]]:
    """The routes of `inet`, `inet6` or both."""
    if family not in (None, "inet", "inet6"):
        raise CallFailed(f"Invalid address family {family}")
    found = []
    for name, option in (("inet", "-4"), ("inet6", "-6")):
        if family in (None, name):
            found += [_route(name, one) for one in _ip(context, option, "route", "show", "table", "main")]
    return found


def default_route(context: Context, family: str | None = None) -> list[dict[str, str]]:
    """The routes to everywhere else."""
    return [one for one in routes(context, family) if one["destination"] in ("0.0.0.0", "::/0")]  # noqa: S104


def get_route(context: Context, ip: str) -> dict[str, Any]:
    """The way to an address: gateway, interface and the address that packets come from."""
    try:
        ipaddress.ip_address(ip)
    except ValueError as error:
        raise CallFailed(str(error)) from error
    found = (_ip(context, "-6" if ":" in ip else "-4", "route", "get", ip) or [{}])[0]
    return {"destination": ip, "gateway": found.get("gateway"), "interface": found.get("dev"),
            "source": found.get("prefsrc")}  # fmt: skip


def arp(context: Context) -> dict[str, str]:
    """Hardware address → IPv4 address of the machines nearby."""
    return neighbours("-4")(context)


def neighbours(option: str) -> Callable[[Context], dict[str, str]]:
    """A function that says hardware address → address, of IPv4 (`-4`) or IPv6 (`-6`)."""

    def ip_neighs(context: Context) -> dict[str, str]:
        return {one["lladdr"]: one["dst"] for one in _ip(context, option, "neigh", "show") if "lladdr" in one}

    ip_neighs.__doc__ = f"Hardware address → {'IPv6' if option == '-6' else 'IPv4'} address of the machines nearby."
    return ip_neighs


def netstat(context: Context) -> list[dict[str, Any]]:
    """Open sockets of TCP and UDP, with the process that has them."""
    import psutil

    names = {1: "tcp", 2: "udp"}
    found = []
    for one in psutil.net_connections("inet"):
        six = "6" if one.family.name == "AF_INET6" else ""
        found.append(
            {
                "proto": names[int(one.type)] + six,
                "local-address": _address(one.laddr),
                "remote-address": _address(one.raddr),
                "state": "" if one.status == "NONE" else one.status.replace("FIN_WAIT", "FIN_WAIT_"),
                "program": f"{one.pid}/{_program(one.pid)}" if one.pid else "-",
            }
        )
    return found


def _route(family: str, one: dict[str, Any]) -> dict[str, str]:
    everywhere = {"inet": "0.0.0.0/0", "inet6": "::/0"}[family]
    net = ipaddress.ip_network(everywhere if one["dst"] == "default" else one["dst"])
    nowhere = "0.0.0.0" if family == "inet" else "::"  # noqa: S104
    flags = "U" + ("G" if "gateway" in one else "") + ("H" if net.prefixlen == net.max_prefixlen else "")
    return {
        "addr_family": family,
        "destination": str(net.network_address) if family == "inet" else str(net),
        "gateway": one.get("gateway", nowhere),
        "netmask": str(net.netmask) if family == "inet" else "",
        "flags": flags,
        "interface": one.get("dev", ""),
    }


def _ip(context: Context, *words: str) -> list[dict[str, Any]]:
    done = context.machine.query(["ip", "-json", *words])
    if done.returncode == 127:
        raise CallFailed("There is no ip program: install the package iproute2")
    if done.returncode != 0:
        raise CallFailed(f"ip {' '.join(words)}: {done.stderr.strip()}")
    found: list[dict[str, Any]] = json.loads(done.stdout or "[]")
    return found


def _address(one: Any) -> str:
    return f"{one.ip}:{one.port}" if one else "0.0.0.0:*"


def _program(pid: int) -> str:
    import psutil

    try:
        return str(psutil.Process(pid).name())
    except psutil.Error:
        return ""
