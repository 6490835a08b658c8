"""Asks and tells nft(8): tables, chains and rules of the kernel.

Called by the states and the execution module `nftables`. What a rule is in nft's own words is asked of nft in an empty
network namespace, with a copy of the table: nothing of the machine is changed by it.
"""

from __future__ import annotations

import json
import posixpath
import re
import shutil
from typing import NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader, Value

FAMILIES = {
    "ipv4": "ip",
    "ip4": "ip",
    "ip": "ip",
    "ipv6": "ip6",
    "ip6": "ip6",
    "inet": "inet",
    "arp": "arp",
    "bridge": "bridge",
    "netdev": "netdev",
}
"""Families as states name them -> as nft does."""

_NAME = re.compile(r"[A-Za-z_][\w./\\-]*")
_RULE = re.compile(r"^\s*(?P<rule>.*\S) # handle (?P<handle>\d+)$")
_SET = re.compile(r"\{\s*([^{},]+?)\s*\}")
_FOLDER, _IN_FOLDER = "/etc/nftables", "salt-all-in-one.nft"


class NftAbsent(StateFailed):
    """There is no nft."""


class NftRule(NamedTuple):
    """A rule that the kernel has."""

    text: str
    """In nft's words, without counters."""
    handle: int


class Tables:
    """The tables of one family.

    Args:
        machine: where they are looked at.
        family: as states name it. StateFailed for another.
    """

    def __init__(self, machine: Reader, family: str) -> None:
        self._machine = machine
        self.family = family_of(family)

    def names(self) -> list[str]:
        """Names of the tables."""
        return [str(each["name"]) for each in self._listed("tables", "table")]

    def chain(self, table: str, name: str) -> dict[str, Value] | None:
        """What nft says of a chain: `type`, `hook`, `prio`, `policy`; None when there is none."""
        found = self._listed("chains", "chain")
        return next((each for each in found if (each["table"], each["name"]) == (table, name)), None)

    def chains(self, table: str) -> list[str]:
        """Names of the chains of a table."""
        return [str(each["name"]) for each in self._listed("chains", "chain") if each["table"] == table]

    def rules(self, table: str, chain: str) -> list[NftRule]:
        """The rules of a chain, in their order."""
        words = ["-s", "-a", "list", "chain", self.family, named(table), named(chain)]
        return _rules(_answer(self._machine.query(argv(*words))))

    def find(self, table: str, chain: str, rule: str, *, expected: bool = True) -> NftRule | None:
        """The first rule of a chain that is this one. StateFailed for one that nft cannot read.

        Args:
            table: of the family.
            chain: of the table.
            rule: as a state has it.
            expected: whether it is there as a rule; else the table is asked for at once, in which nft then reads it.
        """
        whole = None if expected else self._whole(table)
        if whole is None or whole.returncode != 0:
            there = self.rules(table, chain)
        else:
            there = _rules_of(whole.stdout, named(chain))
        plain = next((each for each in there if _loose(each.text) == _loose(rule)), None)
        if plain is not None:  # most rules are written as nft writes them
            return plain
        wanted = self._in_nfts_words(table, chain, rule, whole or self._whole(table))
        return next((each for each in there if each.text == wanted), None)

    def _whole(self, table: str) -> Completed:
        return self._machine.query(argv("-s", "-a", "list", "table", self.family, named(table)))

    def _in_nfts_words(self, table: str, chain: str, rule: str, copied: Completed) -> str | None:
        """None where that cannot be found out here: no namespaces, or a table that needs devices."""
        if copied.returncode != 0:
            return None
        last = "nft -s -a list chain " + " ".join((self.family, table, chain))
        # With the rule in one go; where that fails, the copy alone, whose failure says nothing of the rule.
        both = 'printf "%s\\n%s\\n" "$copy" "$rule" | nft -f - 2>/dev/null'
        apart = 'printf "%s\\n" "$copy" | nft -f - || exit 77; printf "%s\\n" "$rule" | nft -f -'
        read = "read -r rule; copy=$(cat)"
        words = ["unshare", "-n", "sh", "-c", f"{read}; {{ {both}; }} || {{ {apart}; }} && {last}"]
        adding = f"add rule {self.family} {table} {chain} {rule}"
        done = self._machine.query(words, stdin=f"{adding}\n{copied.stdout}")
        if done.returncode in (77, 126, 127) or "unshare" in done.stderr:
            return None
        if done.returncode != 0:
            raise StateFailed(done.stderr.strip())
        return _rules(done.stdout)[-1].text

    def _listed(self, what: str, kind: str) -> list[dict[str, Value]]:
        text = _answer(self._machine.query(argv("-j", "list", what, self.family)))
        return [each[kind] for each in json.loads(text)["nftables"] if kind in each] if text else []


