"""Databases of a PostgreSQL server, and schemas, languages and tablespaces: what there is, and statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minion.machine.plan import Reader
from minion.providers.postgres.session import PostgresSession
from minion.providers.postgres.sql import identifier, literal

DATABASES = (
    'SELECT d.datname AS "Name", pg_catalog.pg_get_userbyid(d.datdba) AS "Owner",'
    ' pg_catalog.pg_encoding_to_char(d.encoding) AS "Encoding", d.datcollate AS "Collate", d.datctype AS "Ctype",'
    ' d.datacl AS "Access privileges", t.spcname AS "Tablespace"'
    " FROM pg_catalog.pg_database d JOIN pg_catalog.pg_tablespace t ON t.oid = d.dattablespace"
)
TABLESPACES = (
    'SELECT t.spcname AS "Name", pg_catalog.pg_get_userbyid(t.spcowner) AS "Owner", t.spcacl AS "ACL",'
    ' t.spcoptions AS "Opts", pg_catalog.pg_tablespace_location(t.oid) AS "Location" FROM pg_catalog.pg_tablespace t'
)
SCHEMAS = (
    'SELECT n.nspname AS "name", n.nspacl AS "acl", pg_catalog.pg_get_userbyid(n.nspowner) AS "owner"'
    " FROM pg_catalog.pg_namespace n"
)
LANGUAGES = 'SELECT l.lanname AS "Name" FROM pg_catalog.pg_language l'
_SYSTEM_SCHEMA = r"n.nspname ~ '^pg_' OR n.nspname = 'information_schema'"


def by_name(machine: Reader, session: PostgresSession, query: str, key: str = "Name") -> dict[str, dict[str, str]]:
    """Name → the other columns of a query."""
    rows = session.rows(machine, query)
    return {row[key]: {column: value for column, value in row.items() if column != key} for row in rows}


def creation(
    name: str,
    *,
    tablespace: str | None = None,
    encoding: str | None = None,
    lc_collate: str | None = None,
    lc_ctype: str | None = None,
    owner: str | None = None,
    template: str | None = None,
) -> str:
    """The statement that makes a database."""
    names = {"TABLESPACE": tablespace, "OWNER": owner, "TEMPLATE": template}
    texts = {"ENCODING": encoding, "LC_COLLATE": lc_collate, "LC_CTYPE": lc_ctype}
    options = [f"{word} = {identifier(one)}" for word, one in names.items() if one]
    options += [f"{word} = {literal(one)}" for word, one in texts.items() if one]
    return f"CREATE DATABASE {identifier(name)}{' WITH ' if options else ''}{' '.join(options)}"


def removal_statements(name: str) -> list[str]:
    """What takes a database away, with the connections to it. None of them may stand in a transaction."""
    return [
        f"REVOKE CONNECT ON DATABASE {identifier(name)} FROM public",
        "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity"
        f" WHERE datname = {literal(name)} AND pid <> pg_catalog.pg_backend_pid()",
        f"DROP DATABASE {identifier(name)}",
    ]


def ownership_statements(name: str, owner: str) -> list[str]:
    """What gives a database and all that is in it to a role; to be carried out in that database.

    Schemas, tables, views, sequences and functions, but those of the system.
    """
    to = literal(f"OWNER TO {identifier(owner)}")
    relations = " ".join(
        f"WHEN {literal(kind)} THEN {literal(word)}"
        for kind, word in {"v": "VIEW", "m": "MATERIALIZED VIEW", "S": "SEQUENCE", "f": "FOREIGN TABLE"}.items()
    )
    found = (
        f"SELECT 'SCHEMA ' || quote_ident(n.nspname) FROM pg_catalog.pg_namespace n WHERE NOT ({_SYSTEM_SCHEMA})",
        # Sequences of columns go with their tables, which therefore come first.
        f"SELECT CASE c.relkind {relations} ELSE 'TABLE' END || format(' %I.%I', n.nspname, c.relname)"
        " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
        f" WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND NOT ({_SYSTEM_SCHEMA}) ORDER BY c.relkind = 'S'",
        "SELECT format('ROUTINE %I.%I(%s)', n.nspname, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid))"
        " FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace"
        f" WHERE NOT ({_SYSTEM_SCHEMA})",
    )
    # \gexec carries out what the query gives.
    return [
        f"ALTER DATABASE {identifier(name)} OWNER TO {identifier(owner)}",
        *(f"SELECT 'ALTER ' || o.what || ' ' || {to} FROM ({one}) o(what) \\gexec\n" for one in found),
    ]


def language_removal(machine: Reader, session: PostgresSession, name: str) -> str:
    """The statement that takes a language away: that of its extension, where it came by one."""
    rows = session.rows(
        machine,
        "SELECT e.extname FROM pg_catalog.pg_language l"
        " JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_language'::regclass AND d.objid = l.oid"
        " AND d.refclassid = 'pg_catalog.pg_extension'::regclass AND d.deptype = 'e'"
        f" JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid WHERE l.lanname = {literal(name)}",
    )
    return f"DROP EXTENSION {identifier(rows[0]['extname'])}" if rows else f"DROP LANGUAGE {identifier(name)}"


def tablespace_creation(name: str, location: str, options: Mapping[str, object] | None, owner: str | None) -> str:
    """The statement that makes a tablespace."""
    given = f" OWNER {identifier(owner)}" if owner else ""
    chosen = f" WITH ({_settings(options)})" if options else ""
    return f"CREATE TABLESPACE {identifier(name)}{given} LOCATION {literal(location)}{chosen}"


def tablespace_settings(name: str, options: Mapping[str, object]) -> str:
    """The statement that sets options of a tablespace."""
    return f"ALTER TABLESPACE {identifier(name)} SET ({_settings(options)})"


def _settings(options: Mapping[str, object]) -> str:
    return ", ".join(f"{identifier(str(key).lower())} = {literal(str(value))}" for key, value in options.items())


def texts_of_array(text: str) -> Sequence[str]:
    """The elements of an array as PostgreSQL writes it, where none of them needs quotes."""
    return text.strip("{}").split(",") if text.strip("{}") else ()
