"""What was seen of states that drifted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "drift_pasts",
        sa.Column("minion", sa.String(255), nullable=False),
        sa.Column("states", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["minion"], ["minions.id"], name="fk_drift_pasts_minion_minions", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("minion", name="pk_drift_pasts"),
    )
