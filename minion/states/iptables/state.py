"""The state module `iptables`: rules, chains and policies of the kernel's tables, and the file they are loaded from.

A rule is there when `iptables -C` says so. One that iptables cannot read fails under test=True, too, unless an earlier
state of the run would bring what it lacks. Behaviour: doc/ref/states/all/salt.states.iptables.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from typing import Annotated, NamedTuple

from highstate.records import dataclass
from minion.arguments.types import AnyValue, Reads, ToCome, Unfit, Unsupported
from minion.machine.configured import configured
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.states.iptables import tables
from minion.states.iptables.rule import rule_text

_Rules = Annotated[Value, Unsupported("write a state for each rule")]
_BRINGING = frozenset(("iptables", "pkg"))
"""State modules that may bring what a rule lacks: its chain, the set or target it names, iptables itself."""


def _as_file(value: Value) -> bool | str:
    if isinstance(value, bool | str) or value is None:
        return value or False
    raise Unfit("true, or the path of a file")


SaveTo = Annotated[bool | str, Reads(_as_file, null=True)]


class RulePlace(NamedTuple):
    """Where a rule belongs, and the file that it is kept in."""

    chain: str
    table: str = "filter"
    family: str = "ipv4"
    save: SaveTo = False
    """True: the file that the system loads at boot; a text: this file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """A rule in its place."""

    name: str
    """Of the state."""
    place: RulePlace
    text: str
    shown: str
    """The whole command, as Salt's comments have it."""

    @classmethod
    def of(cls, name: str, place: RulePlace, command: str, position: Value, options: Mapping[str, Value]) -> _Rule:
        text = rule_text(options)
        words = tables.command(place.family, place.table, command, place.chain)
        return cls(name=name, place=place, text=text, shown=f"{' '.join(words)} {position} {text}".strip())

    def argv(self, command: str, *position: str) -> list[str]:
        """The words of the command that adds or deletes it."""
        words = tables.words_of(self.text)
        return tables.command(self.place.family, self.place.table, command, self.place.chain, *position, *words)

    def failed(self, verb: str = "set", suffix: str = "") -> str:
        """What is said when iptables refuses it; `{why}` is its own word."""
        return f"Failed to {verb} iptables rule for {self.name}.\nAttempted rule was {self.shown}{suffix}\n{{why}}"


def append(
    machine: Reader, name: str, *, place: RulePlace, position: AnyValue = "", rules: _Rules = None,
    to_come: ToCome = frozenset(), **options: AnyValue,
) -> Plan:  # fmt: skip
    """The rule is in the chain; when it was not, at its end."""
    rule, family = _Rule.of(name, place, "-A", position, options), place.family
    if _is_there(machine, rule, to_come, suffix=f" for {family}"):
        return _present(machine, rule, f"iptables rule for {name} already set ({rule.shown}) for {family}")
    return _changing(
        place,
        name,
        lambda machine: _run(machine, rule.argv("-A"), rule.failed(suffix=f" for {family}")),
        pending=f"iptables rule for {name} needs to be set ({rule.shown}) for {family}",
        done=f"Set iptables rule for {name} to: {rule.shown} for {family}",
        saved=_saved(machine, place, f"Set and saved iptables rule {name} for {family}\n{rule.shown}"),
    )


def insert(
    machine: Reader, name: str, *, place: RulePlace, position: int = 0, rules: _Rules = None,
    to_come: ToCome = frozenset(), **options: AnyValue,
) -> Plan:  # fmt: skip
    """The rule is in the chain; when it was not, at this position (below zero: counted from the end)."""
    rule, family = _Rule.of(name, place, "-I", position, options), place.family
    if _is_there(machine, rule, to_come):
        return _present(machine, rule, f"iptables rule for {name} already set for {family} ({rule.shown})")
    if position == 0:
        raise StateFailed("Error: Position needs to be specified or use append (-A)")
    if not _may_come(to_come) and position > (size := _size(machine, place)) + 1:
        raise _refused(rule.failed(), f"Index of insertion too big: the chain has {size} rules")

    def act(machine: Machine) -> None:
        at = position if position > 0 else max(_size(machine, place) + position + 1, 1)
        _run(machine, rule.argv("-I", str(at)), rule.failed())

    return _changing(
        place,
        name,
        act,
        pending=f"iptables rule for {name} needs to be set for {family} ({rule.shown})",
        done=f"Set iptables rule for {name} to: {rule.shown} for {family}",
        saved=_saved(machine, place, f"Set and saved iptables rule {name} for {family}\n{rule.shown}"),
    )


