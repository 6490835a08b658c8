"""Sets of the kernel as ipset saves, tests and changes them.

Called by the states and the execution module `ipset`.
"""

from __future__ import annotations

import ipaddress
import itertools
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.commands import complaint

_FAMILIES = {"ipv4": "inet", "ip4": "inet", "ipv6": "inet6", "ip6": "inet6"}
_OF_ALL = frozenset(("timeout", "counters", "comment", "skbinfo"))
_OF_HASHES = _OF_ALL | {"hashsize", "maxelem"}
_TYPES: Mapping[str, frozenset[str]] = {
    "bitmap:ip": _OF_ALL | {"range", "netmask"},
    "bitmap:ip,mac": _OF_ALL | {"range"},
    "bitmap:port": _OF_ALL | {"range"},
    "hash:ip": _OF_HASHES | {"netmask", "family"},
    "hash:ip,mark": _OF_HASHES | {"markmask", "family"},
    "hash:mac": _OF_HASHES,
    "list:set": frozenset(("size", "timeout", "counters", "comment")),
    **{
        f"hash:{rest}": _OF_HASHES | {"netmask", "family"}
        for rest in ("ip,port", "ip,port,ip", "ip,port,net", "net", "net,iface", "net,net", "net,port", "net,port,net")
    },
}
"""Type -> options of `ipset create`."""
_SWITCHES = ("comment", "counters", "skbinfo")
_MOST = 1 << 16
"""Addresses that one entry may stand for."""


class IpsetOptions(NamedTuple):
    """How a set is made."""

    range: str | None = None
    """Of a bitmap: its first and last member, or a network."""
    netmask: str | None = None
    timeout: str | None = None
    """Seconds after which a member goes by itself, unless it says something else."""
    counters: bool = False
    comment: bool = False
    skbinfo: bool = False
    hashsize: str | None = None
    maxelem: str | None = None
    markmask: str | None = None
    size: str | None = None


class IpsetEntry(NamedTuple):
    """What is added to a set: members, and their options in words of ipset."""

    text: str
    options: tuple[str, ...] = ()

    def option(self, name: str) -> str | None:
        """The value of an option; None where it is not given."""
        return _after(self.options, name)


