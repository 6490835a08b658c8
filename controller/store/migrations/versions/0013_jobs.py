"""Jobs as they were asked for: their targets, minions and metadata."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "jobs",
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("jid", sa.String(255), nullable=False, unique=True),
        sa.Column("fun", sa.Text, nullable=False),
        sa.Column("args", sa.Text, nullable=False),
        sa.Column("tgt", sa.Text, nullable=False),
        sa.Column("tgt_type", sa.String(32), nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("minions", sa.LargeBinary, nullable=False),
        sa.Column("metadata", sa.LargeBinary),
    )
