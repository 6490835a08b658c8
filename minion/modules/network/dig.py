"""The execution module `dig`: records of the domain name system, asked for by dig(1).

Each call ends: a server has a few seconds for an answer, and an SPF policy as many lookups as RFC 7208 allows.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any

from minion.arguments.types import AnyValue
from minion.execution.context import Context
from minion.execution.errors import CallFailed

SECONDS = 30.0
"""Until an answer must be there."""
_PATIENCE = ("+time=5", "+tries=2")
"""Seconds that a server is waited for, and how often it is asked."""
_SPF_LOOKUPS = 10
"""RFC 7208, 4.6.4."""
_MECHANISM = re.compile(r"[+~]?(ip[46]|include):(.+)")


def check_ip(context: Context, addr: AnyValue) -> bool:
    """Whether a text is an address, or one with the length of its prefix (IPv4 1 to 32, IPv6 8 to 128)."""
    address, slash, length = addr.rpartition("/") if isinstance(addr, str) and "/" in addr else (addr, "", "")
    try:
        version = ipaddress.ip_address(address).version if isinstance(address, str) else 0
        return bool(version) and (not slash or {4: 1, 6: 8}[version] <= int(length) <= {4: 32, 6: 128}[version])
    except ValueError:
        return False


def addresses(context: Context, host: str, nameserver: str | None = None) -> list[str]:
    """IPv4 addresses of a name."""
    return _addresses(context, host, "A", nameserver)


def addresses6(context: Context, host: str, nameserver: str | None = None) -> list[str]:
    """IPv6 addresses of a name."""
    return _addresses(context, host, "AAAA", nameserver)


def pointers(context: Context, host: str, nameserver: str | None = None) -> list[str]:
    """Names of an address."""
    return answers(context, host, "PTR", nameserver)


def canonical_name(context: Context, host: str, nameserver: str | None = None) -> str:
    """The name that a name stands for; empty when it is no alias."""
    return "\n".join(answers(context, host, "CNAME", nameserver))


def name_servers(context: Context, domain: str, resolve: bool = True, nameserver: str | None = None) -> list[str]:
    """IPv4 addresses of a domain's name servers; with `resolve: False` their names."""
    names = answers(context, domain, "NS", nameserver)
    return [one for name in names for one in addresses(context, name, nameserver)] if resolve else names


def mail_servers(
    context: Context, domain: str, resolve: bool = False, nameserver: str | None = None
) -> list[list[str]]:
    """Mail servers of a domain, each with its preference; with `resolve` the first address of each."""
    rows = [line.split() for line in answers(context, domain, "MX", nameserver)]
    return [[row[0], *addresses(context, row[1], nameserver)[:1]] for row in rows] if resolve else rows


def texts(context: Context, host: str, nameserver: str | None = None) -> list[str]:
    """Text records of a name, in their quotes."""
    return answers(context, host, "TXT", nameserver)


def senders(context: Context, domain: str, record: str = "SPF", nameserver: str | None = None) -> list[str]:
    """Addresses that a domain's SPF policy allows to send, with those of the policies that it includes."""
    found: dict[str, None] = {}
    domains, asked = [domain], set[str]()
    while domains and len(asked) < _SPF_LOOKUPS:
        name = domains.pop(0)
        if name in asked:
            continue
        asked.add(name)
        for word in _policy(context, name, record, nameserver):
            if word.startswith("redirect="):
                domains.append(word.removeprefix("redirect="))
            elif match := _MECHANISM.fullmatch(word):
                if match[1] == "include":
                    domains.append(match[2])
                elif check_ip(context, match[2]):
                    found[match[2]] = None
    return list(found)


def answers(context: Context, name: str, kind: str, nameserver: str | None) -> list[str]:
    """The records of one kind, a line each; none when the server cannot say. CallFailed without dig."""
    if name.startswith(("-", "@", "+")) or str(nameserver or "").startswith("-"):
        raise CallFailed(f"{name!r} is no name")
    where = [f"@{nameserver}"] if nameserver else []
    what = ["-x", name] if kind == "PTR" else ["-t", kind, "-q", name]
    done = context.machine.run(["dig", "+short", *_PATIENCE, *where, *what], timeout=SECONDS)
    if done.returncode == 127:
        raise CallFailed("This function requires dig, which is not currently available: install bind9-dnsutils")
    if done.returncode != 0:
        return []
    return [line for line in done.stdout.splitlines() if line and not line.startswith(";")]


def _addresses(context: Context, host: str, kind: str, nameserver: str | None) -> list[str]:
    return [line for line in answers(context, host, kind, nameserver) if check_ip(context, line)]


def _policy(context: Context, domain: str, record: str, nameserver: str | None) -> list[str]:
    """Words of a domain's policy; the record SPF is out of use, so that TXT is looked at where it is empty."""
    kinds = [record, "TXT"] if record == "SPF" else [record]
    for kind in kinds:
        for line in answers(context, domain, kind, nameserver):
            words = line.replace('" "', "").replace('"', "").split()
            if words[:1] == ["v=spf1"]:
                return words[1:]
    return []


FUNCTIONS: Mapping[str, Any] = {
    "A": addresses,
    "AAAA": addresses6,
    "CNAME": canonical_name,
    "MX": mail_servers,
    "NS": name_servers,
    "PTR": pointers,
    "SPF": senders,
    "TXT": texts,
    "a": addresses,
    "aaaa": addresses6,
    "check_ip": check_ip,
    "cname": canonical_name,
    "mx": mail_servers,
    "ns": name_servers,
    "ptr": pointers,
    "spf": senders,
}