class Ipset(NamedTuple):
    """A set, and what is in it."""

    name: str
    kind: str
    header: tuple[str, ...]
    members: Mapping[str, tuple[str, ...]]
    """Member -> its options."""

    def find(self, entry: IpsetEntry) -> list[str]:
        """The members that an entry stands for, as the kernel writes them, whether they are there or not."""
        subtypes = self.kind.partition(":")[2].split(",")
        given = entry.text.split(",")
        if len(given) != len(subtypes):
            return [entry.text]
        parts = [self._each(subtype, part) for subtype, part in zip(subtypes, given, strict=True)]
        found = [",".join(one) for one in itertools.islice(itertools.product(*parts), _MOST + 1)]
        if len(found) > _MOST:
            raise StateFailed(f"{entry.text} stands for more than {_MOST} members")
        return found

    def time_of(self, entry: IpsetEntry) -> Sequence[str]:
        """How long a member stays that an entry says nothing about, in words of ipset: else it would stay for good."""
        has = None if "timeout" in entry.options else _after(self.members.get(self.find(entry)[0], ()), "timeout")
        return [] if has in (None, "0") else ["timeout", str(has)]

    def _each(self, subtype: str, part: str) -> list[str]:
        """What a part of an entry stands for; the part itself where only ipset knows."""
        try:
            if subtype == "ip":
                return [self._masked(one) for one in _addresses(part)]
            if subtype == "net":
                return [_short(one) for one in _networks(part)]
            if subtype == "port":
                return _ports(part, self.kind == "bitmap:port")
        except ValueError:
            return [part]
        return [part.upper() if subtype == "mac" else part]

    def _masked(self, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
        mask = _after(self.header, "netmask")
        return str(address if mask is None else ipaddress.ip_network((address, int(mask)), strict=False)[0])


def ipset_family(family: str) -> str:
    """`inet` or `inet6`; StateFailed for what is neither."""
    if family not in _FAMILIES:
        raise StateFailed(f"{family} is no family: {', '.join(_FAMILIES)}")
    return _FAMILIES[family]


def creation(name: str, kind: str, family: str, options: IpsetOptions) -> list[str]:
    """The words that make a set. StateFailed for an option that the type does not have, or lacks."""
    known = _TYPES.get(kind)
    if known is None:
        raise StateFailed("Error: Set Type is invalid")
    given = {key: value for key, value in options._asdict().items() if value not in (None, False)}
    if "range" in known and "range" not in given:
        raise StateFailed("Error: range is a required argument")
    if strange := sorted(set(given) - known):
        raise StateFailed(f"Error: a set of type {kind} has no {', '.join(strange)}")
    words = ["create", _checked(name), kind]
    for key, value in given.items():
        words += [key] if key in _SWITCHES else [key, str(value)]
    return [*words, "family", ipset_family(family)] if "family" in known else words


def ipset_of(machine: Reader, name: str) -> Ipset | None:
    """The set; None where there is none."""
    done = machine.query(["ipset", "save", _checked(name)])
    if done.returncode == 1 and "does not exist" in done.stderr:
        return None
    lines = _need(done).stdout.splitlines()
    _, _, kind, *header = shlex.split(lines[0])
    members: dict[str, tuple[str, ...]] = {}
    for line in lines[1:]:
        if line.startswith("add "):  # others are sets of the list
            _, _, member, *options = _words(line)
            members[member] = tuple(options)
    return Ipset(name, kind, tuple(header), members)


def holds(machine: Reader, name: str, entry: IpsetEntry) -> bool:
    """Whether the kernel finds an entry in a set: a network holds its addresses."""
    words = ["nomatch"] if "nomatch" in entry.options else []
    return machine.query(["ipset", "test", _checked(name), _checked(entry.text), *words]).returncode == 0


def references(machine: Reader, name: str) -> int:
    """How many rules and sets use a set."""
    found = re.search(r"^References: (\d+)", _need(machine.query(["ipset", "list", "-t", name])).stdout, re.MULTILINE)
    return int(found[1]) if found else 0


def tell(machine: Machine, *words: str) -> None:
    """Have ipset change something; StateFailed with its complaint."""
    _need(machine.run(["ipset", *words]))


def ask(machine: Reader, *words: str) -> str:
    """What ipset says."""
    return _need(machine.query(["ipset", *words])).stdout


def entry_of(text: str, timeout: str | None, comment: str | None) -> IpsetEntry:
    """`192.168.0.3 comment "Hello there"`, with a time and a comment for entries that have none."""
    member, *options = _words(text) or [""]
    if timeout is not None and "timeout" not in options:
        options = ["timeout", timeout, *options]
    if comment is not None and "comment" not in options:
        options = [*options, "comment", comment]
    return IpsetEntry(member, tuple(options))


def is_address(entry: IpsetEntry) -> bool:
    """Whether it is an address or a network, not a name that only ipset can look up."""
    try:
        return bool(_networks(entry.text))
    except ValueError:
        return False


def is_right(found: Ipset, entry: IpsetEntry, members: Sequence[str]) -> bool:
    """Whether all these members are in the set, with the comment of the entry, and for good or not as it says.

    How long a member stays is not compared: that of the kernel runs down.
    """
    for one in members:
        options = found.members.get(one)
        if options is None:
            return False
        comment, timeout = entry.option("comment"), entry.option("timeout")
        if comment is not None and _after(options, "comment") != comment:
            return False
        if timeout is not None and (timeout == "0") != (_after(options, "timeout") in (None, "0")):
            return False
    return True


def _after(words: Sequence[str], name: str) -> str | None:
    return words[words.index(name) + 1] if name in words[:-1] else None


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _checked(name: str) -> str:
    """StateFailed for a word that ipset would take for an option."""
    if not name or name.startswith("-"):
        raise StateFailed(f"{name!r} cannot be the name or an entry of a set")
    return name


def _addresses(part: str) -> Iterator[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    for network in _networks(part):
        if network.num_addresses > _MOST:
            raise StateFailed(f"{part} stands for more than {_MOST} members")
        yield from network


def _networks(part: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    first, dash, last = part.partition("-")
    if not dash:
        return [ipaddress.ip_network(part, strict=False)]
    return list(ipaddress.summarize_address_range(*map(ipaddress.ip_address, (first, last))))


def _short(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> str:
    return str(network[0]) if network.prefixlen == network.max_prefixlen else str(network)


def _ports(part: str, bare: bool) -> list[str]:
    protocol, _, numbers = part.rpartition(":")
    first, dash, last = numbers.partition("-")
    each = map(str, range(int(first), int(last) + 1)) if dash else (str(int(first)),)
    return [one if bare else f"{protocol or 'tcp'}:{one}" for one in each]


def _need(done: Completed) -> Completed:
    if done.returncode == 127:
        raise StateFailed("There is no ipset program: install the package ipset")
    if done.returncode != 0:
        raise StateFailed(complaint(done))
    return done
