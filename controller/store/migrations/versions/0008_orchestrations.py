"""Orchestrations that have not ended, and their steps."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "orchestrations",
        sa.Column("seq", sa.Integer(), nullable=False, autoincrement=True),
        sa.Column("jid", sa.String(64), nullable=False),
        sa.Column("fun", sa.String(255), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("sls", sa.Text(), nullable=False),
        sa.Column("low", sa.LargeBinary(), nullable=False),
        sa.Column("options", sa.LargeBinary(), nullable=False),
        sa.Column("controls", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_orchestrations"),
        sa.UniqueConstraint("jid", name="uq_orchestrations_jid"),
    )
    op.create_table(
        "orchestration_steps",
        sa.Column("seq", sa.Integer(), nullable=False, autoincrement=True),
        sa.Column("jid", sa.String(64), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("started", sa.Float(), nullable=False),
        sa.Column("asked", sa.LargeBinary(), nullable=True),
        sa.Column("result", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["jid"], ["orchestrations.jid"], name="fk_orchestration_steps_jid_orchestrations", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("seq", name="pk_orchestration_steps"),
        sa.UniqueConstraint("jid", "key", name="uq_orchestration_steps_jid_key"),
    )
