"""Brings an older database to the newest schema with Alembic. Loaded by `database` only when that is needed."""

from __future__ import annotations

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from controller.store import schema


def known_versions() -> set[str]:
    """All migrations that this version has."""
    return {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}


def upgrade(connection: Connection, to: str = schema.HEAD) -> None:
    """Run what is missing, in the caller's transaction."""
    config = _config()
    config.attributes["connection"] = connection
    if connection.dialect.name == "postgresql":
        # The limits of the controller's own transactions would end that of a large table, and of a busy machine.
        for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
            connection.execute(text(f"SET LOCAL {limit} = 0"))
    command.upgrade(config, to)
    if to == schema.HEAD and connection.dialect.name == "postgresql":
        _widen_types(connection)


def _widen_types(connection: Connection) -> None:
    """Give columns the types that a new database has: migrations name those of SQLite, which are too narrow here."""
    context = MigrationContext.configure(connection)
    operations = Operations(context)
    for found in compare_metadata(context, schema.metadata):
        for change in found if isinstance(found, list) else [found]:
            if change[0] != "modify_type":
                continue
            _, _, table, column, _, _, wanted = change
            operations.alter_column(table, column, type_=wanted)
            sequence = connection.scalar(
                text("SELECT pg_get_serial_sequence(:table, :column)"), {"table": table, "column": column}
            )
            if sequence is not None:
                operations.execute(f"ALTER SEQUENCE {sequence} AS bigint")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", "controller.store:migrations")
    config.set_main_option("path_separator", "os")
    return config
