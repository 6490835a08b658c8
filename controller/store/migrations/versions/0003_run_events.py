"""How many events of a run were taken."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table; of runs before it nothing is known, and none of their events come again."""
    op.create_table(
        "run_events",
        sa.Column("seq", sa.Integer(), nullable=False, autoincrement=True),
        sa.Column("minion", sa.String(255), nullable=False),
        sa.Column("run_id", sa.String(255), nullable=False),
        sa.Column("taken", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_run_events"),
        sa.ForeignKeyConstraint(["minion"], ["minions.id"], name="fk_run_events_minion_minions", ondelete="CASCADE"),
        sa.UniqueConstraint("minion", "run_id", name="uq_run_events_minion_run_id"),
    )
