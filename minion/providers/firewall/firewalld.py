"""Asks and tells firewalld by its program firewall-cmd(1), about its permanent configuration unless said otherwise.

Called by the state and the execution module `firewalld`. One call of firewall-cmd takes a quarter of a second: what is
known of a zone or a service is asked at once.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterable
from typing import NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader

_FORWARD = re.compile(r"port=(?P<source>[^:]*):proto=(?P<protocol>[^:]*):toport=(?P<to>[^:]*):toaddr=(?P<address>.*)")
_REFUSED = re.compile(r"^Warning: (?!ALREADY_ENABLED|NOT_ENABLED|ZONE_ALREADY_SET)([A-Z_]+: .*)$", re.MULTILINE)
"""What is no error where it is so already."""
_NO_ZONE, _NO_SERVICE = 112, 101
"""Exit codes of firewall-cmd. firewall-cmd(1), "Exit Codes"."""
_BOUND = frozenset(("NOT", "limit"))
"""Words of a rich rule without a value of their own that belong to what stands before them."""


class FirewallRefused(StateFailed):
    """firewall-cmd is not there, reaches no firewalld, or is refused; the text begins with its name."""


class Forward(NamedTuple):
    """A port that is forwarded."""

    source: str
    to: str
    protocol: str
    address: str = ""

    @classmethod
    def of(cls, text: str) -> Forward:
        """`22:2222:tcp` or `80:443:tcp:192.168.0.1`. StateFailed for another shape."""
        parts = text.split(":", 3)
        if len(parts) < 3:
            raise StateFailed(f"{text!r} is no forwarded port: write FROM:TO:PROTOCOL or FROM:TO:PROTOCOL:ADDRESS")
        return cls(*parts)

    @property
    def words(self) -> str:
        """As firewall-cmd takes and shows it."""
        return f"port={self.source}:proto={self.protocol}:toport={self.to}:toaddr={self.address}"

    def shown(self) -> dict[str, str]:
        """As Salt shows it."""
        return {
            "Source port": self.source,
            "Destination port": self.to,
            "Protocol": self.protocol,
            "Destination address": self.address,
        }


def asked(machine: Reader, *words: str) -> str:
    """What firewall-cmd answers to a question. Raises FirewallRefused."""
    return _answer(machine.query([_program(), *words]))


def told(machine: Machine, *words: str) -> str:
    """What firewall-cmd says of a change. Raises FirewallRefused."""
    done = machine.run([_program(), *words])
    said = _answer(done)
    # Of several options in one call those that are refused are warnings.
    if refused := _REFUSED.findall(done.stderr):
        raise FirewallRefused(f"firewall-cmd failed: {'; '.join(f'Error: {one}' for one in refused)}")
    return said


def zone(machine: Reader, name: str) -> dict[str, list[str]] | None:
    """What a zone has, by the words of `--list-all`; None where there is no such zone. Raises FirewallRefused."""
    return _one(machine, f"--info-zone={name}", _NO_ZONE)


def service(machine: Reader, name: str) -> dict[str, list[str]] | None:
    """What a service has; None where there is no such service. Raises FirewallRefused."""
    return _one(machine, f"--info-service={name}", _NO_SERVICE)


def sections(text: str) -> dict[str, dict[str, list[str]]]:
    """Zone -> property -> its lines, of what `--list-all` and its like print: one line, or one below the other."""
    found: dict[str, dict[str, list[str]]] = {}
    properties: dict[str, list[str]] = {}
    values: list[str] = []
    for line in filter(str.strip, text.splitlines()):
        if line[0] == "\t":
            values.append(line.strip())
        elif line[0] == " ":
            key, _, value = line.partition(":")
            values = properties[key.strip()] = [value.strip()]
        else:
            properties = found[line.rstrip()] = {}
    return found


def forwards(lines: Iterable[str]) -> list[Forward]:
    """The forwarded ports of what firewall-cmd lists."""
    rows = filter(None, map(_FORWARD.fullmatch, lines))
    return [Forward(row["source"], row["to"], row["protocol"], row["address"]) for row in rows]


def quoted(rule: str) -> str:
    """A rich rule with its values in double quotes, as firewall-cmd shows them."""
    return " ".join(
        f'{key}="{_bare(value)}"' if sign else key for key, sign, value in (w.partition("=") for w in rule.split(" "))
    )


def meaning(rule: str) -> tuple[tuple[str, ...], ...]:
    """A rich rule without the order of its parts and values, which firewalld puts in one of its own.

    `rule port port=22 protocol=tcp source address=::1 accept` is one with `rule source ... port ... accept`.
    """
    try:
        words = shlex.split(rule)
    except ValueError:
        return ((rule,),)
    parts: list[list[str]] = []
    for word in words:
        if word.startswith(("family=", "priority=")) and parts:
            parts[0].append(word)  # of the rule, wherever it stands
        elif ("=" in word or word in _BOUND) and parts:
            parts[-1].append(word)
        else:
            parts.append([word])
    return tuple(sorted((part[0], *sorted(part[1:])) for part in parts))


def _one(machine: Reader, word: str, absent: int) -> dict[str, list[str]] | None:
    done = machine.query([_program(), "--permanent", word])
    if done.returncode == absent:
        return None
    [found] = sections(_answer(done)).values() or [{}]
    return {
        key: lines[1:] if len(lines) > 1 else lines if key == "rich rules" and lines != [""] else lines[0].split()
        for key, lines in found.items()
    }


def _program() -> str:
    return shutil.which("firewall-cmd") or "firewall-cmd"


def _answer(done: Completed) -> str:
    if done.returncode == 127:
        raise FirewallRefused("firewall-cmd is not available, firewalld is probably not installed.")
    if done.returncode != 0:
        raise FirewallRefused(f"firewall-cmd failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout.strip()


def _bare(value: str) -> str:
    for quote in "\"'":
        if len(value) > 1 and value[0] == value[-1] == quote:
            return value[1:-1]
    return value
