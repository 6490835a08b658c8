"""Brings an older database to the newest schema with Alembic. Loaded by `database` only when that is needed."""

from __future__ import annotations

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from controller.store import schema


def known_versions() -> set[str]:
    """All migrations that this version has."""
    return {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}


def upgrade(connection: Connection, to: str = schema.HEAD) -> None:
    """Run what is missing, in the caller's transaction."""
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, to)


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", "controller.store:migrations")
    config.set_main_option("path_separator", "os")
    return config
