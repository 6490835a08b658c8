"""The execution module `nftables`: tables, chains and rules of the kernel.

Behaviour: doc/ref/modules/all/salt.modules.nftables. Most functions give `result` and `comment`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from minion.arguments.types import AnyValue
from minion.execution.context import Context
from minion.machine.failure import StateFailed
from minion.providers.firewall import nftables
from minion.providers.firewall.nft_rule import rule_text
from minion.providers.firewall.nftables import Tables

Answer = dict[str, Any]


def version(context: Context) -> str:
    """Version of nft."""
    return context.machine.query(nftables.argv("--version")).stdout.split()[1]


def build_rule(
    context: Context, table: str | None = None, chain: str | None = None, command: str | None = None,
    position: AnyValue = "", full: AnyValue = None, family: str = "ipv4", **options: Any,
) -> Answer:  # fmt: skip
    """A rule from options; with `full` the whole command."""
    words = nftables.family_of(family)
    rule = rule_text(words, options)
    if str(full).lower() == "true":
        for what, given in (("Table", table), ("Chain", chain), ("Command", command)):
            if not given:
                return {"comment": f"{what} needs to be specified", "rule": rule, "result": False}
        verb = "insert" if str(command).lower() == "insert" else command
        at = f"position {position} " if position and verb == "insert" else ""
        rule = f"nft {verb} rule {words} {table} {chain} {at}{rule}"
    return {"comment": "Successfully built rule" if rule else "", "rule": rule, "result": True}


def list_tables(context: Context, family: str = "ipv4") -> list[Any]:
    """What nft says of each table."""
    listed = context.machine.query(nftables.argv("-j", "list", "tables", nftables.family_of(family))).stdout
    return [each["table"] for each in json.loads(listed)["nftables"] if "table" in each] if listed else []


def get_rules(context: Context, family: str = "ipv4") -> list[str]:
    """Each table as nft lists it."""
    machine, words = context.machine, nftables.family_of(family)
    names = Tables(machine, family).names()
    return [machine.query(nftables.argv("list", "table", words, name)).stdout.rstrip("\n") for name in names]


def get_rules_json(context: Context, family: str = "ipv4") -> list[Any]:
    """All that nft lists of a family, as data."""
    listed = context.machine.query(nftables.argv("-j", "list", "ruleset", nftables.family_of(family))).stdout
    return list(json.loads(listed)["nftables"]) if listed else []


def get_saved_rules(context: Context, conf_file: str | None = None) -> list[str]:
    """Lines of the file that rules are saved to, or of another, without remarks."""
    lines = context.machine.read(nftables.file_of(context.machine, conf_file)).decode().splitlines(keepends=True)
    return [line for line in lines if line.strip() and not line.strip().startswith("#")]


def save(context: Context, filename: str | None = None, family: str = "ipv4") -> str:
    """Write the tables of all families to the file, or to another; what is in it."""
    nftables.family_of(family)
    return nftables.save(context.machine, filename)


def check_table(context: Context, table: str | None = None, family: str = "ipv4") -> Answer:
    """Whether there is a table."""
    if not table:
        return _no("Table needs to be specified")
    there = table in Tables(context.machine, family).names()
    return _said(there, f"Table {table} in family {family} {'exists' if there else 'does not exist'}")


def check_chain(context: Context, table: str = "filter", chain: str | None = None, family: str = "ipv4") -> Answer:
    """Whether a table has a chain."""
    if not chain:
        return _no("Chain needs to be specified")
    there = Tables(context.machine, family).chain(table, chain) is not None
    return _said(there, f"Chain {chain} in table {table} in family {family} {'exists' if there else 'does not exist'}")


def check(
    context: Context, table: str = "filter", chain: str | None = None, rule: str | None = None, family: str = "ipv4"
) -> Answer:
    """Whether a chain has a rule."""
    lacking = _lacking(context, table, chain, rule, family)
    if lacking:
        return lacking
    there = Tables(context.machine, family).find(table, chain or "", rule or "") is not None
    what = f"Rule {rule} in chain {chain} in table {table} in family {family}"
    return _said(there, f"{what} {'exists' if there else 'does not exist'}")


def get_rule_handle(
    context: Context, table: str = "filter", chain: str | None = None, rule: str | None = None, family: str = "ipv4"
) -> Answer:
    """The handle of a rule."""
    if lacking := _lacking(context, table, chain, rule, family):
        return lacking
    found = Tables(context.machine, family).find(table, chain or "", rule or "")
    if found is None:
        return _no(f"Could not find rule {rule}")
    return {"result": True, "handle": str(found.handle)}


def new_table(context: Context, table: str, family: str = "ipv4") -> Answer:
    """Make a table."""
    found = check_table(context, table, family)
    what = f"Table {table} in family {family}"
    return found if found["result"] else _done(context, what, "created", "add", "table", family, table)


def delete_table(context: Context, table: str, family: str = "ipv4") -> Answer:
    """Take a table away, with all that is in it."""
    found = check_table(context, table, family)
    what = f"Table {table} in family {family}"
    return _done(context, what, "deleted", "delete", "table", family, table) if found["result"] else found


def new_chain(
    context: Context, table: str = "filter", chain: str | None = None, table_type: str | None = None,
    hook: str | None = None, priority: str | None = None, family: str = "ipv4",
) -> Answer:  # fmt: skip
    """Make a chain, with a hook where type, hook and priority are given."""
    if not chain:
        return _no("Chain needs to be specified")
    if not (found := check_table(context, table, family))["result"]:
        return found
    what = f"Chain {chain} in table {table} in family {family}"
    if check_chain(context, table, chain, family)["result"]:
        return _no(f"{what} already exists")
    how = []
    if table_type or hook or priority:
        if not (table_type and hook and priority):
            return _no("Table_type, hook, and priority required.")
        how = [f"{{ type {table_type} hook {hook} priority {priority}; }}"]
    return _done(context, what, "created", "add", "chain", family, table, chain, *how)


def delete_chain(context: Context, table: str = "filter", chain: str | None = None, family: str = "ipv4") -> Answer:
    """Take a chain away that has no rules."""
    if not (found := check_chain(context, table, chain, family))["result"]:
        return found
    what = f"Chain {chain} in table {table} in family {family}"
    return _done(context, what, "deleted", "delete", "chain", family, table, str(chain))


def append(
    context: Context, table: str = "filter", chain: str | None = None, rule: str | None = None, family: str = "ipv4"
) -> Answer:
    """Add a rule at the end of a chain; false when it is there."""
    return _added(context, table, chain, rule, family, lambda where: ["add", "rule", *where, str(rule)])


def insert(
    context: Context, table: str = "filter", chain: str | None = None, position: int | None = None,
    rule: str | None = None, family: str = "ipv4",
) -> Answer:  # fmt: skip
    """Add a rule as the first of a chain, or before the one with a handle; false when it is there."""
    at = ["position", str(position)] if position else []
    return _added(context, table, chain, rule, family, lambda where: ["insert", "rule", *where, *at, str(rule)])


def delete(
    context: Context, table: str, chain: str | None = None, position: int | None = None, rule: str | None = None,
    family: str = "ipv4",
) -> Answer:  # fmt: skip
    """Take a rule out of a chain, by itself or by its handle."""
    if position and rule:
        return _no("Only specify a position or a rule, not both")
    if not (found := check_chain(context, table, chain, family))["result"]:
        return found
    handle = str(position)
    if not position:
        handled = get_rule_handle(context, table, chain, rule, family)
        if not handled["result"]:
            return handled
        handle = handled["handle"]
    where = [nftables.family_of(family), table, str(chain), "handle", handle]
    why = nftables.done(context.machine, "delete", "rule", *where)
    place = f"in chain {chain} in table {table} in family {family}"
    return _no(f'Failed to delete rule "{rule}" {place}: {why}') if why else _yes(f'Deleted rule "{rule}" {place}.')


def flush(context: Context, table: str = "filter", chain: str = "", family: str = "ipv4") -> Answer:
    """Take all rules out of a chain, or out of all chains of a table."""
    found = check_chain(context, table, chain, family) if chain else check_table(context, table, family)
    if not found["result"]:
        return found
    words = ["flush", "chain" if chain else "table", nftables.family_of(family), table, *([chain] if chain else [])]
    place = f"from {f'chain {chain} in ' if chain else ''}table {table} in family {family}."
    why = nftables.done(context.machine, *words)
    return _no(f"Failed to flush rules {place}") if why else _yes(f"Flushed rules {place}")


def get_policy(context: Context, table: str = "filter", chain: str | None = None, family: str = "ipv4") -> str | None:
    """What a chain does with what no rule decides; null when there is no such chain."""
    if not chain:
        return "Error: Chain needs to be specified"
    found = Tables(context.machine, family).chain(table, chain)
    return None if found is None else found.get("policy")


def set_policy(
    context: Context, table: str = "filter", chain: str | None = None, policy: str | None = None, family: str = "ipv4"
) -> bool | str:
    """Have a chain do this with what no rule decides."""
    if not chain or not policy:
        return f"Error: {'Policy' if chain else 'Chain'} needs to be specified"
    found = Tables(context.machine, family).chain(table, chain)
    if found is None or "hook" not in found or policy.lower() not in ("accept", "drop"):
        return False
    how = f"{{ type {found['type']} hook {found['hook']} priority {found['prio']}; policy {policy.lower()}; }}"
    return not nftables.done(context.machine, "add", "chain", nftables.family_of(family), table, chain, how)


def _yes(comment: str) -> Answer:
    return {"comment": comment, "result": True}


def _no(comment: str) -> Answer:
    return {"comment": comment, "result": False}


def _said(result: bool, comment: str) -> Answer:
    return {"comment": comment, "result": result}


def _done(context: Context, what: str, how: str, verb: str, kind: str, family: str, *words: str) -> Answer:
    why = nftables.done(context.machine, verb, kind, nftables.family_of(family), *words)
    return _no(f"{what} could not be {how}: {why}") if why else _yes(f"{what} {how}")


def _lacking(context: Context, table: str, chain: str | None, rule: str | None, family: str) -> Answer | None:
    if not chain or not rule:
        return _no(f"{'Rule' if chain else 'Chain'} needs to be specified")
    for found in (check_table(context, table, family), check_chain(context, table, chain, family)):
        if not found["result"]:
            return found
    return None


def _added(
    context: Context, table: str, chain: str | None, rule: str | None, family: str,
    words: Callable[[list[str]], list[str]],
) -> Answer:  # fmt: skip
    if lacking := _lacking(context, table, chain, rule, family):
        return lacking
    place = f"chain {chain} in table {table} in family {family}"
    try:
        if check(context, table, chain, rule, family)["result"]:
            return _no(f"Rule {rule} {place} already exists")
    except StateFailed as failure:
        return _no(f'Failed to add rule "{rule}" {place}: {failure}')
    why = nftables.done(context.machine, *words([nftables.family_of(family), table, str(chain)]))
    return _no(f'Failed to add rule "{rule}" {place}: {why}') if why else _yes(f'Added rule "{rule}" {place}.')


FUNCTIONS: Mapping[str, Any] = {
    function.__name__: function
    for function in (
        append, build_rule, check, check_chain, check_table, delete, delete_chain, delete_table, flush, get_policy,
        get_rule_handle, get_rules, get_rules_json, get_saved_rules, insert, list_tables, new_chain, new_table, save,
        set_policy, version,
    )
}  # fmt: skip
