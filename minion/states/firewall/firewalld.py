"""The state module `firewalld`: zones and services of firewalld's permanent configuration, which is then loaded.

Behaviour: doc/ref/states/all/salt.states.firewalld.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

from minion.arguments.types import Texts, ToCome
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.providers.firewall import firewalld
from minion.providers.firewall.firewalld import FirewallRefused, Forward

_BRINGING = frozenset({"pkg", "service"})
"""States of the same run that may bring firewalld, or start it."""


class ZoneContents(NamedTuple):
    """What a zone shall have; with `prune_*` nothing else of the kind."""

    block_icmp: Texts = ()
    prune_block_icmp: bool = False
    ports: Texts = ()
    prune_ports: bool = False
    port_fwd: Texts = ()
    prune_port_fwd: bool = False
    services: Texts = ()
    prune_services: bool = False
    interfaces: Texts = ()
    prune_interfaces: bool = False
    sources: Texts = ()
    prune_sources: bool = False
    rich_rules: Texts = ()
    prune_rich_rules: bool = False


class _Kind(NamedTuple):
    """One kind of what a zone has."""

    argument: str
    given: Callable[[ZoneContents], tuple[Sequence[str], bool]]
    """What is wanted, and whether nothing else is."""
    listed: str
    """The word of `--list-all`."""
    option: str
    """As in `--add-OPTION`."""
    key: str = ""
    """In `changes`, where it is not the argument's name."""
    same: Callable[[str], Hashable] = str
    """What two entries that mean the same have in common."""
    shown: Callable[[str], Value] = str


def _forward_shown(words: str) -> Value:
    return firewalld.forwards([words])[0].shown()


_KINDS = (
    _Kind("block_icmp", lambda c: (c.block_icmp, c.prune_block_icmp), "icmp-blocks", "icmp-block", "icmp_types"),
    _Kind("ports", lambda c: (c.ports, c.prune_ports), "ports", "port"),
    _Kind("port_fwd", lambda c: (c.port_fwd, c.prune_port_fwd), "forward-ports", "forward-port", shown=_forward_shown),
    _Kind("services", lambda c: (c.services, c.prune_services), "services", "service"),
    _Kind("interfaces", lambda c: (c.interfaces, c.prune_interfaces), "interfaces", "interface"),
    _Kind("sources", lambda c: (c.sources, c.prune_sources), "sources", "source"),
    _Kind(
        "rich_rules", lambda c: (c.rich_rules, c.prune_rich_rules), "rich rules", "rich-rule", same=firewalld.meaning
    ),
)


