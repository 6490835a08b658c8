"""The state module `snap`: snaps, whether they are enabled, and their options.

Behaviour: saltext.snap.states.snap_mod.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

from minion.arguments.types import AnyValue, Map, NumberOrText, Unsupported, Value
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers import snaps
from minion.providers.snaps import SnapChoice

_AS_SPECIFIED = "The snap is already installed as specified"


def installed(
    machine: Reader,
    name: str,
    *,
    channel: NumberOrText = "latest/stable",
    revision: NumberOrText | None = None,
    classic: bool = False,
    held: bool | None = None,
    assertions: Annotated[Value, Unsupported("install files of snaps by cmd.run with `unless`")] = None,
) -> Plan:
    """The snap is there, of this channel and revision (`latest`: the newest one), and held back or not."""
    if name.endswith(".snap"):
        raise StateFailed("files of snaps are not supported: install them by cmd.run with `unless`")
    wanted, there = snaps.whole_channel(channel), snaps.snaps(machine).get(snaps.checked(name))
    number = None if revision == "latest" else revision
    if there is None:
        choice = SnapChoice(channel, number, classic)
        changes = [Change(key="installed", reported=name, act=lambda machine: snaps.install(machine, name, choice))]
        if held:
            changes.append(_held(name, there=False, wanted=True))
        return _plan(changes, "installed")
    if revision == "latest":
        newer = snaps.upgrades(machine).get(name)
        number = newer.revision if newer else None
    turned = {}
    if there.channel != wanted:
        turned["channel"] = (there.channel, wanted)
    if number is not None and there.revision != number:
        turned["revision"] = (there.revision, number)
    choice = SnapChoice(channel, number, classic)
    made = [Change(key=key, old=old, new=new, act=_nothing_more) for key, (old, new) in turned.items()]
    if made:
        refresh = Change(key="", act=lambda machine: snaps.install(machine, name, choice, refresh=True))
        made = [refresh, *made]
    if held is not None and there.held is not held:
        made.append(_held(name, there=there.held, wanted=held))
    return _plan(made, "modified") if made else Plan(comment=_AS_SPECIFIED)


def _held(name: str, *, there: bool, wanted: bool) -> Change:
    return Change(key="held", old=there, new=wanted, act=lambda machine: snaps.hold(machine, name, held=wanted))


def _nothing_more(machine: Machine) -> None:
    """One act sees to channel and revision."""


def _plan(changes: list[Change], verb: str) -> Plan:
    return Plan(changes=tuple(changes), pending=f"Would have {verb} the snap", done=f"{verb.capitalize()} the snap")


def removed(machine: Reader, name: str, *, purge: bool = False) -> Plan:
    """The snap is not there; with `purge` no snapshot of its data is kept."""
    if snaps.checked(name) not in snaps.snaps(machine):
        return Plan(comment="The snap is already absent")
    remove = Change(key="removed", reported=name, act=lambda machine: snaps.remove(machine, name, purge=purge))
    return _plan([remove], "removed")


def enabled(machine: Reader, name: str) -> Plan:
    """The snap can be used."""
    return _switch(machine, name, "enabled", lambda machine: _tell(machine, "enable", name))


def disabled(machine: Reader, name: str) -> Plan:
    """The snap is there, and cannot be used."""
    return _switch(machine, name, "disabled", lambda machine: _tell(machine, "disable", name))


def _tell(machine: Machine, *words: str) -> None:
    snaps.tell(machine, *words)


def _switch(machine: Reader, name: str, word: str, act: Callable[[Machine], None]) -> Plan:
    there = snaps.snaps(machine).get(snaps.checked(name))
    if there is None:
        raise StateFailed(f'snap "{name}" is not installed')
    if there.enabled is (word == "enabled"):
        return Plan(comment=f"The snap is already {word}")
    change = Change(key=word, reported=name, act=act)
    return Plan(changes=(change,), pending=f"Would have {word} the snap", done=f"{word.capitalize()} the snap")


def option_managed(
    machine: Reader,
    name: str,
    *,
    option: str | None = None,
    value: AnyValue = None,
    options: Map = {},  # noqa: B006
) -> Plan:
    """Options of the snap have these values; one that is null is unset."""
    if bool(option) == bool(options):
        raise StateFailed("Either option and value or options are required")
    if name not in snaps.snaps(machine):
        raise StateFailed(f'snap "{name}" is not installed')
    wanted, there = options or {str(option): value}, snaps.options(machine, name)
    changes = [
        Change(key=each, reported=_turned(there, each, new), act=_setting(name, each, new))
        for each, new in wanted.items()
        if (each in there if new is None else each not in there or there[each] != new)
    ]
    return Plan(
        changes=tuple(changes),
        comment="All options are in the correct state",
        pending="Would have modified some options",
        done="Modified some options",
    )


def _turned(there: Mapping[str, Value], option: str, new: Value) -> Mapping[str, Value]:
    mark = {"unset": True} if new is None else {} if option in there else {"set": True}
    return {"old": there.get(option), "new": new, **mark}


def _setting(name: str, option: str, value: Value) -> Callable[[Machine], None]:
    return lambda machine: snaps.set_option(machine, name, option, value)


STATES: Mapping[str, StateFunction] = {
    "disabled": disabled,
    "enabled": enabled,
    "installed": installed,
    "option_managed": option_managed,
    "removed": removed,
}
