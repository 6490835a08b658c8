"""What minions answered to the questions of templates."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of facts."""
    op.create_table(
        "facts",
        sa.Column("minion", sa.String(255), nullable=False),
        sa.Column("fun", sa.String(255), nullable=False),
        sa.Column("asked", sa.Text(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["minion"], ["minions.id"], name="fk_facts_minion_minions", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("minion", "fun", "asked", name="pk_facts"),
    )
