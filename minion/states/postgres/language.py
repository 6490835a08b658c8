"""The state module `postgres_language`: procedural languages of a database.

Behaviour: doc/ref/states/all/salt.states.postgres_language.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.failure import StateFailed
from minion.machine.plan import Plan, Reader, StateFunction
from minion.providers.postgres import databases
from minion.providers.postgres.session import PostgresLogin, session_of
from minion.providers.postgres.sql import identifier
from minion.states.postgres.plans import changing, is_without_database


def present(machine: Reader, name: str, *, maintenance_db: str, login: PostgresLogin) -> Plan:
    """The database `maintenance_db` has this language."""
    session = session_of(machine, login, maintenance_db)
    making = f"CREATE LANGUAGE {identifier(name)}"
    if name in databases.by_name(machine, session, databases.LANGUAGES):
        return Plan(comment=f"Language {name} is already installed")
    return changing(
        session,
        name,
        "Present",
        [making],
        pending=f"Language {name} is set to be installed",
        done=f"Language {name} has been installed",
        failed=f"Failed to install language {name}",
    )


def absent(machine: Reader, name: str, *, maintenance_db: str, login: PostgresLogin) -> Plan:
    """The database `maintenance_db` has no such language, nor the extension that it came by."""
    session = session_of(machine, login, maintenance_db)
    identifier(name)
    nothing = Plan(comment=f"Language {name} is not present so it cannot be removed")
    try:
        found = databases.by_name(machine, session, databases.LANGUAGES)
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
        [databases.language_removal(machine, session, name)],
        pending=f"Language {name} is set to be removed",
        done=f"Language {name} has been removed",
        failed=f"Failed to remove language {name}",
    )


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