def delete(
    machine: Reader, name: str, *, place: RulePlace, position: int = 0, rules: _Rules = None, **options: AnyValue
) -> Plan:  # fmt: skip
    """The rule is not in the chain; with a position, whatever rule stands there is deleted, at each run."""
    rule, family = _Rule.of(name, place, "-D", position or "", options), place.family
    text = rule.text
    there = bool(text) and tables.has_rule(machine, family, place.table, place.chain, text) is True
    if not there and (not position or position > _size(machine, place)):
        return Plan(comment=f"iptables rule for {name} already absent for {family} ({rule.shown})")
    where = tables.command(family, place.table, "-D", place.chain, str(position))
    return _changing(
        place,
        name,
        lambda machine: _run(machine, where if position else rule.argv("-D"), rule.failed("delete")),
        pending=f"iptables rule for {name} needs to be deleted for {family} ({rule.shown})",
        done=f"Delete iptables rule for {name} {rule.shown}",
        saved=_saved(machine, place, f"Deleted and saved iptables rule {name} for {family}\n{rule.shown}"),
        each_time=bool(position),
    )


def set_policy(machine: Reader, name: str, *, place: RulePlace, policy: str, to_come: ToCome = frozenset()) -> Plan:
    """The chain, one of iptables' own, does this with what no rule decides."""
    chain, table, family = place.chain, place.table, place.family
    what = f"iptables default policy for chain {chain} on table {table} for {family}"
    found = _live(machine, family, "", to_come)  # of nftables a table that nobody has used yet is not listed
    if found is not None and tables.policy_of(found, table, chain) == policy:
        return Plan(comment=f"{what} already set to {policy}")
    argv = tables.command(family, table, "-P", chain, policy)
    said = f"Set default policy for {chain} to {policy} family {family}"
    saved = _saved(machine, place, "")
    return _changing(
        place,
        name,
        lambda machine: _run(machine, argv, "Failed to set iptables default policy\n{why}"),
        pending=f"{what} needs to be set to {policy}",
        done=said.replace("Set", "Set and saved", 1) if saved else said,
        saved=saved and _Saved(file=saved.file, filters=saved.filters),
    )


