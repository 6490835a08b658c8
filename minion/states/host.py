"""The state module `host`: names of addresses in /etc/hosts.

Behaviour: doc/ref/states/all/salt.states.host.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence

from minion.arguments.types import Texts
from minion.machine.plan import Change, Plan, Reader, StateFailed, StateFunction, Value

HOSTS = "/etc/hosts"


def present(machine: Reader, name: str, *, ip: Texts, comment: str = "", clean: bool = False) -> Plan:
    """The name stands beside each address; with `clean`, beside no other."""
    wanted = _addresses(ip)
    lines = host_lines(machine)
    have = {address: names for address, names, _ in lines}
    added = [address for address in wanted if name not in have.get(address, ())]
    noted = [address for address in wanted if comment and _comment(lines, address) != comment]
    others = [address for address, names in have.items() if address and name in names and address not in wanted]
    removed = others if clean else []
    warnings = tuple(
        f"Host {name} present for IP address {address}. To get rid of this warning, either run this state with 'clean' "
        f"set to True to remove {name} from {address}, or add {address} to the 'ip' argument."
        for address in others
        if not clean
    )
    new = lines
    for address in removed:
        new = _without(new, address, name)
    for address in added:
        new = _with(new, address, name)
    for address in noted:
        new = [(a, names, f" {comment}" if a == address else note) for a, names, note in new]
    parts: tuple[tuple[str, Sequence[str], str, str, str], ...] = (
        ("added", added, name, "Host {name} ({address}) would be added", "Added host {name} ({address})"),
        ("comment_added", noted, comment, "Comment for {address} ({comment}) would be added",
         "Set comment for host {address} ({comment})"),
        ("removed", removed, name, "Host {name} ({address}) would be removed", "Removed host {name} ({address})"),
    )  # fmt: skip
    values = {"name": name, "comment": comment}
    return Plan(
        changes=_changes({key: {one: [what] for one in found} for key, found, what, _, _ in parts if found}, new),
        comment="\n".join(f"Host {name} ({address}) already present" for address in wanted),
        pending="\n".join(text.format(address=a, **values) for _, found, _, text, _ in parts for a in found),
        done="\n".join(text.format(address=a, **values) for _, found, _, _, text in parts for a in found),
        warnings=warnings,
    )


def absent(machine: Reader, name: str, *, ip: Texts) -> Plan:
    """The name does not stand beside these addresses."""
    lines = host_lines(machine)
    have = {address: names for address, names, _ in lines}
    addresses = _addresses(ip)
    there = [address for address in addresses if name in have.get(address, ())]
    new = lines
    for address in there:
        new = _without(new, address, name)
    return Plan(
        changes=_changes({"host": name} if there else {}, new),
        comment="\n".join(f"Host {name} ({address}) already absent" for address in addresses),
        pending="\n".join(f"Host {name} ({address}) needs to be removed" for address in there),
        done="\n".join(f"Removed host {name} ({address})" for address in there),
    )


def only(machine: Reader, name: str, *, hostnames: Texts) -> Plan:
    """The address `name` has these names and no other."""
    _addresses([name])
    wanted = [one.strip() for one in hostnames]
    lines = host_lines(machine)
    old = next((list(names) for address, names, _ in lines if address == name), [])
    texts = " ".join(old), " ".join(wanted)
    if old == wanted:
        return Plan(comment=f'IP address {name} already set to "{texts[1]}"')
    new = [line for line in lines if line[0] != name]
    if wanted != [""]:
        new = [*new, (name, tuple(wanted), "")]
    return Plan(
        changes=_changes({name: {"old": texts[0], "new": texts[1]}}, new),
        pending=f'Would change {name} from "{texts[0]}" to "{texts[1]}"',
        done=f'successfully changed {name} from "{texts[0]}" to "{texts[1]}"',
    )


_Line = tuple[str, tuple[str, ...], str]
"""Address, names, comment. A line without an address is kept whole in the comment."""


def host_lines(machine: Reader) -> list[_Line]:
    """The lines of the hosts file."""
    text = machine.read(HOSTS).decode("utf-8", "surrogateescape") if machine.stat(HOSTS) else ""
    lines: list[_Line] = []
    for line in text.splitlines():
        body, _, comment = line.partition("#")
        words = body.split()
        lines.append((words[0], tuple(words[1:]), comment) if len(words) > 1 else ("", (), line))
    return lines


def _comment(lines: list[_Line], address: str) -> str:
    return next((note.strip() for one, _, note in lines if one == address), "")


def _with(lines: list[_Line], address: str, name: str) -> list[_Line]:
    index = next((i for i, line in enumerate(lines) if line[0] == address), None)
    if index is None:
        return [*lines, (address, (name,), "")]
    _, names, note = lines[index]
    return [*lines[:index], (address, (*names, name), note), *lines[index + 1 :]]


def _without(lines: list[_Line], address: str, name: str) -> list[_Line]:
    left = [(a, tuple(n for n in names if a != address or n != name), note) for a, names, note in lines]
    return [line for line in left if not line[0] or line[1]]


def _changes(shown: Mapping[str, Value], lines: list[_Line]) -> tuple[Change, ...]:
    text = "".join(
        f"{address}\t{' '.join(names)}{f' #{note}' if note else ''}\n" if address else f"{note}\n"
        for address, names, note in lines
    )
    data = text.encode("utf-8", "surrogateescape")
    return tuple(
        Change(key=key, shown=value, act=lambda machine: machine.write(HOSTS, data)) for key, value in shown.items()
    )


def _addresses(addresses: Sequence[str]) -> Sequence[str]:
    for address in addresses:
        try:
            ipaddress.ip_address(address)
        except ValueError:
            raise StateFailed(f"Invalid IP Address ({address})") from None
    return addresses


STATES: Mapping[str, StateFunction] = {"absent": absent, "only": only, "present": present}
