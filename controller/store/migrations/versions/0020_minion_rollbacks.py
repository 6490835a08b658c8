"""Minions that were taken back to an earlier revision hold its document, as those hold one that a pull request has."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; all holds until now are of pull requests."""
    op.add_column("holds", sa.Column("rollback", sa.String(64), nullable=False, server_default=""))
    op.add_column("holds", sa.Column("taken", sa.String(255), nullable=False, server_default=""))
    op.add_column("holds", sa.Column("why", sa.Text(), nullable=False, server_default=""))
    op.add_column("holds", sa.Column("newest", sa.Integer(), nullable=False, server_default="0"))
