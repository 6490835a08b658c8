"""SELinux's rules about ports, as semanage has them."""

from __future__ import annotations

import re
from typing import NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Reader
from minion.providers.security.selinux import asked, told, words

_SPEC = re.compile(r"(tcp|udp|dccp|sctp)/(\d+(?:-\d+)?)")
_RULE = re.compile(r"(\w+)\s+(\w+)\s+([\d\-, ]+)")


class SelinuxPort(NamedTuple):
    """A port, or several in a row."""

    protocol: str
    port: str

    @classmethod
    def of(cls, name: str, protocol: str | None, port: str | None) -> SelinuxPort:
        """From `tcp/80` or `udp/20-21`, or else from the two arguments; StateFailed when neither says it."""
        found = _SPEC.fullmatch(name) or _SPEC.fullmatch(f"{protocol}/{port}")
        if found is None:
            raise StateFailed(
                f'Invalid name "{name}" format and protocol and port not provided or invalid: "{protocol}" "{port}".'
            )
        return cls(found[1], found[2])


class PortRule(NamedTuple):
    """Ports that have a type."""

    sel_type: str
    protocol: str
    port: str
    """All of them, separated by commas."""


def rules_of(machine: Reader, port: SelinuxPort, *, local: bool = False) -> list[PortRule]:
    """The rules that name just this port, or these in a row; with `local` only those that somebody added."""
    said = asked(machine, "semanage", "port", "--list", *(["--locallist"] if local else []))
    found = [PortRule(*one.groups()) for one in map(_RULE.fullmatch, map(str.strip, said.splitlines())) if one]
    return [one for one in found if one.protocol == port.protocol and port.port in one.port.split(", ")]


def put(machine: Machine, port: SelinuxPort, sel_type: str, sel_range: str | None, *, change: bool) -> None:
    """Add a rule, or change the one that there is."""
    given = [*words("--type", sel_type), *words("--range", sel_range)]
    told(machine, "semanage", "port", "--modify" if change else "--add", "--proto", port.protocol, *given, port.port)


def remove(machine: Machine, port: SelinuxPort) -> None:
    """Take a rule away that somebody added."""
    told(machine, "semanage", "port", "--delete", "--proto", port.protocol, port.port)
