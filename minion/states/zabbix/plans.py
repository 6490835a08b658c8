"""Plans that states of Zabbix share: an object is made, changed, deleted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan
from minion.providers.zabbix.api import CONNECTION, IDS, Zabbix

Ask = Callable[[], object]


def parted(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of the connection, and the properties."""
    connection = {key: one for key, one in given.items() if key in CONNECTION}
    return connection, {key: one for key, one in given.items() if key not in CONNECTION}


def act_of(ask: Ask, failed: str = "") -> Callable[[Machine], None]:
    """An act that asks the server; what it refuses is told after `failed`."""

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        try:
            ask()
        except StateFailed as error:
            raise StateFailed(f"{failed}{error}") from error

    return act


def created(what: str, name: str, ask: Ask) -> Plan:
    """It is made; `what` and its name, as in `Host group web`."""
    return Plan(
        changes=(
            Change(
                key=name, old=f"{what} does not exist.", new=f"{what} created.",
                act=act_of(ask, f"Unable to create {what[0].lower()}{what[1:]}. "),
            ),
        ),
        pending=f"{what} created.",
        done=f"{what} created.",
    )  # fmt: skip


def updated(what: str, changes: Mapping[str, Any], ask: Ask) -> Plan:
    """It is changed: all at once. Keys and values of `changes` are what is reported."""
    first, *others = changes
    return Plan(
        changes=(
            Change(key=first, reported=changes[first], act=act_of(ask)),
            *(Change(key=key, reported=changes[key], act=lambda machine: None) for key in others),
        ),
        pending=f"{what} updated.",
        done=f"{what} updated.",
    )


def deleted(what: str, name: str, ask: Ask | None) -> Plan:
    """It is deleted; `ask` is none where it is not there."""
    if ask is None:
        return Plan(comment=f"{what} does not exist.")
    act = act_of(ask, f"Unable to delete {what[0].lower()}{what[1:]}. ")
    return Plan(
        changes=(Change(key=name, old=f"{what} exists.", new=f"{what} deleted.", act=act),),
        pending=f"{what} deleted.",
        done=f"{what} deleted.",
    )


def exists(what: str) -> Plan:
    """It is as it should be."""
    return Plan(comment=f"{what} already exists.")


def defined(what: str, name: str, found: bool, difference: Mapping[str, Any], ask: Ask) -> Plan:
    """Of an object that has a definition: made by it, or made to correspond."""
    if found and not difference:
        return Plan(comment=f"{what} already exists and corresponds to a definition.")
    old, new, pending, done = (
        (f"{what} differed in following parameters: {dict(difference)}", "fixed.", "would be fixed.", "updated.")
        if found
        else (f"{what} did not exist.", "created according definition.", "would be created.", "created.")
    )
    return Plan(
        changes=(Change(key=name, old=old, new=f"{what} {new}", act=act_of(ask)),),
        pending=f"{what} {pending}",
        done=f"{what} {done}",
    )


def undefined(what: str, name: str, ask: Ask | None) -> Plan:
    """Of an object that has a definition: it is deleted."""
    if ask is None:
        return Plan(comment=f"{what} does not exist.")
    return Plan(
        changes=(Change(key=name, old=f"{what} existed.", new=f"{what} deleted.", act=act_of(ask)),),
        pending=f"{what} would be deleted.",
        done=f"{what} deleted.",
    )


def deleting(zabbix: Zabbix, kind: str, found: Mapping[str, Any] | None) -> Ask | None:
    """What deletes an object; none where there is none."""
    if found is None:
        return None
    identity = found[IDS[kind]]
    return lambda: zabbix.call(f"{kind}.delete", [identity])
