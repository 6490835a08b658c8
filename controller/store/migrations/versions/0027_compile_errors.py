"""Revisions know whether they compiled."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; of the revisions that there are nothing is known."""
    op.add_column("revisions", sa.Column("compile_error", sa.Text(), nullable=False, server_default=""))
