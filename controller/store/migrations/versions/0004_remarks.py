"""What a compile went on with, and what it stands on besides trees and grains."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make room for it beside the errors."""
    op.add_column("desired", sa.Column("remarks", sa.LargeBinary()))
