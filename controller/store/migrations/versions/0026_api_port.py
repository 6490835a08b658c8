"""Tokens have scopes, browsers have sessions, and the audit log says by which request and from where."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; the tokens that there are stay what they were."""
    op.add_column("access_tokens", sa.Column("scopes", sa.Text(), nullable=False, server_default=""))
    op.add_column("access_tokens", sa.Column("kind", sa.String(16), nullable=False, server_default="token"))
    op.add_column("access_tokens", sa.Column("parent", sa.String(32), nullable=False, server_default=""))
    op.add_column("audit_log", sa.Column("address", sa.String(64), nullable=False, server_default=""))
    op.add_column("audit_log", sa.Column("request", sa.String(64), nullable=False, server_default=""))
