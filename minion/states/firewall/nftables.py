"""The state module `nftables`: tables, chains, policies and rules of the kernel.

A rule is there when the chain has it in nft's own words. One that nft cannot read fails under test=True, too.
Behaviour: doc/ref/states/all/salt.states.nftables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from minion.arguments.types import AnyValue, ToCome
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.providers.firewall import nftables
from minion.providers.firewall.nft_rule import rule_text
from minion.providers.firewall.nftables import NftAbsent, NftRule, Tables

_Answer = TypeVar("_Answer")
_BRINGING = frozenset(("nftables", "pkg"))
"""State modules that may bring what a rule lacks: its table, its chain, nft itself."""


class NftPlace(NamedTuple):
    """Where a rule belongs, and whether the rules are saved after a change."""

    table: str
    chain: str
    family: str = "ipv4"
    save: bool = False


class _Rule(NamedTuple):
    """A rule in its place."""

    place: NftPlace
    text: str

    @classmethod
    def of(cls, place: NftPlace, options: Mapping[str, Value]) -> _Rule:
        text = rule_text(nftables.family_of(place.family), options)
        if not text:
            raise StateFailed("Rule needs to be specified")
        return cls(place, text)

    @property
    def where(self) -> list[str]:
        """The place in words of nft."""
        return [nftables.family_of(self.place.family), self.place.table, self.place.chain]

    def found(self, machine: Reader, to_come: ToCome, *, expected: bool = True) -> NftRule | None:
        """None where the chain does not have it. `expected`: see `Tables.find`."""
        tables = Tables(machine, self.place.family)
        try:
            return tables.find(self.place.table, self.place.chain, self.text, expected=expected)
        except StateFailed:
            if _may_come(to_come):
                return None
            raise


def append(machine: Reader, name: str, *, place: NftPlace, to_come: ToCome = frozenset(), **options: AnyValue) -> Plan:
    """The rule is in the chain; when it was not, at its end."""
    rule, family = _Rule.of(place, options), place.family
    attempted = f"Failed to set nftables rule for {name}.\nAttempted rule was {rule.text} for {family}."
    if _found(machine, rule, to_come, attempted) is not None:
        return Plan(comment=f"nftables rule for {name} already set ({rule.text}) for {family}")
    return _changing(
        name,
        [["add", "rule", *rule.where, rule.text]],
        pending=f"nftables rule for {name} needs to be set ({rule.text}) for {family}",
        done=f"Set{_saved(place)} nftables rule for {name} to: {rule.text} for {family}",
        failed=attempted,
        save=place.save,
    )


def insert(
    machine: Reader, name: str, *, place: NftPlace, position: int | None = None, to_come: ToCome = frozenset(),
    **options: AnyValue,
) -> Plan:  # fmt: skip
    """The rule is in the chain; when it was not, before the rule with the handle `position`, or as the first."""
    rule, family = _Rule.of(place, options), place.family
    attempted = f"Failed to set nftables rule for {name}.\nAttempted rule was {rule.text}"
    if _found(machine, rule, to_come, attempted) is not None:
        return Plan(comment=f"nftables rule for {name} already set for {family} ({rule.text})")
    at = ["position", str(position)] if position else []
    return _changing(
        name,
        [["insert", "rule", *rule.where, *at, rule.text]],
        pending=f"nftables rule for {name} needs to be set for {family} ({rule.text})",
        done=f"Set{_saved(place)} nftables rule for {name} to: {rule.text} for {family}",
        failed=attempted,
        save=place.save,
    )


def delete(
    machine: Reader, name: str, *, place: NftPlace, position: int | None = None, to_come: ToCome = frozenset(),
    **options: AnyValue,
) -> Plan:  # fmt: skip
    """The chain does not have the rule; with `position` the one with this handle goes in its place."""
    rule, family = _Rule.of(place, options), place.family
    absent = f"nftables rule for {name} already absent for {family} ({rule.text})"
    try:
        found = rule.found(machine, to_come, expected=False)
    except NftAbsent:
        raise
    except StateFailed:  # a table or chain that is not there has no rules
        found = None
    if found is None:
        return Plan(comment=absent)
    handle = position or found.handle
    said = f"Deleted and Saved nftables rule for {name} for {rule.text}{family}"
    return _changing(
        name,
        [["delete", "rule", *rule.where, "handle", str(handle)]],
        pending=f"nftables rule for {name} needs to be deleted for {family} ({rule.text})",
        done=said if place.save else f"Delete nftables rule for {name} {rule.text}",
        failed=f"Failed to delete nftables rule for {name}.\nAttempted rule was {rule.text}",
        save=place.save,
        converges=not position,
    )


def flush(
    machine: Reader, name: str, *, table: str = "filter", chain: str = "", family: str = "ipv4",
    ignore_absence: bool = False, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """The chain, or each chain of the table, has no rules. A place that is not there fails unless `ignore_absence`."""
    tables = Tables(machine, family)
    what = f"chain {chain} in table {table}" if chain else f"table {table}"
    has_table = _asked(lambda: table in tables.names(), to_come, default=False)
    there = has_table and (not chain or tables.chain(table, chain) is not None)
    done = f"Flush nftables rules in {table} table {chain} chain {family} family"
    if not there and not _may_come(to_come):
        if ignore_absence:
            return Plan(comment=done)
        kind = "chain" if has_table else "table"
        what = what if has_table else f"table {table}"
        raise StateFailed(f"Failed to flush {what} in family {family}, {kind} does not exist.")
    if there and not any(tables.rules(table, one) for one in ([chain] if chain else tables.chains(table))):
        return Plan(comment=done)
    words = ["flush", "chain" if chain else "table", tables.family, table, *([chain] if chain else [])]
    return _changing(
        name,
        [words],
        pending=f"nftables rules in {what} of family {family} would be flushed",
        done=done,
        failed="Failed to flush nftables rules",
    )


def set_policy(
    machine: Reader, name: str, *, chain: str, policy: str, table: str = "filter", family: str = "ipv4",
    save: bool = False, save_filename: str | None = None, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """The chain, one with a hook, does this with what no rule decides."""
    tables = Tables(machine, family)
    what = f"nftables default policy for chain {chain} on table {table} for {family}"
    found = _asked(lambda: tables.chain(table, chain), to_come)
    failed = "Failed to set nftables default policy"
    if found is None and not _may_come(to_come):
        raise StateFailed(f"{failed}\nThere is no chain {chain} in the table {table}")
    if found is not None and "hook" not in found:
        raise StateFailed(f"{failed}\nThe chain {chain} has no hook")
    if found is not None and found.get("policy", "") == policy.lower():
        return Plan(comment=f"{what} already set to {policy}")
    if policy.lower() not in ("accept", "drop"):
        raise StateFailed(f"{failed}\n{policy!r} is no policy: accept, or drop")

    def words(machine: Machine) -> list[list[str]]:
        now = Tables(machine, family).chain(table, chain) or {}
        how = (
            f"{{ type {now.get('type')} hook {now.get('hook')} priority {now.get('prio')}; policy {policy.lower()}; }}"
        )
        return [["add", "chain", tables.family, table, chain, how]]

    said = f"Set{' and saved' if save else ''} default policy for {chain} to {policy} family {family}"
    pending = f"{what} needs to be set to {policy}"
    return _changing(name, words, pending=pending, done=said, failed=failed, save=save, filename=save_filename)


def chain_present(
    machine: Reader, name: str, *, table: str = "filter", table_type: str | None = None, hook: str | None = None,
    priority: str | None = None, family: str = "ipv4", to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """The table has this chain; a new one gets the hook."""
    tables = Tables(machine, family)
    nftables.named(name)
    if _asked(lambda: tables.chain(table, name), to_come) is not None:
        return Plan(comment=f"nftables {name} chain is already exist in {table} table for {family}")
    failed = f"Failed to create {name} chain in {table} table: {{why}} for {family}"
    if not _may_come(to_come) and table not in tables.names():
        raise StateFailed(failed.format(why=f"Table {table} in family {family} does not exist"))
    how = []
    if table_type or hook or priority:
        if not (table_type and hook and priority):
            raise StateFailed(failed.format(why="Table_type, hook, and priority required."))
        how = [f"{{ type {table_type} hook {hook} priority {priority}; }}"]
    return _changing(
        name,
        [["add", "chain", tables.family, table, name, *how]],
        pending=f"nftables chain {name} would be created in table {table} for family {family}",
        done=f"nftables {name} chain in {table} table create success for {family}",
        failed=failed,
    )


def chain_absent(
    machine: Reader, name: str, *, table: str = "filter", family: str = "ipv4", to_come: ToCome = frozenset()
) -> Plan:
    """The table has no such chain; its rules go with it."""
    tables = Tables(machine, family)
    if _asked(lambda: tables.chain(table, nftables.named(name)), to_come) is None:
        return Plan(comment=f"nftables {name} chain is already absent in {table} table for {family}")
    where = [tables.family, table, name]
    return _changing(
        name,
        [["flush", "chain", *where], ["delete", "chain", *where]],
        pending=f"nftables chain {name} would be deleted from table {table} for family {family}",
        done=f"nftables {name} chain in {table} table delete success for {family}",
        failed=f"Failed to delete {name} chain in {table} table: {{why}} for {family}",
    )


def table_present(machine: Reader, name: str, *, family: str = "ipv4", to_come: ToCome = frozenset()) -> Plan:
    """The family has this table."""
    tables = Tables(machine, family)
    if _asked(lambda: nftables.named(name) in tables.names(), to_come, default=False):
        return Plan(comment=f"nftables table {name} already exists in family {family}")
    return _changing(
        name,
        [["add", "table", tables.family, name]],
        pending=f"nftables table {name} would be created in family {family}",
        done=f"nftables table {name} successfully created in family {family}",
        failed=f"Failed to create table {name} for family {family}",
    )


def table_absent(machine: Reader, name: str, *, family: str = "ipv4", to_come: ToCome = frozenset()) -> Plan:
    """The family has no such table; its chains and rules go with it."""
    tables = Tables(machine, family)
    if not _asked(lambda: nftables.named(name) in tables.names(), to_come, default=False):
        return Plan(comment=f"nftables table {name} is already absent from family {family}")
    return _changing(
        name,
        [["delete", "table", tables.family, name]],
        pending=f"nftables table {name} would be deleted from family {family}",
        done=f"nftables table {name} successfully deleted from family {family}",
        failed=f"Failed to delete table {name} from family {family}",
    )


def _found(machine: Reader, rule: _Rule, to_come: ToCome, attempted: str) -> NftRule | None:
    try:
        return rule.found(machine, to_come)
    except NftAbsent:
        raise
    except StateFailed as failure:
        raise StateFailed(f"{attempted}\n{failure}") from failure


def _asked(question: Callable[[], _Answer], to_come: ToCome, default: _Answer | None = None) -> _Answer | None:
    """The answer; the default where an earlier state of a test run would bring nft."""
    try:
        return question()
    except NftAbsent:
        if _may_come(to_come):
            return default
        raise


def _may_come(to_come: ToCome) -> bool:
    return any(state in _BRINGING for state, _ in to_come)


def _saved(place: NftPlace) -> str:
    return " and Saved" if place.save else ""


def _changing(
    name: str,
    calls: Sequence[Sequence[str]] | Callable[[Machine], Sequence[Sequence[str]]],
    *,
    pending: str,
    done: str,
    failed: str,
    save: bool = False,
    filename: str | None = None,
    converges: bool = True,
) -> Plan:
    def act(machine: Machine) -> None:
        for words in calls(machine) if callable(calls) else calls:
            if why := nftables.done(machine, *words):
                raise StateFailed(failed.replace("{why}", why) if "{why}" in failed else f"{failed}\n{why}")
        if save:
            nftables.save(machine, filename)

    change = Change(key="locale", reported=name, act=act)
    return Plan(changes=(change,), pending=pending, done=done, converges=converges)


STATES: Mapping[str, StateFunction] = {
    "append": append,
    "chain_absent": chain_absent,
    "chain_present": chain_present,
    "delete": delete,
    "flush": flush,
    "insert": insert,
    "set_policy": set_policy,
    "table_absent": table_absent,
    "table_present": table_present,
}
