"""The state module `rabbitmq_user`.

Behaviour: doc/ref/states/all/salt.states.rabbitmq_user. A password is in no change, no
comment and no list of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from minion.arguments.types import Pairs, Reads, Unfit, as_texts
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.rabbitmq.broker import KINDS, Broker, RabbitmqCaller, add_user, as_line, users
from minion.providers.rabbitmq.known_users import KnownUsers


def _as_tags(value: Any) -> tuple[str, ...]:
    """Tags of a list, or of one text that separates them by spaces."""
    try:
        return tuple(value.split()) if isinstance(value, str) else as_texts(value)
    except Unfit:
        raise Unfit("text, or a list of texts") from None


Tags = Annotated[tuple[str, ...], Reads(_as_tags)]


def present(
    machine: Reader,
    name: str,
    *,
    password: str | None = None,
    force: bool = False,
    tags: Tags | None = None,
    perms: Pairs = {},  # noqa: B006  (nobody changes it)
    caller: RabbitmqCaller,
) -> Plan:
    """The broker has this user, with this password, these tags and permissions.

    `force`: the password is set each time; without one it is taken away. `perms`: virtual host -> patterns of what may
    be configured, written and read; others are left alone.
    """
    broker, wanted = Broker(caller), _permissions(perms)
    if password is not None:
        as_line(password)
    known = KnownUsers(machine, broker, whole=bool(perms) or (password is not None and not force))
    found = known.tags()
    exists = name in found
    secret = _password_change(known, broker, name, password, force) if exists else _addition(broker, name, password)
    changes = list(filter(None, (secret, _tag_change(broker, name, found.get(name, []), tags))))
    if exists and not (force or perms or tags or changes):
        return Plan(comment=f"User '{name}' is already present.")
    held = known.permissions(name) if exists and perms else {}
    changes += _permission_changes(broker, name, held, wanted)
    return Plan(
        changes=tuple(changes),
        comment=f"'{name}' is already in the desired state.",
        pending=f"Configuration for '{name}' will change." if exists else f"User '{name}' is set to be created.",
        done=f"'{name}' was configured.",
        converges=not force,
        each_time=force,
    )


def absent(machine: Reader, name: str, *, caller: RabbitmqCaller) -> Plan:
    """The broker does not have this user."""
    broker = Broker(caller)
    if name not in users(machine, broker):
        return Plan(comment=f"The user '{name}' is not present.")
    return Plan(
        changes=(Change(key="name", old=name, new="", act=_tell(broker, "delete_user", "--", name)),),
        pending=f"The user '{name}' will be removed.",
        done=f"The user '{name}' was removed.",
    )


def _permissions(given: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    wanted = {}
    for vhost, patterns in given.items():
        if not isinstance(patterns, Sequence) or isinstance(patterns, str) or len(patterns) != len(KINDS):
            raise StateFailed(f"perms of {vhost} must be three patterns: configure, write and read")
        wanted[str(vhost)] = {kind: "" if one is None else str(one) for kind, one in zip(KINDS, patterns, strict=True)}
    return wanted


def _addition(broker: Broker, name: str, password: str | None) -> Change:
    def act(machine: Machine) -> None:
        add_user(machine, broker, name, password)

    return Change(key="user", old="", new=name, act=act)


def _password_change(known: KnownUsers, broker: Broker, name: str, password: str | None, force: bool) -> Change | None:
    if password is None:
        act = _tell(broker, "clear_password", "--", name)
        return Change(key="password", old="Removed password.", new="", act=act) if force else None
    if not force and known.lets_in(name, password):
        return None
    act = _tell(broker, "change_password", "--", name, stdin=as_line(password))
    return Change(key="password", old="", new="Set password.", act=act)


def _tag_change(broker: Broker, name: str, found: list[str], tags: Sequence[str] | None) -> Change | None:
    if tags is None or set(tags) == set(found):
        return None
    return Change(key="tags", old=found, new=list(tags), act=_tell(broker, "set_user_tags", "--", name, *tags))


def _permission_changes(
    broker: Broker, name: str, held: Mapping[str, Mapping[str, str]], wanted: Mapping[str, dict[str, str]]
) -> list[Change]:
    """One change for all virtual hosts, as Salt shows it; its acts are one each."""
    others = {vhost: kinds for vhost, kinds in wanted.items() if held.get(vhost) != kinds}
    if not others:
        return []

    def act(machine: Machine) -> None:
        for vhost, kinds in others.items():
            broker.told(machine, "set_permissions", "-p", vhost, "--", name, *(kinds[kind] for kind in KINDS))

    old = {vhost: dict(held[vhost]) for vhost in others if vhost in held}
    return [Change(key="perms", reported={**({"old": old} if old else {}), "new": others}, act=act)]


def _tell(broker: Broker, *words: str, stdin: str | None = None) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        broker.told(machine, *words, stdin=stdin)

    return act


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
