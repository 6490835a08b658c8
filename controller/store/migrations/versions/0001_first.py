"""The first schema: all tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ACCEPTED = sa.text("state = 'accepted'")
_OPEN = sa.text("state IN ('requested', 'started')")


def upgrade() -> None:
    """Make all tables."""
    _keys()
    _minions()
    _revisions()
    _documents()
    _runs()
    _of_minions()
    _events()


def _keys() -> None:
    op.create_table(
        "keys",
        sa.Column("public_key", sa.String(64), nullable=False),
        sa.Column("id", sa.String(255), nullable=False),
        sa.Column("id_folded", sa.String(255), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("fingerprint", sa.String(128), nullable=False),
        sa.Column("first_seen", sa.Float(), nullable=False),
        sa.Column("changed", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("public_key", name="pk_keys"),
    )
    op.create_index("one_accepted_key", "keys", ["id_folded"], unique=True, sqlite_where=_ACCEPTED)


def _minions() -> None:
    op.create_table(
        "minions",
        sa.Column("id", sa.String(255), nullable=False),
        sa.Column("grains", sa.LargeBinary(), nullable=False),
        sa.Column("session", sa.String(64), nullable=False),
        sa.Column("held", sa.String(64), nullable=False),
        sa.Column("epoch", sa.String(64), nullable=False),
        sa.Column("last_seen", sa.Float(), nullable=True),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("last_run", sa.Integer(), nullable=True),
        sa.Column("last_drift", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_minions"),
    )


def _revisions() -> None:
    op.create_table(
        "revisions",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("label", sa.String(255), nullable=False),
        sa.Column("commit", sa.String(64), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("committed_at", sa.Float(), nullable=False),
        sa.Column("first_seen", sa.Float(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_revisions"),
        sa.UniqueConstraint("digest", name="uq_revisions_digest"),
    )


def _documents() -> None:
    op.create_table(
        "documents",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("blob", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_documents"),
    )
    op.create_table(
        "desired",
        sa.Column("minion", sa.String(255), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("revision", sa.String(64), nullable=False),
        sa.Column("compiled_revision", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=True),
        sa.Column("errors", sa.LargeBinary(), nullable=True),
        sa.Column("compiled_at", sa.Float(), nullable=False),
        sa.Column("remarks", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("minion", name="pk_desired"),
        sa.ForeignKeyConstraint(["minion"], ["minions.id"], name="fk_desired_minion_minions", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["digest"], ["documents.digest"], name="fk_desired_digest_documents"),
    )
    op.create_index("ix_desired_digest", "desired", ["digest"])
    op.create_table(
        "applied",
        sa.Column("minion", sa.String(255), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("revision", sa.String(64), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.PrimaryKeyConstraint("minion", name="pk_applied"),
        sa.ForeignKeyConstraint(["minion"], ["minions.id"], name="fk_applied_minion_minions", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["digest"], ["documents.digest"], name="fk_applied_digest_documents"),
    )
    op.create_index("ix_applied_digest", "applied", ["digest"])


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("run_id", sa.String(255), nullable=False),
        sa.Column("minion", sa.String(255), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("revision", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("keys", sa.LargeBinary(), nullable=True),
        sa.Column("test", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("started", sa.Float(), nullable=True),
        sa.Column("finished", sa.Float(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("changes", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_runs"),
        sa.UniqueConstraint("run_id", name="uq_runs_run_id"),
    )
    op.create_index("ix_runs_minion_seq", "runs", ["minion", "seq"])
    op.create_index("ix_runs_minion_kind_seq", "runs", ["minion", "kind", "seq"])
    op.create_index("ix_runs_revision", "runs", ["revision"])
    op.create_index("open_runs", "runs", ["minion", "seq"], sqlite_where=_OPEN)
    op.create_table(
        "results",
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("blob", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run", name="pk_results"),
        sa.ForeignKeyConstraint(["run"], ["runs.seq"], name="fk_results_run_runs", ondelete="CASCADE"),
    )


def _of_minions() -> None:
    op.create_table(
        "facts",
        sa.Column("minion", sa.String(255), nullable=False),
        sa.Column("fun", sa.String(255), nullable=False),
        sa.Column("asked", sa.Text(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["minion"], ["minions.id"], name="fk_facts_minion_minions", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("minion", "fun", "asked", name="pk_facts"),
    )
    op.create_table(
        "mines",
        sa.Column("minion", sa.String(255), nullable=False),
        sa.Column("fun", sa.String(255), nullable=False),
        sa.Column("entry", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["minion"], ["minions.id"], name="fk_mines_minion_minions", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("minion", "fun", name="pk_mines"),
    )
    op.create_index("ix_mines_fun", "mines", ["fun"])
    op.create_table(
        "secrets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("minion", sa.String(255), nullable=False),
        sa.Column("text", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["minion"], ["minions.id"], name="fk_secrets_minion_minions", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_secrets"),
    )
    op.create_index("ix_secrets_minion", "secrets", ["minion"])


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("tag", sa.String(255), nullable=False),
        sa.Column("time", sa.Float(), nullable=False),
        sa.Column("cause", sa.Integer(), nullable=False),
        sa.Column("revision", sa.String(64), nullable=False),
        sa.Column("minion", sa.String(255), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
    )
    op.create_index("ix_events_cause", "events", ["cause"])
    op.create_index("ix_events_minion_id", "events", ["minion", "id"])
