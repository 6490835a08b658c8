"""Documents of pull requests that minions hold before the merge."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table, and the column that tells revisions of pull requests from those that were live."""
    op.create_table(
        "holds",
        sa.Column("minion", sa.String(255), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("revision", sa.String(64), nullable=False),
        sa.Column("forge", sa.String(255), nullable=False),
        sa.Column("project", sa.String(255), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("head", sa.String(64), nullable=False),
        sa.Column("base", sa.String(64), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["minion"], ["minions.id"], name="fk_holds_minion_minions", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["digest"], ["documents.digest"], name="fk_holds_digest_documents"),
        sa.PrimaryKeyConstraint("minion", name="pk_holds"),
    )
    op.create_index("ix_holds_digest", "holds", ["digest"])
    op.add_column("revisions", sa.Column("pull", sa.Text(), nullable=True))
