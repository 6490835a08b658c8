"""The state module `postgres_tablespace`.

Behaviour: doc/ref/states/all/salt.states.postgres_tablespace.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from minion.arguments.types import Pairs
from minion.arguments.types import Path as PathText
from minion.machine.failure import StateFailed
from minion.machine.plan import Plan, Reader, StateFunction, Value
from minion.providers.postgres import databases
from minion.providers.postgres.session import PostgresLogin, session_of
from minion.providers.postgres.sql import identifier
from minion.states.postgres.plans import changing, removing


def present(
    machine: Reader,
    name: str,
    *,
    directory: PathText,
    options: Pairs | None = None,
    owner: str | None = None,
    maintenance_db: str | None = None,
    login: PostgresLogin,
) -> Plan:
    """The server has this tablespace in this directory, which is there already and belongs to the server's user.

    Options that are left out stay as they are. A tablespace in another directory is not moved: the state fails.
    """
    session = session_of(machine, login, maintenance_db)
    making = databases.tablespace_creation(name, directory, options, owner)
    found = databases.by_name(machine, session, databases.TABLESPACES).get(name)
    if found is None:
        failed = f"Failed to create tablespace {name}"
        if session.is_local and machine.stat(directory) is None:
            raise StateFailed(f"{failed}: there is no directory {directory}")
        return changing(
            session, name, "Present", [making], apart=True, pending=f"Tablespace {name} is set to be created",
            done=f"The tablespace {name} has been created", failed=failed,
        )  # fmt: skip
    if posixpath.normpath(found["Location"]) != posixpath.normpath(directory):
        raise StateFailed(
            f"Tablespace {name} is not at the right location. This is unfixable without dropping and recreating the "
            "tablespace."
        )
    new_owner = owner if owner and found["Owner"] != owner else None
    changed = _changed(options or {}, databases.texts_of_array(found["Opts"]))
    if not new_owner and not changed:
        return Plan(comment=f"Tablespace {name} is already present")
    statements = [f"ALTER TABLESPACE {identifier(name)} OWNER TO {identifier(new_owner)}"] if new_owner else []
    statements += [databases.tablespace_settings(name, changed)] if changed else []
    reported: dict[str, Value] = {"owner": new_owner} if new_owner else {}
    what = "opts" if changed else "owner"
    return changing(
        session,
        name,
        {**reported, "options": changed} if changed else reported,
        statements,
        pending=f"Tablespace {name} {'options' if changed else 'owner'} to be altered",
        done=f"Tablespace {name} {what} changed",
        failed=f"Failed to alter tablespace {name}",
    )


def absent(machine: Reader, name: str, *, maintenance_db: str | None = None, login: PostgresLogin) -> Plan:
    """The server has no such tablespace. One that holds something is not removed: it fails."""
    session = session_of(machine, login, maintenance_db)
    removal = f"DROP TABLESPACE {identifier(name)}"
    if name not in databases.by_name(machine, session, databases.TABLESPACES):
        return Plan(comment=f"Tablespace {name} is not present, so it cannot be removed")
    return removing(session, name, f"Tablespace {name}", [removal], apart=True)


def _changed(wanted: Mapping[str, Value], kept: Sequence[str]) -> dict[str, Value]:
    """The options that the tablespace has not, or with another value."""
    now = dict(one.split("=", 1) for one in kept)
    return {key: value for key, value in wanted.items() if now.get(str(key).lower()) != str(value)}


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
