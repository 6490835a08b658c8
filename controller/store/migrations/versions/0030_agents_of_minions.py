"""Minions have the agent that was connected last."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; each minion fills it when it connects."""
    op.add_column("minions", sa.Column("agent", sa.String(255), nullable=False, server_default=""))
