"""Functions of `postgres` about users and groups."""

from __future__ import annotations

import json
from typing import Any, Literal

from minion.arguments.types import CommaList
from minion.execution.context import Context
from minion.modules.postgres.server import DatabaseServer
from minion.providers.postgres import passwords
from minion.providers.postgres.roles import RoleOptions, role_of
from minion.providers.postgres.sql import identifier

_Encrypted = bool | Literal["md5", "scram-sha-256"] | None
_FLAGS = {
    "superuser": "rolsuper",
    "inherits privileges": "rolinherit",
    "can create roles": "rolcreaterole",
    "can create databases": "rolcreatedb",
    "can login": "rolcanlogin",
    "replication": "rolreplication",
}


def user_list(
    context: Context, server: DatabaseServer, runas: str | None = None, return_password: bool = False
) -> dict[str, Any]:
    """The roles and their attributes; with `return_password` also what the server keeps of their passwords."""
    columns = [
        "r.rolname",
        *(f'r.{column} AS "{key}"' for key, column in _FLAGS.items()),
        "r.rolconnlimit AS limit",
        "array_to_json(ARRAY(SELECT g.rolname FROM pg_catalog.pg_auth_members m"
        " JOIN pg_catalog.pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid)) AS groups",
        "r.rolvaliduntil::timestamp(0) AS until",
        "r.rolconfig AS config",
        *(["a.rolpassword AS password"] if return_password else []),
    ]
    joined = " JOIN pg_catalog.pg_authid a ON a.oid = r.oid" if return_password else ""
    query = f"SELECT {', '.join(columns)} FROM pg_catalog.pg_roles r{joined}"
    found = {}
    for row in server.session(context, runas).rows(context.machine, query):
        found[row["rolname"]] = {
            **{key: row[key] == "t" for key in _FLAGS},
            "can update system catalogs": None,
            "connections": int(row["limit"]),
            "expiry time": row["until"] if row["until"][:1].isdigit() else None,
            "defaults variables": row["config"],
            "groups": json.loads(row["groups"]),
            **({"password": row["password"]} if return_password else {}),
        }
    return found


def role_get(
    context: Context, name: str, server: DatabaseServer, runas: str | None = None, return_password: bool = False
) -> dict[str, Any] | None:
    """A role and its attributes; null when there is none."""
    found: dict[str, Any] | None = user_list(context, server, runas, return_password).get(name)
    return found


def user_exists(context: Context, name: str, server: DatabaseServer, runas: str | None = None) -> bool:
    """Whether there is a role."""
    return role_of(context.machine, server.session(context, runas), name) is not None


def user_create(
    context: Context, username: str, server: DatabaseServer, createdb: bool | None = None,
    createroles: bool | None = None, inherit: bool | None = None, login: bool | None = None,
    connlimit: int | None = None, encrypted: _Encrypted = None, superuser: bool | None = None,
    replication: bool | None = None, rolepassword: str | bool | None = None, valid_until: str | None = None,
    groups: CommaList = (), runas: str | None = None,
) -> bool:  # fmt: skip
    """Make a user, a role that may log in; false when there is such a role."""
    flags = {
        "createdb": createdb, "createroles": createroles, "inherit": inherit is not False, "login": login is not False,
        "superuser": superuser, "replication": replication,
    }  # fmt: skip
    options = _options(username, flags, encrypted, rolepassword, groups, valid_until, connlimit)
    return _told(context, server, runas, "CREATE", "user", username, options)


def user_update(
    context: Context, username: str, server: DatabaseServer, createdb: bool | None = None,
    createroles: bool | None = None, encrypted: _Encrypted = None, superuser: bool | None = None,
    inherit: bool | None = None, login: bool | None = None, connlimit: int | None = None,
    replication: bool | None = None, rolepassword: str | bool | None = None, valid_until: str | None = None,
    groups: CommaList = (), runas: str | None = None,
) -> bool:  # fmt: skip
    """Change a user; false when there is none. A `rolepassword` of false takes the password away."""
    flags = {
        "createdb": createdb, "createroles": createroles, "inherit": inherit, "login": login, "superuser": superuser,
        "replication": replication,
    }  # fmt: skip
    options = _options(username, flags, encrypted, rolepassword, groups, valid_until, connlimit)
    return _told(context, server, runas, "ALTER", "user", username, options)


def user_remove(context: Context, username: str, server: DatabaseServer, runas: str | None = None) -> bool:
    """Take a user away, who owns nothing; false when there is none."""
    return _dropped(context, server, runas, "user", username)


def group_create(
    context: Context, groupname: str, server: DatabaseServer, createdb: bool | None = None,
    createroles: bool | None = None, encrypted: _Encrypted = None, login: bool | None = None,
    inherit: bool | None = None, superuser: bool | None = None, replication: bool | None = None,
    rolepassword: str | bool | None = None, groups: CommaList = (), runas: str | None = None,
) -> bool:  # fmt: skip
    """Make a group, a role that does not log in; false when there is such a role."""
    flags = {
        "createdb": createdb, "createroles": createroles, "inherit": inherit is not False, "login": bool(login),
        "superuser": superuser, "replication": replication,
    }  # fmt: skip
    options = _options(groupname, flags, encrypted, rolepassword, groups)
    return _told(context, server, runas, "CREATE", "group", groupname, options)


def group_update(
    context: Context, groupname: str, server: DatabaseServer, createdb: bool | None = None,
    createroles: bool | None = None, encrypted: _Encrypted = None, inherit: bool | None = None,
    login: bool | None = None, superuser: bool | None = None, replication: bool | None = None,
    rolepassword: str | bool | None = None, groups: CommaList = (), runas: str | None = None,
) -> bool:  # fmt: skip
    """Change a group; false when there is none."""
    flags = {
        "createdb": createdb, "createroles": createroles, "inherit": inherit, "login": login, "superuser": superuser,
        "replication": replication,
    }  # fmt: skip
    options = _options(groupname, flags, encrypted, rolepassword, groups)
    return _told(context, server, runas, "ALTER", "group", groupname, options)


def group_remove(context: Context, groupname: str, server: DatabaseServer, runas: str | None = None) -> bool:
    """Take a group away, which owns nothing; false when there is none."""
    return _dropped(context, server, runas, "group", groupname)


def _options(
    name: str, flags: dict[str, bool | None], encrypted: _Encrypted, password: str | bool | None,
    groups: CommaList, valid_until: str | None = None, connections: int | None = None,
) -> RoleOptions:  # fmt: skip
    verifier = "" if password is False else None
    if isinstance(password, str) and password:
        verifier = passwords.verifier_of(name, password, passwords.method_of(encrypted))
    return RoleOptions(
        flags={flag: on for flag, on in flags.items() if on is not None},
        verifier=verifier,
        valid_until=valid_until,
        connections=connections,
        groups=groups,
    )


def _told(
    context: Context, server: DatabaseServer, runas: str | None, verb: str, kind: str, name: str, options: RoleOptions
) -> bool:
    session = server.session(context, runas)
    if (role_of(context.machine, session, name) is None) == (verb == "ALTER"):
        return False
    failed = f"Failed to {'create' if verb == 'CREATE' else 'update'} {kind} {name}"
    statements = options.statements(verb, name)
    if statements:
        session.together(context.machine, statements, failed)
    return True


def _dropped(context: Context, server: DatabaseServer, runas: str | None, kind: str, name: str) -> bool:
    session = server.session(context, runas)
    if role_of(context.machine, session, name) is None:
        return False
    session.carry_out(context.machine, [f"DROP ROLE {identifier(name)}"], f"Failed to remove {kind} {name}")
    return True
