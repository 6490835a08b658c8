"""What no state names any more."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "prune_reports",
        sa.Column("minion", sa.String(255), nullable=False),
        sa.Column("told", sa.Integer(), nullable=False),
        sa.Column("held", sa.Text(), nullable=False),
        sa.Column("report", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["minion"], ["minions.id"], name="fk_prune_reports_minion_minions", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("minion", name="pk_prune_reports"),
    )
