"""Jobs are listed newest first: runs that belong to none, and jobs, have an index by their time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

_ALONE = sa.text("kind <> 'drift' AND coalesce(job, '') = ''")


def upgrade() -> None:
    """Add the indexes."""
    op.create_index("ix_jobs_created_jid", "jobs", ["created", "jid"])
    op.create_index("single_runs", "runs", ["created", "run_id"], sqlite_where=_ALONE, postgresql_where=_ALONE)
