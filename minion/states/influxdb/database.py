"""The state module `influxdb_database`. Behaviour: salt.states.influxdb_database of saltext-influxdb."""

from __future__ import annotations

from collections.abc import Mapping

from minion.arguments.types import ToCome
from minion.machine.plan import Plan, Reader, StateFunction
from minion.providers.stores.influxdb import InfluxdbLogin, identifier, influxdb_at
from minion.states.influxdb.plans import told


def present(machine: Reader, name: str, *, login: InfluxdbLogin, to_come: ToCome = frozenset()) -> Plan:
    """The server has this database."""
    server = influxdb_at(machine, login, to_come)
    if name in server.databases():
        return Plan(comment=f"Database {name} is already present")
    return told(
        server, f"CREATE DATABASE {identifier(name)}", name, "Present",
        pending=f"Database {name} is absent and will be created", done=f"Database {name} has been created",
    )  # fmt: skip


def absent(machine: Reader, name: str, *, login: InfluxdbLogin, to_come: ToCome = frozenset()) -> Plan:
    """The server does not have this database; its data go with it."""
    server = influxdb_at(machine, login, to_come)
    if name not in server.databases():
        return Plan(comment=f"Database {name} is not present")
    return told(
        server, f"DROP DATABASE {identifier(name)}", name, "Absent",
        pending=f"Database {name} is present and needs to be removed", done=f"Database {name} has been removed",
    )  # fmt: skip


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
