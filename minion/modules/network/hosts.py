"""The execution module `hosts`: names of addresses in /etc/hosts. Read and written by the code of the states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.apply_state import act
from minion.execution.context import Context
from minion.states.host import host_lines


def list_hosts(context: Context) -> dict[str, Any]:
    """Address → its names, and the comment beside them; the lines that are comments as `comment-0`, `comment-1`, …"""
    found: dict[str, Any] = {}
    remarks = 0
    for line in host_lines(context.machine):
        if line.address:
            one = found.setdefault(line.address, {"aliases": []})
            one["aliases"] += line.names
            one.update({"comment": line.note} if line.note else {})
        elif (line.raw or "").lstrip().startswith("#"):
            found[f"comment-{remarks}"] = [(line.raw or "").strip()]
            remarks += 1
    return found


def get_ip(context: Context, host: str) -> str:
    """The address that a name stands beside; empty when there is none."""
    return next((line.address for line in host_lines(context.machine) if line.address and host in line.names), "")


def get_alias(context: Context, ip: str) -> list[str]:
    """The names of an address."""
    return [name for line in host_lines(context.machine) if line.address == ip for name in line.names]


def has_pair(context: Context, ip: str, alias: str) -> bool:
    """Whether a name stands beside an address."""
    return alias in get_alias(context, ip)


def add_host(context: Context, ip: str, alias: str) -> bool:
    """Put a name beside an address."""
    act(context, "host.present", alias, ip=ip)
    return True


def set_host(context: Context, ip: str, alias: str, comment: str | None = None) -> bool:
    """Have an address stand beside these names and no other."""
    act(context, "host.only", ip, hostnames=alias.split())
    return True if comment is None else set_comment(context, ip, comment)


def rm_host(context: Context, ip: str, alias: str) -> bool:
    """Have a name not stand beside an address."""
    act(context, "host.absent", alias, ip=ip)
    return True


def set_comment(context: Context, ip: str, comment: str) -> bool:
    """Set the comment of an address; false when it has no line."""
    names = get_alias(context, ip)
    if not names:
        return False
    act(context, "host.present", names[0], ip=ip, comment=comment)
    return True


FUNCTIONS: Mapping[str, Any] = {
    "add_host": add_host,
    "get_alias": get_alias,
    "get_ip": get_ip,
    "has_pair": has_pair,
    "list_hosts": list_hosts,
    "rm_host": rm_host,
    "set_comment": set_comment,
    "set_host": set_host,
}
