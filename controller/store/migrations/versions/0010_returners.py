"""Runs keep the returners that their job names, until these have what it returned."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, in which older runs have nothing."""
    op.add_column("runs", sa.Column("returners", sa.Text(), nullable=True))
    op.create_index("returned_runs", "runs", ["seq"], sqlite_where=sa.text("returners IS NOT NULL"))
