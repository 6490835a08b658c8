"""Runs keep who asked for them and what was called; revisions keep their sources."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; older runs and revisions have nothing there."""
    op.add_column("revisions", sa.Column("sources", sa.LargeBinary(), nullable=True))
    for name in ("user", "fun", "args"):
        op.add_column("runs", sa.Column(name, sa.Text(), nullable=True))
