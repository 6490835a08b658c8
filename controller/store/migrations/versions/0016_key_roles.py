"""What a key is for: a minion, or a relay that carries frames of minions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; all keys until now are of minions."""
    op.add_column("keys", sa.Column("role", sa.String(16), nullable=False, server_default="minion"))
