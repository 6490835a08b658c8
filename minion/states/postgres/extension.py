"""The state module `postgres_extension`.

Behaviour: doc/ref/states/all/salt.states.postgres_extension.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from minion.arguments.types import NumberOrText, Unsupported, Value
from minion.machine.failure import StateFailed
from minion.machine.plan import Plan, Reader, StateFunction
from minion.providers.postgres import extensions
from minion.providers.postgres.session import PostgresLogin, session_of
from minion.providers.postgres.sql import identifier
from minion.states.postgres.plans import changing, is_without_database, removing

_OldVersion = Annotated[Value, Unsupported("PostgreSQL 13 and later adopt no objects of an extension's forerunner")]


def present(
    machine: Reader,
    name: str,
    *,
    if_not_exists: bool = True,
    schema: str | None = None,
    ext_version: NumberOrText | None = None,
    from_version: _OldVersion = None,
    maintenance_db: str | None = None,
    login: PostgresLogin,
) -> Plan:
    """The database `maintenance_db` has this extension, at least of this version, in this schema if it can be moved."""
    session = session_of(machine, login, maintenance_db)
    identifier(name)
    found = extensions.extension_of(machine, session, name, version=ext_version, schema=schema)
    if not found.is_installed:
        if not found.is_available:
            raise session.lacking(f"Failed to install extension {name}: the server has no such extension")
        making = extensions.installation(name, if_not_exists=if_not_exists, schema=schema, version=ext_version)
        verb, statements = "install", [making]
    elif found.is_old or found.is_elsewhere:
        verb = "upgrade"
        statements = extensions.update_statements(name, found, schema=schema, version=ext_version)
    else:
        return Plan(comment=f"Extension {name} is already present")
    past = f"{verb.removesuffix('e')}ed"
    return changing(
        session,
        name,
        past.capitalize(),
        statements,
        pending=f"Extension {name} is set to be {past}",
        done=f"The extension {name} has been {past}",
        failed=f"Failed to {verb} extension {name}",
    )


def absent(
    machine: Reader,
    name: str,
    *,
    if_exists: bool = False,
    restrict: bool = False,
    cascade: bool | None = None,
    maintenance_db: str | None = None,
    login: PostgresLogin,
) -> Plan:
    """The database `maintenance_db` has no such extension; what depends on it goes, too, unless `restrict` is given."""
    if restrict and cascade:
        raise StateFailed("restrict and cascade are opposites: give one of them")
    session = session_of(machine, login, maintenance_db)
    removal = extensions.drop_statement(
        name, if_exists=if_exists, restrict=restrict, cascade=not restrict if cascade is None else cascade
    )
    try:
        there = extensions.extension_of(machine, session, name).is_installed
    except StateFailed:
        if not is_without_database(machine, session):
            raise
        there = False
    if not there:
        return Plan(comment=f"Extension {name} is not present, so it cannot be removed")
    return removing(session, name, f"Extension {name}", [removal])


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
