"""The execution module `ipset`: sets of the kernel.

Behaviour: doc/ref/modules/all/salt.modules.ipset. What ipset refuses is an error, with its words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from minion.arguments.types import Ignored, NumberOrText, Texts, Value
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers.firewall import ipset
from minion.providers.firewall.ipset import Ipset, IpsetOptions

OfTheSet = Annotated[Value, Ignored("a set has the family that it was made with")]


def version(context: Context) -> str:
    """Version of ipset."""
    return ipset.ask(context.machine, "--version").split()[1].rstrip(",")


def new_set(
    context: Context, name: str, set_type: str, family: str = "ipv4", comment: bool = False,
    range: NumberOrText | None = None,  # noqa: A002  (ipset's name)
    netmask: NumberOrText | None = None, timeout: NumberOrText | None = None, counters: bool = False,
    skbinfo: bool = False, hashsize: NumberOrText | None = None, maxelem: NumberOrText | None = None,
    markmask: NumberOrText | None = None, size: NumberOrText | None = None,
) -> bool:  # fmt: skip
    """Make a set."""
    options = IpsetOptions(
        range, netmask, timeout, counters, comment, skbinfo, hashsize, maxelem, markmask, size
    )  # fmt: skip
    ipset.tell(context.machine, *ipset.creation(name, set_type, family, options))
    return True


def delete_set(context: Context, name: str, family: OfTheSet = "ipv4") -> bool:
    """Take a set away."""
    ipset.tell(context.machine, "destroy", name)
    return True


def rename_set(context: Context, name: str, new_set: str, family: OfTheSet = "ipv4") -> bool:
    """Give a set another name."""
    _set(context, name)
    if ipset.ipset_of(context.machine, new_set) is not None:
        raise CallFailed("Error: New Set already exists")
    ipset.tell(context.machine, "rename", name, new_set)
    return True


def list_sets(context: Context, family: OfTheSet = "ipv4") -> list[dict[str, str]]:
    """What ipset says of each set, without its members."""
    blocks = ipset.ask(context.machine, "list", "-t").split("\n\n")
    return [dict(line.split(": ", 1) for line in block.splitlines() if ": " in line) for block in blocks if block]


def check_set(context: Context, name: str, family: OfTheSet = "ipv4") -> bool:
    """Whether there is a set."""
    return ipset.ipset_of(context.machine, name) is not None


def add(
    context: Context, name: str, entry: str, family: OfTheSet = "ipv4", timeout: NumberOrText | None = None,
    comment: NumberOrText | None = None,
) -> str:  # fmt: skip
    """Add an entry to a set."""
    found, wanted = _set(context, name), ipset.entry_of(entry, timeout, comment)
    members = found.find(wanted)
    if members[0] in found.members and ipset.is_right(found, wanted, members):
        return f"Warn: Entry {entry} already exists in set {name}"
    ipset.tell(context.machine, "add", "-exist", name, wanted.text, *wanted.options)
    return "Success"


def delete(context: Context, name: str, entry: str, family: OfTheSet = "ipv4") -> str:
    """Take an entry away from a set."""
    _set(context, name)
    ipset.tell(context.machine, "del", name, ipset.entry_of(entry, None, None).text)
    return "Success"


def check(context: Context, name: str, entry: Texts, family: OfTheSet = "ipv4") -> bool:
    """Whether one of these entries is in a set, or an address in one of its networks."""
    found = _set(context, name)
    for one in entry:
        wanted = ipset.entry_of(one, None, None)
        members = found.find(wanted)
        if ipset.is_right(found, wanted, members):
            return True
        if len(members) == 1 and members[0] not in found.members and ipset.holds(context.machine, name, wanted):
            return True
    return False


def test(
    context: Context,
    name: str,
    entry: str,
    family: OfTheSet = "ipv4",  # noqa: PT028  (no test of pytest's)
) -> bool:
    """Whether the kernel finds an entry in a set."""
    _set(context, name)
    return ipset.holds(context.machine, name, ipset.entry_of(entry, None, None))


def flush(context: Context, name: str | None = None, family: OfTheSet = "ipv4") -> bool:
    """Take all entries of a set away, or of all sets."""
    words: Sequence[str] = [name] if name else []
    ipset.tell(context.machine, "flush", *words)
    return True


def _set(context: Context, name: str) -> Ipset:
    found = ipset.ipset_of(context.machine, name)
    if found is None:
        raise CallFailed(f"Error: Set {name} does not exist")
    return found


FUNCTIONS: Mapping[str, Any] = {
    "add": add,
    "check": check,
    "check_set": check_set,
    "delete": delete,
    "delete_set": delete_set,
    "flush": flush,
    "list_sets": list_sets,
    "new_set": new_set,
    "rename_set": rename_set,
    "test": test,
    "version": version,
}
