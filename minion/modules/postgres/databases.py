"""Functions of `postgres` about the server, its databases, tablespaces, schemas and languages."""

from __future__ import annotations

from typing import Any

from minion.arguments.types import Map
from minion.execution.context import Context
from minion.modules.postgres.server import (
    AS_CONFIGURED,
    SCHEMAS_AS_CONFIGURED,
    DatabaseServer,
    SchemaServer,
    ServerOfDatabase,
)
from minion.providers.postgres import databases
from minion.providers.postgres.sql import identifier


def version(context: Context, server: DatabaseServer, runas: str | None = None) -> str:
    """Version of the server."""
    query = "SELECT setting FROM pg_catalog.pg_settings WHERE name = 'server_version'"
    return server.session(context, runas).rows(context.machine, query)[0]["setting"]


def psql_query(
    context: Context, query: str, server: DatabaseServer, runas: str | None = None, write: bool = False
) -> list[dict[str, str]]:
    """The rows of a query, each a mapping of texts; with `write` it may write whatever the server's default is."""
    session = server.session(context, runas)
    asked = query.strip().rstrip(";")
    return session.rows(context.machine, asked, access="read write" if write else "default")


def db_list(context: Context, server: DatabaseServer, runas: str | None = None) -> dict[str, Any]:
    """The databases: owner, encoding, collation, character classes, privileges and tablespace of each."""
    return databases.by_name(context.machine, server.session(context, runas), databases.DATABASES)


def db_exists(context: Context, name: str, server: DatabaseServer, runas: str | None = None) -> bool:
    """Whether there is a database."""
    return name in db_list(context, server, runas)


def db_create(
    context: Context, name: str, server: DatabaseServer, tablespace: str | None = None, encoding: str | None = None,
    lc_collate: str | None = None, lc_ctype: str | None = None, owner: str | None = None, template: str | None = None,
    runas: str | None = None,
) -> bool:  # fmt: skip
    """Make a database."""
    making = databases.creation(
        name, tablespace=tablespace, encoding=encoding, lc_collate=lc_collate, lc_ctype=lc_ctype, owner=owner,
        template=template,
    )  # fmt: skip
    server.session(context, runas).carry_out(context.machine, [making], f"Failed to create database {name}")
    return True


def db_alter(
    context: Context, name: str, server: DatabaseServer, tablespace: str | None = None, owner: str | None = None,
    owner_recurse: bool = False, runas: str | None = None,
) -> bool:  # fmt: skip
    """Give a database another tablespace, or another owner; with `owner_recurse` all that is in it, too."""
    session, failed = server.session(context, runas), f"Failed to change parameters for database {name}"
    if owner and owner_recurse:
        session.at(name).together(context.machine, databases.ownership_statements(name, owner), failed)
    elif owner:
        owning = f"ALTER DATABASE {identifier(name)} OWNER TO {identifier(owner)}"
        session.carry_out(context.machine, [owning], failed)
    if tablespace:
        moving = f"ALTER DATABASE {identifier(name)} SET TABLESPACE {identifier(tablespace)}"
        session.carry_out(context.machine, [moving], failed)
    return True


def db_remove(context: Context, name: str, server: DatabaseServer, runas: str | None = None) -> bool:
    """Take a database away; who is connected to it is cut off."""
    session = server.session(context, runas)
    session.carry_out(context.machine, databases.removal_statements(name), f"Failed to remove database {name}")
    return True


def owner_to(
    context: Context, dbname: str, ownername: str, server: ServerOfDatabase, runas: str | None = None
) -> dict[str, Any]:
    """Give a database and all schemas, tables, views, sequences and functions in it to a role."""
    session = server.session(context, runas, dbname)
    statements = databases.ownership_statements(dbname, ownername)
    session.together(context.machine, statements, f"Failed to change the owner of database {dbname}")
    return {"retcode": 0, "stdout": "", "stderr": ""}


def tablespace_list(context: Context, server: DatabaseServer, runas: str | None = None) -> dict[str, Any]:
    """The tablespaces: owner, privileges, options and directory of each."""
    return databases.by_name(context.machine, server.session(context, runas), databases.TABLESPACES)


def tablespace_exists(context: Context, name: str, server: DatabaseServer, runas: str | None = None) -> bool:
    """Whether there is a tablespace."""
    return name in tablespace_list(context, server, runas)


