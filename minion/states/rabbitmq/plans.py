"""Plans whose act is one thing: what is shown is `old` and `new`, as Salt's states of RabbitMQ show it."""

from __future__ import annotations

from collections.abc import Callable

from minion.machine.plan import Change, Machine, Plan, Value


def turning(old: Value, new: Value, act: Callable[[Machine], None], *, pending: str, done: str) -> Plan:
    """A plan whose act turns old into new."""
    return Plan(
        changes=(Change(key="old", reported=old, act=act), Change(key="new", reported=new, act=_with_the_other)),
        pending=pending,
        done=done,
    )


def _with_the_other(machine: Machine) -> None:
    """The act is that of the change before."""
