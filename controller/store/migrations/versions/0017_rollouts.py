"""Rollouts, and revisions that were taken back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "rollouts",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("record", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_rollouts"),
        sa.UniqueConstraint("id", name="uq_rollouts_id"),
    )
    op.create_table(
        "quarantine",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("label", sa.String(255), nullable=False),
        sa.Column("back_to", sa.String(64), nullable=False),
        sa.Column("back_label", sa.String(255), nullable=False),
        sa.Column("commits", sa.LargeBinary(), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_quarantine"),
    )
