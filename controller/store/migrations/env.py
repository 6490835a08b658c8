"""Alembic's entry: runs migrations on the connection that `controller.store.migrate` hands over."""

from __future__ import annotations

from alembic import context

from controller.store import schema

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=schema.metadata,
    render_as_batch=True,  # SQLite cannot alter columns in place
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