def present(
    machine: Reader, name: str, *, default: bool | None = None, masquerade: bool | None = None,
    contents: ZoneContents, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """The zone is there and has this.

    With `default: True` it is the default zone. `masquerade` is left as it is unless it is given. After a change
    firewalld loads its configuration.
    """
    try:
        found = firewalld.zone(machine, name)
        changes = [] if found is not None else [_made(machine, name)]
        if default and (was := firewalld.asked(machine, "--get-default-zone")) != name:
            changes.append(_telling("default", was, name, [[f"--set-default-zone={name}"]]))
        has = found or {}
        strange = _strange_icmp_types(machine, contents, has)
        _refuse_unknown_services(machine, contents, has, to_come)
    except FirewallRefused as refused:
        return _unreached(name, refused, to_come)
    masked = has.get("masquerade") == ["yes"]
    if masquerade is not None and masquerade != masked:
        option, word = ("add", "set") if masquerade else ("remove", "disabled")
        words = ["--permanent", f"--zone={name}", f"--{option}-masquerade"]
        changes.append(_telling("masquerade", masked, f"Masquerading successfully {word}.", [words]))
    for kind in _KINDS:
        changes += _differences(name, kind, contents, has, strange)
    return Plan(
        changes=_loaded(changes),
        comment=f"'{name}' is already in the desired state.",
        pending=f"Configuration for '{name}' will change",
        done=f"'{name}' was configured.",
        warnings=tuple(f"{one} is an invalid ICMP type" for one in strange),
    )


def service(
    machine: Reader, name: str, *, ports: Texts = (), protocols: Texts = (), to_come: ToCome = frozenset()
) -> Plan:
    """firewalld knows the service, which is these ports and protocols and no others."""
    try:
        found = firewalld.service(machine, name)
    except FirewallRefused as refused:
        return _unreached(name, refused, to_come)
    changes = []
    for kind, wanted in (("port", ports), ("protocol", protocols)):
        has = (found or {}).get(f"{kind}s", [])
        new, old = [one for one in wanted if one not in has], [one for one in has if one not in wanted]
        if new or old:
            calls = _calls(f"--service={name}", kind, new, old)
            changes.append(_telling(f"{kind}s", has, list(wanted), calls))
    if found is None:
        # Salt's `changes` do not say that the service is new; of one without ports there would be none.
        making = [["--permanent", f"--new-service={name}"]]
        changes.insert(0, _telling("" if changes else name, None, None if changes else name, making))
    return Plan(
        changes=_loaded(changes),
        comment=f"'{name}' is already in the desired state.",
        pending=f"Configuration for '{name}' will change.",
        done=f"'{name}' was configured.",
    )


def _made(machine: Reader, name: str) -> Change:
    zones = firewalld.asked(machine, "--permanent", "--get-zones").split()
    # Loaded at once: only then can it be the default.
    return _telling(name, zones, name, [["--permanent", f"--new-zone={name}"], ["--reload"]])


def _differences(
    zone: str, kind: _Kind, contents: ZoneContents, found: Mapping[str, Sequence[str]], without: Sequence[str]
) -> Iterator[Change]:
    """The change of one kind of what the zone has; none where it is as it shall be."""
    given, prune = kind.given(contents)
    wanted = [one for one in _wanted(kind, given) if one not in without or kind.argument != "block_icmp"]
    has = list(found.get(kind.listed, ()))
    there, asked_for = {kind.same(one) for one in has}, {kind.same(one) for one in wanted}
    new = [one for one in wanted if kind.same(one) not in there]
    old = [one for one in has if prune and kind.same(one) not in asked_for]
    if not new and not old:
        return
    after = [one for one in has if one not in old] + new
    before_shown, after_shown = ([kind.shown(one) for one in each] for each in (has, after))
    calls = _calls(f"--zone={zone}", kind.option, new, old)
    yield _telling(kind.key or kind.argument, before_shown, after_shown, calls)


def _calls(where: str, option: str, new: Sequence[str], old: Sequence[str]) -> list[list[str]]:
    """The words of firewall-cmd that add and remove, all of one kind at once."""
    both = (("add", new), ("remove", old))
    return [["--permanent", where, *(f"--{verb}-{option}={one}" for one in each)] for verb, each in both if each]


def _wanted(kind: _Kind, given: Sequence[str]) -> list[str]:
    """In the words of firewall-cmd, each once."""
    each = dict.fromkeys(given)
    if kind.argument == "rich_rules":
        return [firewalld.quoted(one) for one in each]
    return [Forward.of(one).words for one in each] if kind.argument == "port_fwd" else list(each)


def _strange_icmp_types(machine: Reader, contents: ZoneContents, found: Mapping[str, Sequence[str]]) -> list[str]:
    """Those that firewalld does not know. Salt leaves them out, too."""
    new = [one for one in contents.block_icmp if one not in found.get("icmp-blocks", ())]
    known = firewalld.asked(machine, "--permanent", "--get-icmptypes").split() if new else []
    return [one for one in new if one not in known]


def _refuse_unknown_services(
    machine: Reader, contents: ZoneContents, found: Mapping[str, Sequence[str]], to_come: ToCome
) -> None:
    """StateFailed for those that firewalld does not know, unless an earlier state of the run may bring them."""
    new = [one for one in contents.services if one not in found.get("services", ())]
    if not new or any(state in ("file", "firewalld", "pkg") for state, _ in to_come):
        return
    known = firewalld.asked(machine, "--permanent", "--get-services").split()
    if strange := [one for one in new if one not in known]:
        raise StateFailed(f"Error: firewall-cmd failed: Error: INVALID_SERVICE: {', '.join(strange)}")


def _telling(key: str, old: Value, new: Value, calls: Sequence[Sequence[str]]) -> Change:
    def act(machine: Machine) -> None:
        try:
            for words in calls:
                firewalld.told(machine, *words)
        except FirewallRefused as refused:
            raise StateFailed(f"Error: {refused}") from refused

    return Change(key=key, old=old, new=new, act=act)


def _loaded(changes: Sequence[Change]) -> tuple[Change, ...]:
    return (*changes, _telling("", None, None, [["--reload"]])) if changes else ()


def _unreached(name: str, refused: FirewallRefused, to_come: ToCome) -> Plan:
    """StateFailed, unless what an earlier state of the run brings is not there yet."""
    if not any(state in _BRINGING for state, _ in to_come):
        raise StateFailed(f"Error: {refused}") from refused

    def act(machine: Machine) -> None:
        raise StateFailed(f"Error: {refused}")

    text = f"'{name}' will be configured once firewalld is there"
    return Plan(changes=(Change(key=name, reported=text, act=act),), pending=text)


STATES: Mapping[str, StateFunction] = {"present": present, "service": service}
