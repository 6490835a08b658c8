"""The state module `host`: names of addresses in /etc/hosts.

Behaviour: doc/ref/states/all/salt.states.host.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from minion.arguments.types import Texts
from minion.machine.configured import configured
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Plan, Reader, StateFunction, Value

HOSTS = "/etc/hosts"


def present(machine: Reader, name: str, *, ip: Texts, comment: str = "", clean: bool = False) -> Plan:
    """The name stands beside each address; with `clean`, beside no other."""
    wanted = _addresses(ip)
    lines = host_lines(machine)
    have = _names(lines)
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
        new = [replace(line, note=comment, raw=None) if line.address == address else line for line in new]
    parts: tuple[tuple[str, Sequence[str], str, str, str], ...] = (
        ("added", added, name, "Host {name} ({address}) would be added", "Added host {name} ({address})"),
        ("comment_added", noted, comment, "Comment for {address} ({comment}) would be added",
         "Set comment for host {address} ({comment})"),
        ("removed", removed, name, "Host {name} ({address}) would be removed", "Removed host {name} ({address})"),
    )  # fmt: skip
    values = {"name": name, "comment": comment}
    return Plan(
        changes=_changes(
            machine, {key: {one: [what] for one in found} for key, found, what, _, _ in parts if found}, new
        ),
        comment="\n".join(f"Host {name} ({address}) already present" for address in wanted),
        pending="\n".join(text.format(address=a, **values) for _, found, _, text, _ in parts for a in found),
        done="\n".join(text.format(address=a, **values) for _, found, _, _, text in parts for a in found),
        warnings=warnings,
    )


def absent(machine: Reader, name: str, *, ip: Texts) -> Plan:
    """The name does not stand beside these addresses."""
    lines = host_lines(machine)
    have = _names(lines)
    addresses = _addresses(ip)
    there = [address for address in addresses if name in have.get(address, ())]
    new = lines
    for address in there:
        new = _without(new, address, name)
    return Plan(
        changes=_changes(machine, {"host": name} if there else {}, new),
        comment="\n".join(f"Host {name} ({address}) already absent" for address in addresses),
        pending="\n".join(f"Host {name} ({address}) needs to be removed" for address in there),
        done="\n".join(f"Removed host {name} ({address})" for address in there),
    )


def only(machine: Reader, name: str, *, hostnames: Texts) -> Plan:
    """The address `name` has these names and no other."""
    _addresses([name])
    wanted = [one.strip() for one in hostnames]
    lines = host_lines(machine)
    old = _names(lines).get(name, [])
    texts = " ".join(old), " ".join(wanted)
    if texts[0] == texts[1]:
        return Plan(comment=f'IP address {name} already set to "{texts[1]}"')
    line = HostLine(address=name, names=tuple(wanted))
    where = next((index for index, one in enumerate(lines) if one.address == name), len(lines))
    before, after = lines[:where], [one for one in lines[where:] if one.address != name]
    return Plan(
        changes=_changes(
            machine,
            {name: {"old": texts[0], "new": texts[1]}},
            [*before, *([line] if texts[1].strip() else []), *after],
        ),
        pending=f'Would change {name} from "{texts[0]}" to "{texts[1]}"',
        done=f'successfully changed {name} from "{texts[0]}" to "{texts[1]}"',
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLine:
    """A line of the hosts file."""

    address: str = ""
    """Empty for a line without one."""
    names: tuple[str, ...] = ()
    note: str = ""
    raw: str | None = None
    """How it stands in the file; None for one that is to be written anew."""

    def text(self) -> str:
        """The line as it is written, in Salt's form when it is new."""
        if self.raw is not None:
            return self.raw
        return f"{self.address}\t\t{' '.join(self.names)}" + (f"\t\t# {self.note}" if self.note else "")


def host_lines(machine: Reader) -> list[HostLine]:
    """The lines of the hosts file."""
    path = _path(machine)
    text = machine.read(path).decode("utf-8", "surrogateescape") if machine.stat(path) else ""
    lines: list[HostLine] = []
    for line in text.splitlines():
        body, _, note = line.partition("#")
        words = body.split()
        if len(words) > 1:
            lines.append(HostLine(address=words[0], names=tuple(words[1:]), note=note.strip(), raw=line))
        else:
            lines.append(HostLine(raw=line))
    return lines


def _names(lines: Sequence[HostLine]) -> dict[str, list[str]]:
    """Names of each address, of all its lines."""
    found: dict[str, list[str]] = {}
    for line in lines:
        if line.address:
            found.setdefault(line.address, []).extend(line.names)
    return found


def _comment(lines: Sequence[HostLine], address: str) -> str:
    return next((line.note for line in lines if line.address == address and line.note), "")


def _with(lines: list[HostLine], address: str, name: str) -> list[HostLine]:
    index = next((i for i, line in enumerate(lines) if line.address == address), None)
    if index is None:
        return [*lines, HostLine(address=address, names=(name,))]
    line = lines[index]
    return [*lines[:index], replace(line, names=(*line.names, name), raw=None), *lines[index + 1 :]]


def _without(lines: list[HostLine], address: str, name: str) -> list[HostLine]:
    left = [
        replace(line, names=tuple(one for one in line.names if one != name), raw=None)
        if line.address == address and name in line.names
        else line
        for line in lines
    ]
    return [line for line in left if not line.address or line.names]


def _path(machine: Reader) -> str:
    path = configured(machine, "hosts.file", HOSTS)
    if not isinstance(path, str) or not path.startswith("/"):
        raise StateFailed(f"hosts.file in the configuration must be a path that begins with /, not {path!r}")
    return path


def _changes(machine: Reader, shown: Mapping[str, Value], lines: list[HostLine]) -> tuple[Change, ...]:
    path = _path(machine)
    data = "".join(f"{line.text()}\n" for line in lines).encode("utf-8", "surrogateescape")
    return tuple(
        Change(key=key, reported=value, act=lambda machine: machine.write(path, data)) for key, value in shown.items()
    )


def _addresses(addresses: Sequence[str]) -> Sequence[str]:
    for address in addresses:
        try:
            ipaddress.ip_address(address)
        except ValueError:
            raise StateFailed(f"Invalid IP Address ({address})") from None
    return addresses


STATES: Mapping[str, StateFunction] = {"absent": absent, "only": only, "present": present}