def tablespace_create(
    context: Context, name: str, location: str, options: Map | None = None, owner: str | None = None,
    server: DatabaseServer = AS_CONFIGURED, runas: str | None = None,
) -> bool:  # fmt: skip
    """Make a tablespace in a directory of the server's user."""
    making = databases.tablespace_creation(name, location, options, owner)
    server.session(context, runas).carry_out(context.machine, [making], f"Failed to create tablespace {name}")
    return True


def tablespace_alter(
    context: Context, name: str, server: DatabaseServer, new_name: str | None = None, new_owner: str | None = None,
    set_option: Map | None = None, reset_option: str | None = None, runas: str | None = None,
) -> bool:  # fmt: skip
    """Give a tablespace another owner, other options or another name."""
    space = identifier(name)
    statements = [f"ALTER TABLESPACE {space} OWNER TO {identifier(new_owner)}"] if new_owner else []
    statements += [databases.tablespace_settings(name, set_option)] if set_option else []
    statements += [f"ALTER TABLESPACE {space} RESET ({identifier(reset_option)})"] if reset_option else []
    statements += [f"ALTER TABLESPACE {space} RENAME TO {identifier(new_name)}"] if new_name else []
    if statements:
        server.session(context, runas).together(context.machine, statements, f"Failed to alter tablespace {name}")
    return True


def tablespace_remove(context: Context, name: str, server: DatabaseServer, runas: str | None = None) -> bool:
    """Take a tablespace away, which holds nothing."""
    removing = f"DROP TABLESPACE {identifier(name)}"
    server.session(context, runas).carry_out(context.machine, [removing], f"Failed to remove tablespace {name}")
    return True


def schema_list(context: Context, dbname: str, server: SchemaServer) -> dict[str, Any]:
    """The schemas of a database: owner and privileges of each."""
    return databases.by_name(context.machine, server.session(context, dbname), databases.SCHEMAS, "name")


def schema_get(context: Context, dbname: str, name: str, server: SchemaServer) -> dict[str, str] | None:
    """Owner and privileges of a schema; null when there is none."""
    found: dict[str, str] | None = schema_list(context, dbname, server).get(name)
    return found


def schema_exists(context: Context, dbname: str, name: str, server: SchemaServer) -> bool:
    """Whether there is a schema."""
    return name in schema_list(context, dbname, server)


def schema_create(
    context: Context, dbname: str, name: str, owner: str | None = None, server: SchemaServer = SCHEMAS_AS_CONFIGURED
) -> bool:
    """Make a schema; false when there is one."""
    if schema_exists(context, dbname, name, server):
        return False
    making = f"CREATE SCHEMA {identifier(name)}{f' AUTHORIZATION {identifier(owner)}' if owner else ''}"
    failed = f"Failed to create schema {name} in database {dbname}"
    server.session(context, dbname).carry_out(context.machine, [making], failed)
    return True


def schema_remove(context: Context, dbname: str, name: str, server: SchemaServer) -> bool:
    """Take a schema away, which holds nothing; false when there is none."""
    if not schema_exists(context, dbname, name, server):
        return False
    removing, failed = f"DROP SCHEMA {identifier(name)}", f"Failed to remove schema {name} from database {dbname}"
    server.session(context, dbname).carry_out(context.machine, [removing], failed)
    return True


def language_list(
    context: Context, maintenance_db: str, server: ServerOfDatabase, runas: str | None = None
) -> dict[str, str]:
    """The languages of a database, each under its name."""
    session = server.session(context, runas, maintenance_db)
    return {name: name for name in databases.by_name(context.machine, session, databases.LANGUAGES)}


def language_exists(
    context: Context, name: str, maintenance_db: str, server: ServerOfDatabase, runas: str | None = None
) -> bool:
    """Whether a database has a language."""
    return name in language_list(context, maintenance_db, server, runas)


def language_create(
    context: Context, name: str, maintenance_db: str, server: ServerOfDatabase, runas: str | None = None
) -> bool:
    """Install a language; false when it is there."""
    if language_exists(context, name, maintenance_db, server, runas):
        return False
    session = server.session(context, runas, maintenance_db)
    session.carry_out(context.machine, [f"CREATE LANGUAGE {identifier(name)}"], f"Failed to install language {name}")
    return True


def language_remove(
    context: Context, name: str, maintenance_db: str, server: ServerOfDatabase, runas: str | None = None
) -> bool:
    """Take a language away, and the extension that it came by; false when it is not there."""
    if not language_exists(context, name, maintenance_db, server, runas):
        return False
    session = server.session(context, runas, maintenance_db)
    removing = databases.language_removal(context.machine, session, name)
    session.carry_out(context.machine, [removing], f"Failed to remove language {name}")
    return True
