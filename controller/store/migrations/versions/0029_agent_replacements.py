"""Agents that are replaced."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "agent_replacements",
        sa.Column("minion", sa.String(255), nullable=False),
        sa.Column("record", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(
            ["minion"], ["minions.id"], name="fk_agent_replacements_minion_minions", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("minion", name="pk_agent_replacements"),
    )
