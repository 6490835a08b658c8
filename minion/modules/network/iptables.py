"""The execution module `iptables`: what the kernel's tables hold, and changes of them by the code of the states."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from minion.arguments.types import AnyValue
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.config import option
from minion.states.iptables import tables
from minion.states.iptables.rule import rule_text


def version(context: Context, family: str = "ipv4") -> str:
    """Version of iptables."""
    return tables.asked(context.machine, [tables.program(family), "--version"]).stdout.split()[1]


def build_rule(
    context: Context, table: str = "filter", chain: str | None = None, command: str | None = None,
    position: AnyValue = "", full: bool | None = None, family: str = "ipv4", **options: Any,
) -> str:  # fmt: skip
    """A rule from options with the long names of iptables; with `full` the whole command."""
    rule = rule_text(options)
    if not full:
        return rule
    if not chain or not command:
        return f"Error: {'Command' if chain else 'Chain'} needs to be specified"
    flag = f"{'-' if command in 'ACDIRLSFZNXPE' else '--'}{command}"
    return f"{' '.join(tables.command(family, table, flag, chain))} {position} {rule}"


def get_rules(context: Context, family: str = "ipv4") -> dict[str, Any]:
    """Table → chain → policy, counters and rules of the kernel."""
    return tables.parsed(tables.saved_text(context.machine, family))


def get_saved_rules(context: Context, conf_file: str | None = None, family: str = "ipv4") -> dict[str, Any]:
    """The same of the file that the system loads at boot, or of another."""
    file = conf_file or tables.conf_file(context.grains, family)
    return tables.parsed(context.machine.read(file).decode("utf-8", "surrogateescape"))


def get_policy(context: Context, table: str = "filter", chain: str = "", family: str = "ipv4") -> str | None:
    """What a chain does with what no rule decides; null when there is no such chain."""
    return _policy(get_rules(context, family), table, chain)


def get_saved_policy(
    context: Context, table: str = "filter", chain: str = "", conf_file: str | None = None, family: str = "ipv4"
) -> str | None:
    """The same of the file."""
    return _policy(get_saved_rules(context, conf_file, family), table, chain)


def set_policy(context: Context, table: str = "filter", chain: str = "", policy: str = "", family: str = "ipv4") -> str:
    """Have a chain do this with what no rule decides; what iptables says against it."""
    if not policy:
        return "Error: Policy needs to be specified"
    return _done(context, family, table, "-P", chain, policy)


def save(context: Context, filename: str | None = None, family: str = "ipv4") -> str:
    """Write the kernel's tables to the file that the system loads at boot, or to another."""
    file = filename or tables.conf_file(context.grains, family)
    text = tables.to_save(context.machine, family, option(context, "iptables.save_filters", []))
    context.machine.mkdir(posixpath.dirname(file), parents=True)
    context.machine.write(file, text.encode("utf-8", "surrogateescape"))
    return f'Wrote 1 lines to "{file}"'


def check(
    context: Context, table: str = "filter", chain: str | None = None, rule: str | None = None, family: str = "ipv4"
) -> Any:
    """Whether a chain has a rule."""
    if lacking := _lacking(chain, rule):
        return lacking
    return tables.has_rule(context.machine, family, table, chain or "", rule or "") is True


def check_chain(context: Context, table: str = "filter", chain: str | None = None, family: str = "ipv4") -> Any:
    """Whether a table has a chain."""
    if not chain:
        return _lacking(chain, "-")
    return chain in tables.parsed(tables.saved_text(context.machine, family, table)).get(table, {})


def new_chain(context: Context, table: str = "filter", chain: str | None = None, family: str = "ipv4") -> Any:
    """Make a chain; true, or what iptables says against it."""
    return _lacking(chain, "-") or _done(context, family, table, "-N", chain or "") or True


def delete_chain(context: Context, table: str = "filter", chain: str | None = None, family: str = "ipv4") -> Any:
    """Take a chain away that has no rules; true, or what iptables says against it."""
    return _lacking(chain, "-") or _done(context, family, table, "-X", chain or "") or True


def append(
    context: Context, table: str = "filter", chain: str | None = None, rule: str | None = None, family: str = "ipv4"
) -> Any:
    """Add a rule at the end of a chain; false when it is there, or iptables refuses it."""
    if lacking := _lacking(chain, rule):
        return lacking
    if check(context, table, chain, rule, family):
        return False
    return not _done(context, family, table, "-A", chain or "", *tables.words_of(rule or ""))


def insert(
    context: Context, table: str = "filter", chain: str | None = None, position: int | None = None,
    rule: str | None = None, family: str = "ipv4",
) -> Any:  # fmt: skip
    """Add a rule at a position (below zero: counted from the end); what iptables says against it, false when it is
    there."""
    if lacking := _lacking(chain, rule):
        return lacking
    if not position:
        return "Error: Position needs to be specified or use append (-A)"
    if check(context, table, chain, rule, family):
        return False
    if position < 0:
        there = get_rules(context, family).get(table, {}).get(chain or "", {"rules": []})["rules"]
        position = max(len(there) + position + 1, 1)
    return _done(context, family, table, "-I", chain or "", str(position), *tables.words_of(rule or ""))


def delete(
    context: Context, table: str, chain: str = "", position: int | None = None, rule: str | None = None,
    family: str = "ipv4",
) -> str:  # fmt: skip
    """Take a rule out of a chain, by itself or by its position; what iptables says against it."""
    if position and rule:
        return "Error: Only specify a position or a rule, not both"
    return _done(context, family, table, "-D", chain, *([str(position)] if position else tables.words_of(rule or "")))


def flush(context: Context, table: str = "filter", chain: str = "", family: str = "ipv4") -> str:
    """Take all rules out of a chain, or out of all chains of a table; what iptables says against it."""
    return _done(context, family, table, "-F", chain)


def _policy(rules: Mapping[str, Any], table: str, chain: str) -> str | None:
    if not chain:
        raise CallFailed("Error: Chain needs to be specified")
    found = rules.get(table, {}).get(chain)
    return None if found is None else str(found["policy"])


def _lacking(chain: str | None, rule: str | None) -> str:
    if not chain:
        return "Error: Chain needs to be specified"
    return "" if rule else "Error: Rule needs to be specified"


def _done(context: Context, family: str, table: str, what: str, chain: str, *words: str) -> str:
    return tables.done(context.machine, tables.command(family, table, what, chain, *words))


FUNCTIONS: Mapping[str, Any] = {
    "append": append,
    "build_rule": build_rule,
    "check": check,
    "check_chain": check_chain,
    "delete": delete,
    "delete_chain": delete_chain,
    "flush": flush,
    "get_policy": get_policy,
    "get_rules": get_rules,
    "get_saved_policy": get_saved_policy,
    "get_saved_rules": get_saved_rules,
    "insert": insert,
    "new_chain": new_chain,
    "save": save,
    "set_policy": set_policy,
    "version": version,
}
