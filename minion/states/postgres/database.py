"""The state module `postgres_database`.

Behaviour: doc/ref/states/all/salt.states.postgres_database.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from minion.machine.failure import StateFailed
from minion.machine.plan import Plan, Reader, StateFunction
from minion.providers.postgres import databases
from minion.providers.postgres.session import PostgresLogin, PostgresSession, session_of
from minion.providers.postgres.sql import identifier
from minion.states.postgres.plans import changing, removing


def present(
    machine: Reader,
    name: str,
    *,
    tablespace: str | None = None,
    encoding: str | None = None,
    lc_collate: str | None = None,
    lc_ctype: str | None = None,
    owner: str | None = None,
    owner_recurse: bool = False,
    template: str | None = None,
    maintenance_db: str | None = None,
    login: PostgresLogin,
) -> Plan:
    """The server has this database, with these properties.

    Encoding, collation and character classes are of a new database alone: where they differ, the state fails. With
    `owner_recurse` a changed owner gets all that is in the database, too.
    """
    session = session_of(machine, login, maintenance_db)
    identifier(name)
    found = databases.by_name(machine, session, databases.DATABASES).get(name)
    if found is None:
        making = databases.creation(
            name, tablespace=tablespace, encoding=encoding, lc_collate=lc_collate, lc_ctype=lc_ctype, owner=owner,
            template=template,
        )  # fmt: skip
        return changing(
            session, name, "Present", [making], apart=True, pending=f"Database {name} is set to be created",
            done=f"The database {name} has been created", failed=f"Failed to create database {name}",
        )  # fmt: skip
    fixed = {"Encoding": encoding, "Collate": lc_collate, "Ctype": lc_ctype}
    if any(wanted and _plain(key, found[key]) != _plain(key, wanted) for key, wanted in fixed.items()):
        raise StateFailed(f"Database {name} has wrong parameters which couldn't be changed on fly.")
    new_owner = owner if owner and found["Owner"] != owner else None
    moved = tablespace if tablespace and found["Tablespace"] != tablespace else None
    if not new_owner and not moved:
        return Plan(comment=f"Database {name} is already present")
    return _alteration(session, name, new_owner, moved, recurse=owner_recurse)


def absent(machine: Reader, name: str, *, maintenance_db: str | None = None, login: PostgresLogin) -> Plan:
    """The server has no such database; who is connected to it is cut off."""
    session = session_of(machine, login, maintenance_db)
    identifier(name)
    if name not in databases.by_name(machine, session, databases.DATABASES):
        return Plan(comment=f"Database {name} is not present, so it cannot be removed")
    return removing(session, name, f"Database {name}", databases.removal_statements(name), apart=True)


def _plain(key: str, value: str) -> str:
    """PostgreSQL takes the name of an encoding in any case, and with other signs in it."""
    return re.sub(r"[^a-z0-9]", "", value.lower()) if key == "Encoding" else value


def _alteration(
    session: PostgresSession, name: str, owner: str | None, tablespace: str | None, *, recurse: bool
) -> Plan:
    moving = [f"ALTER DATABASE {identifier(name)} SET TABLESPACE {identifier(tablespace)}"] if tablespace else []
    owning = [f"ALTER DATABASE {identifier(name)} OWNER TO {identifier(owner)}"] if owner else []
    changed = partial(
        changing,
        pending=f"Database {name} exists, but parameters need to be changed",
        done=f"Parameters for database {name} have been changed",
        failed=f"Failed to change parameters for database {name}",
    )
    if not recurse or not owner:
        return changed(session, name, "Parameters changed", [*owning, *moving], apart=True)
    plan = changed(session.at(name), name, "Parameters changed", databases.ownership_statements(name, owner))
    if not moving:
        return plan
    # A database is moved while nobody is connected to it.
    later = changed(session, "", None, moving, apart=True)
    return replace(plan, changes=(*plan.changes, *later.changes))


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
