"""Runs keep the job that they belong to; queues of the runner `queue`."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, in which older runs have nothing, and the table."""
    op.add_column("runs", sa.Column("job", sa.String(255), nullable=True))
    op.create_index("ix_runs_job", "runs", ["job"])
    op.create_table(
        "queue_items",
        sa.Column("seq", sa.Integer(), nullable=False, autoincrement=True),
        sa.Column("queue", sa.String(255), nullable=False),
        sa.Column("item", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_queue_items"),
        sa.UniqueConstraint("queue", "item", name="uq_queue_items_queue_item"),
    )
