"""Tokens by which minions have their keys accepted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "enrolment_tokens",
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
        sa.Column("minions", sa.Text, nullable=False),
        sa.Column("uses_left", sa.Integer, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("expires", sa.Float, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
    )
