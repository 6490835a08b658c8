"""The state module `influxdb_continuous_query`.

Behaviour: salt.states.influxdb_continuous_query of saltext-influxdb.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.arguments.types import ToCome
from minion.machine.plan import Plan, Reader, StateFunction
from minion.providers.stores.influxdb import InfluxdbLogin, identifier, influxdb_at, query_statement
from minion.states.influxdb.plans import told


def present(
    machine: Reader,
    name: str,
    *,
    database: str,
    query: str,
    resample_time: str | None = None,
    coverage_period: str | None = None,
    login: InfluxdbLogin,
    to_come: ToCome = frozenset(),
) -> Plan:
    """A database has a continuous query of this name; one that is there is left as it is.

    `resample_time`: how often it is carried out. `coverage_period`: how much time it covers each time.
    """
    server = influxdb_at(machine, login, to_come)
    queries = server.continuous_queries(database)
    if queries is None:
        raise server.lacks_database(database)
    if name in queries:
        return Plan(comment=f"continuous query {name} is already present")
    return told(
        server, query_statement(database, name, query, resample_time, coverage_period), name, "Present",
        pending=f" {name} is absent and will be created", done=f"continuous query {name} has been created",
    )  # fmt: skip


def absent(
    machine: Reader, name: str, *, database: str, login: InfluxdbLogin, to_come: ToCome = frozenset()
) -> Plan:  # fmt: skip
    """A database does not have a continuous query of this name."""
    server = influxdb_at(machine, login, to_come)
    if name not in (server.continuous_queries(database) or {}):
        return Plan(comment=f"continuous query {name} is not present")
    return told(
        server, f"DROP CONTINUOUS QUERY {identifier(name)} ON {identifier(database)}", name, "Absent",
        pending=f"continuous query {name} is present and needs to be removed",
        done=f"continuous query {name} has been removed",
    )  # fmt: skip


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
