"""The state module `ipset`: sets of addresses, networks and ports of the kernel, and their entries.

Behaviour: doc/ref/states/all/salt.states.ipset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from minion.arguments.types import NumberOrText, Texts, ToCome
from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.firewall import ipset
from minion.providers.firewall.ipset import Ipset, IpsetEntry, IpsetOptions

_NEED_OF_SETS = {"comment": "comment", "timeout": "timeout", "packets": "counters", "bytes": "counters"}
"""Option of an entry -> the option that its set was made with."""


def set_present(
    machine: Reader, name: str, *, set_type: str, family: str = "ipv4", options: IpsetOptions
) -> Plan:  # fmt: skip
    """There is a set of this type. The options of one that is there are not compared: the kernel cannot change them."""
    try:
        words = ipset.creation(name, set_type, family, options)
    except StateFailed as failed:
        raise StateFailed(f"Failed to create set {name} for {family}: {failed}") from failed
    found = ipset.ipset_of(machine, name)
    if found is not None and found.kind != set_type:
        raise StateFailed(f"Failed to create set {name} for {family}: it is there, of type {found.kind}")
    if found is not None:
        return Plan(comment=f"ipset set {name} already exists for {family}")

    def act(machine: Machine) -> None:
        try:
            ipset.tell(machine, *words)
        except StateFailed as failed:
            raise StateFailed(f"Failed to create set {name} for {family}: {failed}") from failed

    return _plan(
        name, act, pending=f"ipset set {name} would be added for {family}",
        done=f"ipset set {name} created successfully for {family}",
    )  # fmt: skip


def set_absent(machine: Reader, name: str, *, family: str = "ipv4") -> Plan:
    """There is no such set. One that a rule or another set uses is left as it is, with all that is in it."""
    ipset.ipset_family(family)
    if ipset.ipset_of(machine, name) is None:
        return Plan(comment=f"ipset set {name} for {family} is already absent")
    if ipset.references(machine, name):
        raise StateFailed(f"Failed to delete set {name} for {family}: it is in use by a rule or another set")

    def act(machine: Machine) -> None:
        try:
            ipset.tell(machine, "destroy", name)
        except StateFailed as failed:
            raise StateFailed(f"Failed to delete set {name} for {family}: {failed}") from failed

    return _plan(
        name, act, pending=f"ipset set {name} for {family} would be removed",
        done=f"ipset set {name} deleted successfully for family {family}",
    )  # fmt: skip


def present(
    machine: Reader, name: str, *, entry: Texts = (), family: str = "ipv4", set_name: str,
    comment: NumberOrText | None = None, timeout: NumberOrText | None = None, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """The entries are in the set, with this comment; of a range or network all that it stands for."""
    entries = _entries(entry, timeout, comment)
    ipset.ipset_family(family)
    found = _set(
        machine, set_name, to_come, f"Failed to add to entry {entry[0]} to set {set_name} for family {family}."
    )
    _need_options(found, entries, family)
    missing = [one for one in entries if not _has(machine, found, one)]
    said = [f"entry for {one.text} already in set {set_name} for {family}\n" for one in entries if one not in missing]
    if not missing:
        return Plan(comment="".join(said))

    def act(machine: Machine) -> None:
        for one in missing:
            try:
                ipset.tell(machine, "add", "-exist", set_name, one.text, *one.options, *found.time_of(one))
            except StateFailed as failed:
                shown = f"Failed to add to entry {_shown(one)} to set {set_name} for family {family}."
                raise StateFailed(f"{shown}\n{failed}") from failed

    where = f"set {set_name} for family {family}\n"
    return _plan(
        name, act, pending="".join([*said, *(f"entry {one.text} would be added to {where}" for one in missing)]),
        done="".join([*said, *(f"entry {_shown(one)} added to {where}" for one in missing)]),
    )  # fmt: skip


def absent(
    machine: Reader, name: str, *, entry: Texts = (), entries: Texts = (), family: str = "ipv4", set_name: str,
    comment: NumberOrText | None = None, timeout: NumberOrText | None = None, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """The entries are not in the set, whatever their comments."""
    asked = _entries([*entry, *entries], timeout, comment)
    ipset.ipset_family(family)
    found = _set(machine, set_name, to_come, f"Failed to delete ipset entry from set {set_name} for {family}.")
    there = [one for one in asked if _any(machine, found, one)]
    said = [
        f"ipset entry for {_shown(one)} not present in set {set_name} for {family}\n"
        for one in asked
        if one not in there
    ]
    if not there:
        return Plan(comment="".join(said))

    def act(machine: Machine) -> None:
        for one in there:
            try:
                ipset.tell(machine, "del", "-exist", set_name, one.text)
            except StateFailed as failed:
                shown = f"Failed to delete ipset entry from set {set_name} for {family}. Attempted entry was"
                raise StateFailed(f"{shown} {_shown(one)}.\n{failed}") from failed

    where = f"removed from set {set_name} for {family}\n"
    return _plan(
        name, act, pending="".join([*said, *(f"ipset entry {one.text} would be {where}" for one in there)]),
        done="".join([*said, *(f"ipset entry {_shown(one)} {where}" for one in there)]),
    )  # fmt: skip


def flush(machine: Reader, name: str, *, family: str = "ipv4", to_come: ToCome = frozenset()) -> Plan:
    """Nothing is in the set."""
    ipset.ipset_family(family)
    found = ipset.ipset_of(machine, name)
    if found is None:
        raise _missing(f"ipset set {name} does not exist for {family}", name, to_come)
    done = f"Flushed ipset entries from set {name} for {family}"
    if not found.members:
        return Plan(comment=done)

    def act(machine: Machine) -> None:
        ipset.tell(machine, "flush", name)

    return _plan(name, act, pending=f"ipset entries in set {name} for {family} would be flushed", done=done)


def _entries(given: Sequence[str], timeout: str | None, comment: str | None) -> list[IpsetEntry]:
    if not given:
        raise StateFailed("ipset entry must be specified")
    return [ipset.entry_of(one, timeout, comment) for one in given]


def _set(machine: Reader, name: str, to_come: ToCome, failed: str) -> Ipset:
    found = ipset.ipset_of(machine, name)
    if found is None:
        raise _missing(f"{failed}\nError: Set {name} does not exist", name, to_come)
    return found


def _missing(text: str, name: str, to_come: ToCome) -> Exception:
    """What to raise where a set is not there: an earlier state of the run may make it."""
    if ("ipset", name) in to_come:
        return ContentUnknown(f"{text}. An earlier state of this run (ipset {name}) may make it")
    return StateFailed(text)


def _need_options(found: Ipset, entries: Sequence[IpsetEntry], family: str) -> None:
    """StateFailed for an option that only a set has which was made for it."""
    for option, words in _NEED_OF_SETS.items():
        if words in found.header:
            continue
        for one in entries:
            if option in one.options:
                shown = f"Failed to add to entry {_shown(one)} to set {found.name} for family {family}."
                raise StateFailed(f"{shown}\nError: Set {found.name} not created with {words} support")


def _has(machine: Reader, found: Ipset, entry: IpsetEntry) -> bool:
    """Whether nothing is to be done; what the list of members does not show, the kernel is asked for."""
    members = found.find(entry)
    if members[0] in found.members or len(members) > 1:
        return ipset.is_right(found, entry, members)
    return ipset.holds(machine, found.name, entry)


def _any(machine: Reader, found: Ipset, entry: IpsetEntry) -> bool:
    """Whether any of what an entry stands for is a member itself."""
    members = found.find(entry)
    if any(one in found.members for one in members):
        return True
    if found.kind in ("hash:ip", "bitmap:ip") and ipset.is_address(entry):
        return False  # its members are listed as such
    return len(members) == 1 and "net" not in found.kind and ipset.holds(machine, found.name, IpsetEntry(entry.text))


def _shown(entry: IpsetEntry) -> str:
    return " ".join((entry.text, *entry.options))


def _plan(name: str, act: Callable[[Machine], None], *, pending: str, done: str) -> Plan:
    return Plan(changes=(Change(key="locale", reported=name, act=act),), pending=pending, done=done)


STATES: Mapping[str, StateFunction] = {
    "absent": absent,
    "flush": flush,
    "present": present,
    "set_absent": set_absent,
    "set_present": set_present,
}
