"""Secrets by minion, to be taken out of what is shown."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of secrets."""
    op.create_table(
        "secrets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("minion", sa.String(255), nullable=False),
        sa.Column("text", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["minion"], ["minions.id"], name="fk_secrets_minion_minions", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_secrets"),
    )
    op.create_index("ix_secrets_minion", "secrets", ["minion"])
