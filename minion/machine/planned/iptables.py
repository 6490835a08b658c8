"""Rules of iptables that a run under test=True would have set or deleted by now, in memory.

Part of `minion.machine.planned`: `iptables` and `ip6tables` performed and asked there. The rules of the machine stand
as `iptables-save` writes them, planned ones in the words in which they were given: `-C` finds those by their words, and
asks the machine about its own.
"""

from __future__ import annotations

import itertools
import posixpath
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from minion.machine.plan import Completed

_DONE = Completed(returncode=0, stdout="", stderr="")
_OWN_CHAINS = {
    "filter": ("INPUT", "FORWARD", "OUTPUT"),
    "nat": ("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"),
    "mangle": ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"),
    "raw": ("PREROUTING", "OUTPUT"),
    "security": ("INPUT", "FORWARD", "OUTPUT"),
}
"""Table -> the chains that it always has; a table that nobody has used is not listed."""


@dataclass(slots=True)
class _Chain:
    policy: str
    rules: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    """Rules of the machine that would be deleted, in the words in which they were named."""
    emptied: bool = False
    """Whether no rule of the machine is left, or the chain is new."""
    planned: set[str] = field(default_factory=set)


class PlannedTables:
    """What is planned, by family and table."""

    def __init__(self, ask: Callable[[Sequence[str]], Completed]) -> None:
        """Args:
        ask: answers `iptables -C` and `iptables-save` for the machine itself.
        """
        self._ask = ask
        self._families: dict[str, dict[str, dict[str, _Chain]]] = {}

    def answer(self, argv: Sequence[str]) -> Completed | None:
        """What `-C` or `iptables-save` would say; None where nothing is planned."""
        name = posixpath.basename(argv[0])
        tables = self._families.get(name.removesuffix("-save"))
        if tables is None:
            return None
        if name.endswith("-save"):
            wanted = argv[argv.index("-t") + 1] if "-t" in argv else ""
            text = "".join(_saved(table, chains) for table, chains in tables.items() if wanted in ("", table))
            return Completed(returncode=0, stdout=text, stderr="")
        table, what, chain, words = _parts(argv)
        found = tables.get(table, {}).get(chain)
        if what != "-C" or found is None:
            return None
        rule = shlex.join(words)
        if rule in found.planned:
            return _DONE
        if found.emptied or rule in found.gone:
            return Completed(
                returncode=1, stdout="", stderr="iptables: Bad rule (does a matching rule exist in that chain?)."
            )
        return None

    def act(self, argv: Sequence[str], _: str) -> Completed:
        """`-A`, `-I`, `-D`, `-P`, `-F`, `-N` or `-X`."""
        tables = self._tables(argv[0])
        table, what, name, words = _parts(argv)
        chains = tables.setdefault(table, {one: _Chain(policy="ACCEPT") for one in _OWN_CHAINS.get(table, ())})
        if what == "-N":
            if name in chains:
                return _refused("iptables: Chain already exists.")
            chains[name] = _Chain(policy="-", emptied=True)
            return _DONE
        if what == "-F" and not name:
            for each in chains.values():
                _flush(each)
            return _DONE
        chain = chains.get(name)
        if chain is None:
            return _refused("iptables: No chain/target/match by that name.")
        if what == "-X":
            return self._delete_chain(chains, name)
        if what == "-P":
            chain.policy = words[0]
        elif what == "-F":
            _flush(chain)
        else:
            return _change_rules(chain, what, words)
        return _DONE

    def _delete_chain(self, chains: dict[str, _Chain], name: str) -> Completed:
        jumps = (shlex.split(rule) for chain in chains.values() for rule in chain.rules)
        if any(
            word in ("-j", "--jump", "-g", "--goto") and target == name
            for one in jumps
            for word, target in itertools.pairwise(one)
        ):
            return _refused("iptables: Too many links.")
        del chains[name]
        return _DONE

    def _tables(self, program: str) -> dict[str, dict[str, _Chain]]:
        name = posixpath.basename(program)
        if name not in self._families:
            self._families[name] = _read(self._ask([f"{program}-save"]).stdout)
        return self._families[name]


def _change_rules(chain: _Chain, what: str, words: Sequence[str]) -> Completed:
    if what == "-D" and len(words) == 1 and words[0].isdigit():
        place = int(words[0]) - 1
        if place >= len(chain.rules):
            return _refused("iptables: Index of deletion too big.")
        rule = chain.rules.pop(place)
        chain.planned.discard(rule)
        chain.gone.add(rule)
        return _DONE
    place = len(chain.rules)
    if what == "-I":
        place, words = int(words[0]) - 1, words[1:]
        if place > len(chain.rules):
            return _refused("iptables: Index of insertion too big.")
    rule = shlex.join(words)
    if what == "-D":
        chain.gone.add(rule)
        chain.planned.discard(rule)
        if rule in chain.rules:
            chain.rules.remove(rule)
        return _DONE
    chain.rules.insert(place, rule)
    chain.planned.add(rule)
    chain.gone.discard(rule)
    return _DONE


def _flush(chain: _Chain) -> None:
    chain.rules.clear()
    chain.planned.clear()
    chain.emptied = True


def _parts(argv: Sequence[str]) -> tuple[str, str, str, list[str]]:
    """Table, command, chain and the words of the rule."""
    words = [word for word in argv[1:] if word != "--wait"]
    table = words[words.index("-t") + 1]
    what, *rest = words[words.index("-t") + 2 :]
    return table, what, rest[0] if rest else "", rest[1:]


def _read(text: str) -> dict[str, dict[str, _Chain]]:
    """What iptables-save writes."""
    found: dict[str, dict[str, _Chain]] = {}
    chains: dict[str, _Chain] = {}
    for line in text.splitlines():
        if line.startswith("*"):
            chains = found[line[1:].strip()] = {}
        elif line.startswith(":"):
            name, policy, *_ = line[1:].split()
            chains[name] = _Chain(policy=policy)
        elif line.startswith("-A "):
            _, name, rule = [*line.split(" ", 2), ""][:3]
            chains[name].rules.append(rule)
    return found


def _saved(table: str, chains: dict[str, _Chain]) -> str:
    lines = [f"*{table}", *(f":{name} {chain.policy} [0:0]" for name, chain in chains.items())]
    lines += [f"-A {name} {rule}" for name, chain in chains.items() for rule in chain.rules]
    return "".join(f"{line}\n" for line in [*lines, "COMMIT"])


def _refused(said: str) -> Completed:
    return Completed(returncode=1, stdout="", stderr=said)
