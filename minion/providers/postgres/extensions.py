"""Extensions of a database: what there is, and statements."""

from __future__ import annotations

import re
from dataclasses import dataclass

from minion.machine.plan import Reader
from minion.providers.postgres.session import PostgresSession
from minion.providers.postgres.sql import identifier, literal

AVAILABLE = "SELECT * FROM pg_catalog.pg_available_extensions()"
INSTALLED = (
    "SELECT e.*, n.nspname AS schema_name FROM pg_catalog.pg_extension e"
    " JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresExtension:
    """An extension as it is, and how far that is from what is wanted."""

    is_available: bool
    is_installed: bool
    is_old: bool
    """Whether the installed version is older than the wanted one."""
    is_elsewhere: bool
    """Whether it is in another schema and can be moved."""


def extension_of(
    machine: Reader, session: PostgresSession, name: str, *, version: str | None = None, schema: str | None = None
) -> PostgresExtension:
    """An extension in the session's database."""
    found = session.rows(
        machine,
        "SELECT e.extname, e.extversion, e.extrelocatable, n.nspname,"
        f" EXISTS(SELECT 1 FROM pg_catalog.pg_available_extensions() a WHERE a.name = {literal(name)}) AS available"
        f" FROM (SELECT 1) one LEFT JOIN pg_catalog.pg_extension e ON e.extname = {literal(name)}"
        " LEFT JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace",
    )[0]
    there = bool(found["extname"])
    return PostgresExtension(
        is_available=found["available"] == "t",
        is_installed=there,
        is_old=there and version is not None and _parts(found["extversion"]) < _parts(version),
        is_elsewhere=there and bool(schema) and found["extrelocatable"] == "t" and found["nspname"] != schema,
    )


def installation(name: str, *, if_not_exists: bool, schema: str | None, version: str | None) -> str:
    """The statement that installs an extension."""
    options = [f"SCHEMA {identifier(schema)}"] if schema else []
    options += [f"VERSION {literal(version)}"] if version else []
    either = "IF NOT EXISTS " if if_not_exists else ""
    return f"CREATE EXTENSION {either}{identifier(name)}{' WITH ' if options else ''}{' '.join(options)}"


def update_statements(name: str, found: PostgresExtension, *, schema: str | None, version: str | None) -> list[str]:
    """What moves and updates an extension."""
    moving = [f"ALTER EXTENSION {identifier(name)} SET SCHEMA {identifier(schema)}"] if schema else []
    updating = [f"ALTER EXTENSION {identifier(name)} UPDATE TO {literal(version)}"] if version else []
    return (moving if found.is_elsewhere else []) + (updating if found.is_old else [])


def drop_statement(name: str, *, if_exists: bool, restrict: bool, cascade: bool) -> str:
    """The statement that takes an extension away."""
    rest = " RESTRICT" if restrict else " CASCADE" if cascade else ""
    return f"DROP EXTENSION {'IF EXISTS ' if if_exists else ''}{identifier(name)}{rest}"


def _parts(version: str) -> list[tuple[bool, int, str]]:
    """Numbers and words of a version, to be compared one after the other."""
    found = re.findall(r"\d+|[a-z]+", version.lower())
    return [(one.isdigit(), int(one) if one.isdigit() else 0, "" if one.isdigit() else one) for one in found]
