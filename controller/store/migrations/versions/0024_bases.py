"""What documents stand on is kept: a controller that starts compiles those alone that may be others."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the tables, which the next compile of each minion fills."""
    op.create_table(
        "bases",
        sa.Column("minion", sa.String(255), nullable=False),
        sa.Column("inputs", sa.String(64), nullable=False),
        sa.Column("parts", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["minion"], ["minions.id"], name="fk_bases_minion_minions", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("minion", name="pk_bases"),
    )
    op.create_table(
        "basis_parts",
        sa.Column("key", sa.String(32), nullable=False),
        sa.Column("reads", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_basis_parts"),
    )
