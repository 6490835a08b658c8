"""What minions put into the mine."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of mines."""
    op.create_table(
        "mines",
        sa.Column("minion", sa.String(255), nullable=False),
        sa.Column("fun", sa.String(255), nullable=False),
        sa.Column("entry", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["minion"], ["minions.id"], name="fk_mines_minion_minions", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("minion", "fun", name="pk_mines"),
    )
    op.create_index("ix_mines_fun", "mines", ["fun"])