def flush(
    machine: Reader, name: str, *, chain: str = "", table: str = "filter", family: str = "ipv4",
    to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """The chain, or each chain of the table, has no rules."""
    place = RulePlace(chain=chain, table=table, family=family)
    done = f"Flush iptables rules in {table} table {chain} chain {family} family"
    found = _live(machine, family, table, to_come)
    chains = tables.parsed(found).get(table, {}) if found is not None else {}
    if found is not None and chain and chain not in chains and not _may_come(to_come):
        raise StateFailed(f"Failed to flush iptables rules\nThere is no chain {chain} in the table {table}")
    if found is not None and (not chain or chain in chains):
        wanted = [chains[chain]] if chain else list(chains.values())
        if not any(one["rules"] for one in wanted):
            return Plan(comment=done)
    argv = tables.command(family, table, "-F", chain)
    return _changing(
        place,
        name,
        lambda machine: _run(machine, argv, "Failed to flush iptables rules\n{why}"),
        pending=f"iptables rules in {name} table {table} chain {family} family needs to be flushed",
        done=done,
    )


def chain_present(
    machine: Reader, name: str, *, table: str = "filter", family: str = "ipv4", to_come: ToCome = frozenset()
) -> Plan:
    """The table has this chain."""
    if _has_chain(machine, name, table, family, to_come):
        return Plan(comment=f"iptables {name} chain is already exist in {table} table for {family}")
    argv = tables.command(family, table, "-N", name)
    return _changing(
        RulePlace(chain=name, table=table, family=family),
        name,
        lambda machine: _run(machine, argv, f"Failed to create {name} chain in {table} table: {{why}} for {family}"),
        pending=f"iptables {name} chain in {table} table needs to be set for {family}",
        done=f"iptables {name} chain in {table} table create success for {family}",
    )


def chain_absent(
    machine: Reader, name: str, *, table: str = "filter", family: str = "ipv4", to_come: ToCome = frozenset()
) -> Plan:
    """The table has no such chain; its rules go with it."""
    if not _has_chain(machine, name, table, family, to_come):
        return Plan(comment=f"iptables {name} chain is already absent in {table} table for {family}")

    def act(machine: Machine) -> None:
        for word, flag in ("flush", "-F"), ("delete", "-X"):
            said = f"Failed to {word} {name} chain in {table} table: {{why}} for {family}"
            _run(machine, tables.command(family, table, flag, name), said)

    return _changing(
        RulePlace(chain=name, table=table, family=family),
        name,
        act,
        pending=f"iptables {name} chain in {table} table needs to be removed {family}",
        done=f"iptables {name} chain in {table} table delete success for {family}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Saved:
    """What is saved after a change, and where."""

    file: str
    filters: Value
    comment: str = ""

    def write(self, machine: Machine, family: str) -> None:
        """Write all tables of the family."""
        text = tables.to_save(machine, family, self.filters)
        machine.mkdir(posixpath.dirname(self.file), parents=True)
        machine.write(self.file, text.encode("utf-8", "surrogateescape"))


def _saved(machine: Reader, place: RulePlace, comment: str) -> _Saved | None:
    if not place.save:
        return None
    file = tables.conf_file(machine.grains, place.family) if place.save is True else str(place.save)
    said = comment and f'{comment}\nWrote 1 lines to "{file}"'
    return _Saved(file=file, filters=configured(machine, "iptables.save_filters", []), comment=said)


def _changing(
    place: RulePlace,
    name: str,
    change: Callable[[Machine], None],
    *,
    pending: str,
    done: str,
    saved: _Saved | None = None,
    each_time: bool = False,
) -> Plan:
    def act(machine: Machine) -> None:
        change(machine)
        if saved is not None:
            saved.write(machine, place.family)

    return Plan(
        changes=(Change(key="locale", reported=name, act=act),),
        pending=pending,
        done=saved.comment if saved is not None and saved.comment else done,
        converges=not each_time,
        each_time=each_time,
    )


def _present(machine: Reader, rule: _Rule, comment: str) -> Plan:
    """The plan for a rule that is there: the file may still lack it."""
    place = rule.place
    saved = _saved(machine, place, f"{comment}\nSaved iptables rule {rule.name} for {place.family}\n{rule.shown}")
    if saved is None:
        return Plan(comment=comment)
    live = tables.to_save(machine, place.family, saved.filters)
    kept = machine.read(saved.file).decode("utf-8", "surrogateescape") if machine.stat(saved.file) else ""
    if tables.comparable(live) == tables.comparable(kept):
        return Plan(comment=comment)
    return Plan(
        changes=(Change(key="saved", reported=saved.file, act=lambda machine: saved.write(machine, place.family)),),
        pending=f"{comment}\nThe rules would be saved to {saved.file}",
        done=saved.comment,
    )


def _is_there(machine: Reader, rule: _Rule, to_come: ToCome, suffix: str = "") -> bool:
    """Whether the chain has the rule. StateFailed for one that iptables cannot read, and nothing would change that."""
    place = rule.place
    try:
        found = tables.has_rule(machine, place.family, place.table, place.chain, rule.text)
    except tables.Absent:
        if _may_come(to_come):
            return False
        raise
    if isinstance(found, bool) or _may_come(to_come):
        return found is True
    raise _refused(rule.failed(suffix=suffix), found)


def _has_chain(machine: Reader, name: str, table: str, family: str, to_come: ToCome) -> bool:
    found = _live(machine, family, table, to_come)
    return found is not None and name in tables.parsed(found).get(table, {})


def _live(machine: Reader, family: str, table: str, to_come: ToCome) -> str | None:
    """The table as it is, or all; None where an earlier state of a test run would bring iptables."""
    try:
        return tables.saved_text(machine, family, table)
    except tables.Absent:
        if _may_come(to_come):
            return None
        raise


def _size(machine: Reader, place: RulePlace) -> int:
    """How many rules the chain has."""
    found = tables.parsed(tables.saved_text(machine, place.family, place.table))
    return len(found.get(place.table, {}).get(place.chain, {}).get("rules", ()))


def _may_come(to_come: ToCome) -> bool:
    return any(state in _BRINGING for state, _ in to_come)


def _run(machine: Machine, argv: list[str], failed: str) -> None:
    if why := tables.done(machine, argv):
        raise _refused(failed, why)


def _refused(failed: str, why: str) -> StateFailed:
    return StateFailed(failed.replace("{why}", why))


STATES: Mapping[str, StateFunction] = {
    "append": append,
    "chain_absent": chain_absent,
    "chain_present": chain_present,
    "delete": delete,
    "flush": flush,
    "insert": insert,
    "set_policy": set_policy,
}
