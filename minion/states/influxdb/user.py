"""The state module `influxdb_user`. A password is in no change and no comment.

Behaviour: salt.states.influxdb_user of saltext-influxdb.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.arguments.types import TextPairs, ToCome
from minion.machine.plan import Change, Plan, Reader, StateFunction
from minion.providers.stores.influxdb import (
    Influxdb,
    InfluxdbLogin,
    creation,
    identifier,
    influxdb_at,
    privilege_of,
    text,
)
from minion.states.influxdb.plans import telling, told


def present(
    machine: Reader,
    name: str,
    *,
    passwd: str,
    admin: bool = False,
    grants: TextPairs = {},  # noqa: B006  (nobody changes it)
    login: InfluxdbLogin,
    to_come: ToCome = frozenset(),
) -> Plan:
    """The server has this user, with this password and these rights.

    `admin`: whether it has all privileges. `grants`: database → `read`, `write` or `all`; others are left alone.
    """
    server = influxdb_at(machine, login, to_come)
    found = server.user(name)
    if found is None:
        made = Change(key=name, reported="User created", act=telling(server, creation(name, passwd, admin)))
        changes = (made, *_grants(server, name, {}, grants))
        return Plan(changes=changes, pending=f"User {name} will be created", done=f"Created user {name}")
    others = [*_rights(server, name, passwd, admin, found["admin"])]
    others += _grants(server, name, server.privileges(name) if grants else {}, grants)
    lines = "".join(f"\n{change.key} => {change.reported}" for change in others)
    return Plan(
        changes=tuple(others),
        comment=f"User {name} is present and up to date",
        pending=f"User {name} will be updated with the following changes:{lines}",
        done=f"Updated user {name}",
    )


def absent(machine: Reader, name: str, *, login: InfluxdbLogin, to_come: ToCome = frozenset()) -> Plan:
    """The server does not have this user."""
    server = influxdb_at(machine, login, to_come)
    if server.user(name) is None:
        return Plan(comment=f"User {name} is not present")
    return told(
        server, f"DROP USER {identifier(name)}", name, "removed",
        pending=f"User {name} will be removed", done=f"Removed user {name}",
    )  # fmt: skip


def _rights(server: Influxdb, name: str, passwd: str, admin: bool, is_admin: bool) -> list[Change]:
    """Its password, where the server asks for one, and whether it may do everything."""
    changes, user = [], identifier(name)
    if server.refuses(name, passwd):
        act = telling(server, f"SET PASSWORD FOR {user} = {text(passwd)}")
        changes.append(Change(key="Password", reported="Set", act=act))
    if is_admin != admin:
        statement = f"GRANT ALL PRIVILEGES TO {user}" if admin else f"REVOKE ALL PRIVILEGES FROM {user}"
        changes.append(Change(key="Admin privileges", reported=admin, act=telling(server, statement)))
    return changes


def _grants(server: Influxdb, name: str, held: Mapping[str, str], grants: Mapping[str, str]) -> list[Change]:
    changes = []
    others = {
        database: kind
        for database, kind in ((database, privilege_of(word)) for database, word in grants.items())
        if held.get(database) != kind.lower()
    }
    known = server.databases() if others else []
    for database, kind in others.items():
        if database not in known:
            raise server.lacks_database(database)
        act = telling(server, f"GRANT {kind} ON {identifier(database)} TO {identifier(name)}")
        key = f"Grant on database {database} to user {name}"
        changes.append(Change(key=key, reported=kind.lower(), act=act))
    return changes


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
