"""What holds of the fleet and its parts, and since when; from which saltenvs a minion has its states."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table and the columns, which the next compile of each minion fills."""
    op.create_table(
        "conditions",
        sa.Column("scope", sa.String(16), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("type", sa.String(32), nullable=False),
        sa.Column("status", sa.String(8), nullable=False),
        sa.Column("reason", sa.String(64), nullable=False),
        sa.Column("since", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "name", "type", name="pk_conditions"),
    )
    op.add_column("desired", sa.Column("saltenvs", sa.Text(), nullable=True))
    op.add_column("desired", sa.Column("since", sa.Float(), nullable=True))
