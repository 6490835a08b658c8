"""What is confirmed on minions with `apply: confirm`."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "confirmations",
        sa.Column("minion", sa.String(255), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("revision", sa.String(64), nullable=False),
        sa.Column("waiting", sa.String(64), nullable=False),
        sa.Column("since", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["minion"], ["minions.id"], name="fk_confirmations_minion_minions", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["digest"], ["documents.digest"], name="fk_confirmations_digest_documents"),
        sa.PrimaryKeyConstraint("minion", name="pk_confirmations"),
    )
    op.create_index("ix_confirmations_digest", "confirmations", ["digest"])
