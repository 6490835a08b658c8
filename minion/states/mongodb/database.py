"""The state module `mongodb_database`. Behaviour: salt.states.mongodb_database of saltext-mongodb."""

from __future__ import annotations

from collections.abc import Mapping

from minion.arguments.types import ToCome
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.stores.mongodb import MongodbLogin, mongodb_at


def absent(machine: Reader, name: str, *, login: MongodbLogin, to_come: ToCome = frozenset()) -> Plan:
    """The server does not have this database; its data go with it."""
    server = mongodb_at(machine, login, to_come)
    if name not in server.databases():
        return Plan(comment=f"Database {name} is not present")

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        server.drop_database(name)

    return Plan(
        changes=(Change(key=name, reported="Absent", act=act),),
        pending=f"Database {name} is present and needs to be removed",
        done=f"Database {name} has been removed",
    )


STATES: Mapping[str, StateFunction] = {"absent": absent}
