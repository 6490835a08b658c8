"""Plans whose act is one statement to the server."""

from __future__ import annotations

from collections.abc import Callable

from minion.machine.plan import Change, Machine, Plan
from minion.providers.stores.influxdb import Influxdb


def telling(server: Influxdb, statement: str) -> Callable[[Machine], None]:
    """An act: the statement is carried out."""

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        server.results(statement)

    return act


def told(server: Influxdb, statement: str, name: str, reported: str, *, pending: str, done: str) -> Plan:
    """A plan of one change."""
    change = Change(key=name, reported=reported, act=telling(server, statement))
    return Plan(changes=(change,), pending=pending, done=done)
