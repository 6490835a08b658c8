"""The state module `postgres_schema`.

Behaviour: doc/ref/states/all/salt.states.postgres_schema.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.failure import StateFailed
from minion.machine.plan import Plan, Reader, StateFunction
from minion.providers.postgres import databases
from minion.providers.postgres.session import PostgresLogin, session_of
from minion.providers.postgres.sql import identifier
from minion.states.postgres.plans import changing, is_without_database


def present(machine: Reader, name: str, *, dbname: str, owner: str | None = None, login: PostgresLogin) -> Plan:
    """The database `dbname` has this schema; `owner` is that of a new one."""
    session = session_of(machine, login, dbname)
    making = f"CREATE SCHEMA {identifier(name)}"
    if name in databases.by_name(machine, session, databases.SCHEMAS, "name"):
        return Plan(comment=f"Schema {name} already exists in database {dbname}")
    return changing(
        session,
        name,
        "Present",
        [f"{making} AUTHORIZATION {identifier(owner)}" if owner else making],
        pending=f"Schema {name} is set to be created in database {dbname}.",
        done=f"Schema {name} has been created in database {dbname}",
        failed=f"Failed to create schema {name} in database {dbname}",
    )


def absent(machine: Reader, name: str, *, dbname: str, login: PostgresLogin) -> Plan:
    """The database `dbname` has no such schema. One that holds something is not removed: it fails."""
    session = session_of(machine, login, dbname)
    removing = f"DROP SCHEMA {identifier(name)}"
    nothing = Plan(comment=f"Schema {name} is not present in database {dbname}, so it cannot be removed")
    try:
        found = databases.by_name(machine, session, databases.SCHEMAS, "name")
    except StateFailed:
        if is_without_database(machine, session):
            return nothing
        raise
    if name not in found:
        return nothing
    return changing(
        session,
        name,
        "Absent",
        [removing],
        pending=f"Schema {name} is set to be removed from database {dbname}",
        done=f"Schema {name} has been removed from database {dbname}",
        failed=f"Schema {name} failed to be removed",
    )


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
