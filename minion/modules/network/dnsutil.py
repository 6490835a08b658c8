"""The execution module `dnsutil`: names and addresses, and the hosts file."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping
from typing import Any

from minion.execution.arguments import NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.grains import write
from minion.modules.network.dig import answers

HOSTS = "/etc/hosts"


def addresses(context: Context, host: str, nameserver: str | None = None) -> Any:
    """IPv4 addresses of a name."""
    return _found(context, host, nameserver, socket.AF_INET, "A")


def addresses6(context: Context, host: str, nameserver: str | None = None) -> Any:
    """IPv6 addresses of a name."""
    return _found(context, host, nameserver, socket.AF_INET6, "AAAA")


def mail_servers(
    context: Context, domain: str, resolve: bool = False, nameserver: str | None = None
) -> list[list[str]]:
    """Mail servers of a domain, each with its preference."""
    rows = [row.split() for row in _dig(context, domain, "MX", nameserver)]
    if not resolve:
        return rows
    return [[row[0], *_dig(context, row[1], "A", nameserver)] for row in rows]


def check_ip(context: Context, ip_addr: str) -> bool:
    """Whether a text is an address."""
    try:
        ipaddress.ip_address(ip_addr)
    except ValueError:
        return False
    return True


def parse_hosts(context: Context, hostsfile: str = HOSTS, hosts: str | None = None) -> Any:
    """Address → names of a hosts file, or of a text."""
    if hosts is None:
        if context.machine.stat(hostsfile) is None:
            return "Error: hosts data was not found"
        hosts = context.machine.read(hostsfile).decode("utf-8", "replace")
    found: dict[str, list[str]] = {}
    for line in hosts.splitlines():
        words = line.partition("#")[0].split()
        if len(words) > 1:
            found.setdefault(words[0], []).extend(words[1:])
    return found


def hosts_append(context: Context, hostsfile: str = HOSTS, ip_addr: str = "", entries: str = "") -> str:
    """Add names of an address to a hosts file, if they are not there."""
    if not check_ip(context, ip_addr):
        raise CallFailed(f"{ip_addr!r} is no address")
    have = parse_hosts(context, hostsfile)
    known = have.get(ip_addr, []) if isinstance(have, dict) else []
    fresh = [one for one in entries.split(",") if one and one not in known]
    if not fresh:
        return f"No additional hosts were added to {hostsfile}"
    line = f"{ip_addr} {' '.join(fresh)}"
    old = context.machine.read(hostsfile) if context.machine.stat(hostsfile) else b""
    joint = b"" if not old or old.endswith(b"\n") else b"\n"
    context.machine.write(hostsfile, old + joint + f"{line}\n".encode())
    return f"The following line was added to {hostsfile}:\n{line}"


def hosts_remove(context: Context, hostsfile: str = HOSTS, entries: str = "") -> None:
    """Take names out of a hosts file."""
    gone = set(entries.split(","))
    lines = []
    for line in context.machine.read(hostsfile).decode("utf-8", "surrogateescape").splitlines():
        body, sign, note = line.partition("#")
        words = body.split()
        left = [one for one in words[1:] if one not in gone]
        if words and left != words[1:]:
            if left:
                lines.append(f"{words[0]}\t{' '.join(left)}{sign}{note}")
            continue
        lines.append(line)
    context.machine.write(hostsfile, "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))


def serial(context: Context, zone: str = "", update: bool = False) -> str:
    """The serial number of a zone: the one that the grain `dnsserial_ZONE` keeps, else today's date and two digits.

    With `update` it becomes today's first, or the next one after it, and is kept.
    """
    import time

    key = f"dnsserial_{zone}" if zone else "dnsserial"
    stored, today = str(context.grains.get(key) or ""), time.strftime("%Y%m%d01")
    if not update:
        return stored or today
    current = str(int(stored) + 1) if stored >= today else today
    write(context, {key: current}, gone=[])
    return current


def name_servers(
    context: Context, domain: str, resolve: NotSupported = None, nameserver: str | None = None
) -> list[str]:
    """Name servers of a domain."""
    return _dig(context, domain, "NS", nameserver)


def text_records(
    context: Context, domain: str, record: NotSupported = None, nameserver: str | None = None
) -> list[str]:
    """Text records of a domain, among which is its SPF policy."""
    return _dig(context, domain, "TXT", nameserver)


def _found(context: Context, host: str, nameserver: str | None, family: int, kind: str) -> Any:
    if nameserver is not None:
        return _dig(context, host, kind, nameserver)
    try:
        found = socket.getaddrinfo(host, None, family, socket.SOCK_RAW)
    except OSError:
        return f"Unable to resolve {host}"
    return [str(one[4][0]) for one in found]


def _dig(context: Context, name: str, kind: str, nameserver: str | None) -> list[str]:
    return [line.strip('"') for line in answers(context, name, kind, nameserver)]


FUNCTIONS: Mapping[str, Any] = {
    "A": addresses,
    "AAAA": addresses6,
    "MX": mail_servers,
    "NS": name_servers,
    "SPF": text_records,
    "check_ip": check_ip,
    "hosts_append": hosts_append,
    "hosts_remove": hosts_remove,
    "parse_hosts": parse_hosts,
    "serial": serial,
}
