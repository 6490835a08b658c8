"""Keys of stock minions have the fingerprint that Salt shows; keys that wait are found by their id."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, and the index; a gateway tells the fingerprints of the keys that there are."""
    op.add_column("keys", sa.Column("salt_fingerprint", sa.String(95), nullable=False, server_default=""))
    where = sa.text("state = 'pending'")
    op.create_index(
        "waiting_keys_of_id", "keys", ["id_folded", "first_seen"], sqlite_where=where, postgresql_where=where
    )
