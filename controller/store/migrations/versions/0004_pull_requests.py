"""Pull requests of forges, and the newest report of each."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "pull_requests",
        sa.Column("seq", sa.Integer(), nullable=False, autoincrement=True),
        sa.Column("forge", sa.String(255), nullable=False),
        sa.Column("project", sa.String(255), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("settled", sa.Boolean(), nullable=False),
        sa.Column("changed", sa.Float(), nullable=False),
        sa.Column("record", sa.LargeBinary(), nullable=False),
        sa.Column("report", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("seq", name="pk_pull_requests"),
        sa.UniqueConstraint("forge", "project", "number", name="uq_pull_requests_forge_project_number"),
    )