def family_of(name: str) -> str:
    """The family as nft names it."""
    if name not in FAMILIES:
        raise StateFailed(f"{name!r} is no family of nftables: there are {', '.join(FAMILIES)}")
    return FAMILIES[name]


def named(name: str) -> str:
    """The name of a table or chain. StateFailed for what nft would take for something else."""
    if not _NAME.fullmatch(name):
        raise StateFailed(f"{name!r} is no name of a table or chain")
    return name


def argv(*words: str) -> list[str]:
    """The words of a call."""
    return [shutil.which("nft") or "nft", *words]


def done(machine: Machine, *words: str) -> str:
    """A call that changes something: what nft says against it, or an empty text."""
    result = machine.run(argv("--", *words))
    if result.returncode == 127:
        raise NftAbsent(_ABSENT)
    return "" if result.returncode == 0 else (result.stderr or result.stdout).strip() or "nft failed"


def saved_text(machine: Reader) -> str:
    """What is saved: all tables, family by family."""
    text = "#! nft -f\n"
    for family in dict.fromkeys(FAMILIES.values()):
        tables = [
            _answer(machine.query(argv("list", "table", family, name))) for name in Tables(machine, family).names()
        ]
        text += ("\n" if tables else "") + "\n".join(each.rstrip("\n") for each in tables)
    return f"{text}\n"


def file_of(machine: Reader, filename: str | None) -> str:
    """The file that the rules are saved to: in a folder one with Salt's name."""
    file = filename or _FOLDER
    found = machine.stat(file)
    return posixpath.join(file, _IN_FOLDER) if found is not None and found.kind == "directory" else file


def save(machine: Machine, filename: str | None) -> str:
    """Write all tables to the file; what is in it."""
    text = saved_text(machine)
    machine.write(file_of(machine, filename), text.encode())
    return text


_ABSENT = "nftables is not installed: there is no program nft"


def _rules(listing: str) -> list[NftRule]:
    rows = [row for row in map(_RULE.match, listing.splitlines()) if row]
    # The lines that open the table and the chain have a handle, too.
    return [NftRule(row["rule"], int(row["handle"])) for row in rows if not row["rule"].endswith("{")]


def _rules_of(table: str, chain: str) -> list[NftRule]:
    """The rules of one chain in the listing of a table. StateFailed where it has no such chain."""
    inner = re.search(rf"^\tchain {re.escape(chain)} \{{.*?^\t\}}", table, re.MULTILINE | re.DOTALL)
    if inner is None:
        raise StateFailed(f"nft: there is no chain {chain}")
    return _rules(inner[0])


def _loose(rule: str) -> str:
    """A rule without what nft leaves out: braces of a set of one, `meta`, quotes."""
    bare = _SET.sub(r"\1", rule).replace("meta iifname", "iifname").replace("meta oifname", "oifname")
    return " ".join(bare.replace('"', "").split())


def _answer(asked: Completed) -> str:
    if asked.returncode == 127:
        raise NftAbsent(_ABSENT)
    if asked.returncode != 0:
        raise StateFailed(f"nft: {asked.stderr.strip()}")
    return asked.stdout
