"""Which events are durable, and which of those reactors have looked at."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column and its index; no event was durable before."""
    op.add_column("events", sa.Column("durable", sa.Integer(), nullable=False, server_default="0"))
    op.create_index("ix_events_durable_id", "events", ["durable", "id"])
