"""What a drift check found, by the class of the difference."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, in which older runs have nothing."""
    op.add_column("runs", sa.Column("classes", sa.Text, nullable=True))
