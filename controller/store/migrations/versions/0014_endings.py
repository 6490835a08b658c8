"""What ended a run, where it was not its function."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, in which older runs have nothing."""
    op.add_column("runs", sa.Column("ending", sa.String(16), nullable=True))
