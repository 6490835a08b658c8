"""The tables of iptables on a machine: what is in the kernel, what is in the file that is loaded at boot.

Called by the states and by the execution module. Everything that changes something waits for the lock of iptables.
"""

from __future__ import annotations

import posixpath
import re
import shlex
import shutil
from collections.abc import Mapping

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader, Value

LOCK_SECONDS = 120.0
"""Until another program must have given the lock of iptables back."""

_OF_FAMILIES = {
    "RedHat": ("/etc/sysconfig/iptables", "/etc/sysconfig/ip6tables"),
    "Arch": ("/etc/iptables/iptables.rules", "/etc/iptables/ip6tables.rules"),
    "Debian": ("/etc/iptables/rules.v4", "/etc/iptables/rules.v6"),
    "Gentoo": ("/var/lib/iptables/rules-save", "/var/lib/ip6tables/rules-save"),
    "Suse": ("/etc/sysconfig/scripts/SuSEfirewall2-custom", "/etc/sysconfig/scripts/SuSEfirewall2-custom"),
    "Void": ("/etc/iptables/iptables.rules", "/etc/iptables/ip6tables.rules"),
    "Alpine": ("/etc/iptables/rules-save", "/etc/iptables/rules6-save"),
    "NILinuxRT": ("/etc/natinst/share/iptables.conf", "/etc/natinst/share/ip6tables.conf"),
}
"""Family of systems -> the files that are loaded at boot, of IPv4 and of IPv6."""

_LONG = {
    "A": "append", "p": "protocol", "s": "source", "d": "destination", "j": "jump", "g": "goto", "i": "in-interface",
    "o": "out-interface", "f": "fragment", "c": "set-counters", "m": "match", "sport": "source_port",
    "dport": "destination_port", "sports": "source-ports", "dports": "destination-ports", "src-cc": "source-country",
    "dst-cc": "destination-country",
}  # fmt: skip
"""Options as iptables-save writes them -> their names in what `get_rules` gives."""


class Absent(StateFailed):
    """There is no iptables."""


def program(family: str) -> str:
    """The program of a family, with its path where it is known."""
    name = "ip6tables" if family == "ipv6" else "iptables"
    return shutil.which(name) or name


def command(family: str, table: str, what: str, chain: str, *words: str) -> list[str]:
    """The words of a call. StateFailed for a table or chain that would be taken for an option."""
    for one in (table, chain):
        if one.startswith("-") or re.search(r"\s", one):
            raise StateFailed(f"{one!r} is no name of a table or chain")
    return [program(family), "--wait", "-t", table, what, *([chain] if chain else []), *words]


def asked(machine: Reader, argv: list[str]) -> Completed:
    """A call that only looks; Absent without the program."""
    return _there(machine.query(argv), argv)


def done(machine: Machine, argv: list[str]) -> str:
    """A call that changes something: what iptables says against it, or an empty text."""
    result = _there(machine.run(argv, timeout=LOCK_SECONDS), argv)
    return "" if result.returncode == 0 else (result.stderr or result.stdout).strip() or "iptables failed"


def has_rule(machine: Reader, family: str, table: str, chain: str, rule: str) -> bool | str:
    """Whether the chain has the rule; what iptables says of one that it cannot read."""
    found = asked(machine, command(family, table, "-C", chain, *words_of(rule)))
    return found.returncode == 0 if found.returncode < 2 else found.stderr.strip()


def words_of(rule: str) -> list[str]:
    """A rule in the words of a command line."""
    try:
        return shlex.split(rule)
    except ValueError as error:
        raise StateFailed(f"The rule {rule} cannot be read: {error}") from None


def saved_text(machine: Reader, family: str, table: str = "") -> str:
    """What iptables-save writes, of all tables or of one."""
    argv = [f"{program(family)}-save", *(["-t", table] if table else [])]
    found = asked(machine, argv)
    if found.returncode != 0:
        raise StateFailed(f"{posixpath.basename(argv[0])}: {found.stderr.strip()}")
    return found.stdout


def policy_of(text: str, table: str, chain: str) -> str | None:
    """The policy of a chain; None when there is no such chain."""
    found = parsed(text).get(table, {}).get(chain)
    return None if found is None else str(found["policy"])


def comparable(text: str) -> list[str]:
    """What matters in what iptables-save writes: no remarks, no counters."""
    lines = (line.strip() for line in text.splitlines())
    return [line.partition(" [")[0] if line.startswith(":") else line for line in lines if line and line[0] != "#"]


def conf_file(grains: Mapping[str, Value], family: str) -> str:
    """The file that the system loads at boot. StateFailed where there is none that is known."""
    files = _OF_FAMILIES.get(str(grains.get("os_family"))) or _OF_FAMILIES.get(str(grains.get("os")))
    if files is None:
        raise StateFailed(
            f"Saving iptables to file is not supported on {grains.get('os')}: name it, as in `save: /etc/rules`"
        )
    return files[family == "ipv6"]


def to_save(machine: Reader, family: str, filters: Value) -> str:
    """What is written to the file: all tables, without the lines that a regular expression of `filters` is found in."""
    text = saved_text(machine, family)
    patterns = []
    for pattern in filters if isinstance(filters, list) else [filters] if filters else []:
        try:
            patterns.append(re.compile(str(pattern)))
        except re.error as error:
            raise StateFailed(f"iptables.save_filters: {pattern!r} is no regular expression: {error}") from None
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not any(pattern.search(line) for pattern in patterns))


def parsed(text: str) -> dict[str, dict[str, dict[str, Value]]]:
    """Table -> chain -> policy, counters and rules of what iptables-save writes, in Salt's form."""
    found: dict[str, dict[str, dict[str, Value]]] = {}
    chains: dict[str, dict[str, Value]] = {}
    for line in text.splitlines():
        if line.startswith("*"):
            chains = found[line[1:].strip()] = {}
        elif line.startswith(":"):
            name, policy, counters = [*line[1:].split(), "[0:0]"][:3]
            packets, _, size = counters.strip("[]").partition(":")
            chains[name] = {
                "policy": policy,
                "packet count": packets,
                "byte count": size,
                "rules": [],
                "rules_comment": {},
            }
        elif line.startswith("-A"):
            rule = _options(words_of(line))
            [chain] = rule.pop("append")
            chains[chain]["rules"].append(rule)
            if "comment" in rule:
                chains[chain]["rules_comment"][rule["comment"][0].strip('"')] = rule
    return found


def _options(words: list[str]) -> dict[str, list[str]]:
    """Option -> its values, each with the `!` that stands before it."""
    found: dict[str, list[str]] = {}
    negated, values = "", list[str]()
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "!" and following.startswith("-"):
            negated = "! "
        elif word.startswith("-") and len(word) > 1:
            name = word.lstrip("-")
            values = found.setdefault(_LONG.get(name, name), [])
            values.append(negated)
            negated = ""
        elif values:
            values[-1] = f"{values[-1]}{' ' if values[-1] and values[-1] != '! ' else ''}{word}"
    return found


def _there(result: Completed, argv: list[str]) -> Completed:
    if result.returncode == 127:
        raise Absent(f"There is no program {posixpath.basename(argv[0])}: install the package iptables")
    return result
