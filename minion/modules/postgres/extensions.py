"""Functions of `postgres` about extensions."""

from __future__ import annotations

from typing import Annotated, Any

from minion.arguments.types import NumberOrText, Unsupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.postgres.server import AS_CONFIGURED, DatabaseServer
from minion.providers.postgres import extensions

_OldVersion = Annotated[Any, Unsupported("PostgreSQL 13 and later adopt no objects of an extension's forerunner")]


def available_extensions(context: Context, server: DatabaseServer, runas: str | None = None) -> dict[str, Any]:
    """The extensions that a server could install."""
    rows = server.session(context, runas).rows(context.machine, extensions.AVAILABLE)
    return {row["name"]: row for row in rows}


def installed_extensions(context: Context, server: DatabaseServer, runas: str | None = None) -> dict[str, Any]:
    """The extensions of a database."""
    rows = server.session(context, runas).rows(context.machine, extensions.INSTALLED)
    return {row["extname"]: row for row in rows}


def get_available_extension(
    context: Context, name: str, server: DatabaseServer, runas: str | None = None
) -> dict[str, Any] | None:
    """An extension that a server could install; null when there is none."""
    found: dict[str, Any] | None = available_extensions(context, server, runas).get(name)
    return found


def get_installed_extension(
    context: Context, name: str, server: DatabaseServer, runas: str | None = None
) -> dict[str, Any] | None:
    """An extension of a database; null when there is none."""
    found: dict[str, Any] | None = installed_extensions(context, server, runas).get(name)
    return found


def is_available_extension(context: Context, name: str, server: DatabaseServer, runas: str | None = None) -> bool:
    """Whether a server could install an extension."""
    return name.lower() in {one.lower() for one in available_extensions(context, server, runas)}


def is_installed_extension(context: Context, name: str, server: DatabaseServer, runas: str | None = None) -> bool:
    """Whether a database has an extension."""
    return name in installed_extensions(context, server, runas)


def create_metadata(
    context: Context, name: str, ext_version: NumberOrText | None = None, schema: str | None = None,
    server: DatabaseServer = AS_CONFIGURED, runas: str | None = None,
) -> list[str]:  # fmt: skip
    """Whether an extension is installed, and whether it is to be upgraded or moved to be of this version and schema."""
    session = server.session(context, runas)
    found = extensions.extension_of(context.machine, session, name, version=ext_version, schema=schema)
    if not found.is_installed:
        return ["EXTENSION NOT INSTALLED"]
    words = {"EXTENSION TO UPGRADE": found.is_old, "EXTENSION TO MOVE": found.is_elsewhere}
    return ["EXTENSION INSTALLED", *(word for word, holds in words.items() if holds)]


def create_extension(
    context: Context, name: str, if_not_exists: bool = True, schema: str | None = None,
    ext_version: NumberOrText | None = None, from_version: _OldVersion = None,
    server: DatabaseServer = AS_CONFIGURED, runas: str | None = None,
) -> bool:  # fmt: skip
    """Install an extension, or upgrade or move the one that there is."""
    session, failed = server.session(context, runas), f"Failed to install extension {name}"
    found = extensions.extension_of(context.machine, session, name, version=ext_version, schema=schema)
    if found.is_installed:
        statements = extensions.update_statements(name, found, schema=schema, version=ext_version)
    elif found.is_available:
        making = extensions.installation(name, if_not_exists=if_not_exists, schema=schema, version=ext_version)
        statements = [making]
    else:
        return False
    if statements:
        session.together(context.machine, statements, failed)
    return True


def drop_extension(
    context: Context, name: str, if_exists: bool = False, restrict: bool = False, cascade: bool | None = None,
    server: DatabaseServer = AS_CONFIGURED, runas: str | None = None,
) -> bool:  # fmt: skip
    """Take an extension away, and what depends on it, unless `restrict` is given."""
    if restrict and cascade:
        raise CallFailed("restrict and cascade are opposites: give one of them")
    session = server.session(context, runas)
    if not extensions.extension_of(context.machine, session, name).is_installed:
        return True
    removing = extensions.drop_statement(
        name, if_exists=if_exists, restrict=restrict, cascade=not restrict if cascade is None else cascade
    )
    session.carry_out(context.machine, [removing], f"Failed to remove extension {name}")
    return True
