"""The tables. `controller.store.database` creates or migrates them; `controller.store.migrations` has their history.

Documents are kept once by digest, apart from the rows that status reads. A change here needs a migration and a new
`HEAD` (a test compares both ways of making a database).
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

HEAD = "0019"
"""The newest migration."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_ACCEPTED = text("state = 'accepted'")
_OPEN = text("state IN ('requested', 'started')")

keys = Table(
    "keys",
    metadata,
    Column("public_key", String(64), primary_key=True),
    Column("id", String(255), nullable=False),
    Column("id_folded", String(255), nullable=False),
    Column("state", String(16), nullable=False),
    Column("fingerprint", String(128), nullable=False),
    Column("first_seen", Float, nullable=False),
    Column("changed", Float, nullable=False),
    Column("role", String(16), nullable=False, server_default="minion"),
    Index("one_accepted_key", "id_folded", unique=True, sqlite_where=_ACCEPTED),
)

minions = Table(
    "minions",
    metadata,
    Column("id", String(255), primary_key=True),
    Column("grains", LargeBinary, nullable=False),
    Column("session", String(64), nullable=False),
    Column("held", String(64), nullable=False),
    Column("epoch", String(64), nullable=False),
    Column("last_seen", Float),
    Column("paused", Boolean, nullable=False),
    Column("last_run", Integer),
    Column("last_drift", Integer),
)

revisions = Table(
    "revisions",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("digest", String(64), nullable=False, unique=True),
    Column("label", String(255), nullable=False),
    Column("commit", String(64), nullable=False),
    Column("subject", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("committed_at", Float, nullable=False),
    Column("first_seen", Float, nullable=False),
    Column("error", Text, nullable=False),
    Column("sources", LargeBinary),
    Column("pull", Text),
)

documents = Table(
    "documents",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("blob", LargeBinary, nullable=False),
)

desired = Table(
    "desired",
    metadata,
    Column("minion", ForeignKey("minions.id", ondelete="CASCADE"), primary_key=True),
    Column("generation", Integer, nullable=False),
    Column("revision", String(64), nullable=False),
    Column("compiled_revision", String(64), nullable=False),
    Column("digest", ForeignKey("documents.digest"), index=True),
    Column("errors", LargeBinary),
    Column("compiled_at", Float, nullable=False),
    Column("remarks", LargeBinary),
)

applied = Table(
    "applied",
    metadata,
    Column("minion", ForeignKey("minions.id", ondelete="CASCADE"), primary_key=True),
    Column("generation", Integer, nullable=False),
    Column("digest", ForeignKey("documents.digest"), nullable=False, index=True),
    Column("revision", String(64), nullable=False),
    Column("at", Float, nullable=False),
    Column("outcome", String(16), nullable=False),
)

holds = Table(
    "holds",
    metadata,
    Column("minion", ForeignKey("minions.id", ondelete="CASCADE"), primary_key=True),
    Column("digest", ForeignKey("documents.digest"), nullable=False, index=True),
    Column("revision", String(64), nullable=False),
    Column("forge", String(255), nullable=False),
    Column("project", String(255), nullable=False),
    Column("number", Integer, nullable=False),
    Column("head", String(64), nullable=False),
    Column("base", String(64), nullable=False),
    Column("user", Text, nullable=False),
    Column("at", Float, nullable=False),
    Column("until", Float, nullable=False),
)
"""What minions shall have in place of their desired documents: those of pull requests that are not merged yet."""

runs = Table(
    "runs",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("run_id", String(255), nullable=False, unique=True),
    Column("minion", String(255), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("created", Float, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("revision", String(64), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("keys", LargeBinary),
    Column("test", Boolean, nullable=False),
    Column("state", String(16), nullable=False),
    Column("outcome", String(16), nullable=False),
    Column("started", Float),
    Column("finished", Float),
    Column("seconds", Float, nullable=False),
    Column("changes", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("summary", Text, nullable=False),
    Column("cause", Text, nullable=False),
    Column("user", Text),
    Column("fun", Text),
    Column("args", Text),
    Column("job", String(255)),
    Column("returners", Text),
    Column("ending", String(16)),
    Column("classes", Text),
    Index("ix_runs_job", "job"),
    Index("ix_runs_minion_seq", "minion", "seq"),
    Index("ix_runs_minion_kind_seq", "minion", "kind", "seq"),
    Index("ix_runs_revision", "revision"),
    Index("open_runs", "minion", "seq", sqlite_where=_OPEN),
    Index("returned_runs", "seq", sqlite_where=text("returners IS NOT NULL")),
)

drift_pasts = Table(
    "drift_pasts",
    metadata,
    Column("minion", ForeignKey("minions.id", ondelete="CASCADE"), primary_key=True),
    Column("states", LargeBinary, nullable=False),
)
"""What was seen of states that drifted."""

prune_reports = Table(
    "prune_reports",
    metadata,
    Column("minion", ForeignKey("minions.id", ondelete="CASCADE"), primary_key=True),
    Column("told", Integer, nullable=False),
    Column("held", Text, nullable=False),
    Column("report", LargeBinary, nullable=False),
)
"""What no state names any more."""

jobs = Table(
    "jobs",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("jid", String(255), nullable=False, unique=True),
    Column("fun", Text, nullable=False),
    Column("args", Text, nullable=False),
    Column("tgt", Text, nullable=False),
    Column("tgt_type", String(32), nullable=False),
    Column("user", Text, nullable=False),
    Column("created", Float, nullable=False),
    Column("minions", LargeBinary, nullable=False),
    Column("metadata", LargeBinary),
)
"""What minions were asked for together, by people, reactors and orchestrations."""

results = Table(
    "results",
    metadata,
    Column("run", ForeignKey("runs.seq", ondelete="CASCADE"), primary_key=True),
    Column("blob", LargeBinary, nullable=False),
)

facts = Table(
    "facts",
    metadata,
    Column("minion", ForeignKey("minions.id", ondelete="CASCADE"), primary_key=True),
    Column("fun", String(255), primary_key=True),
    Column("asked", Text, primary_key=True),
    Column("answer", LargeBinary, nullable=False),
    Column("at", Float, nullable=False),
)
"""What functions of the live machine gave when they were last asked."""

mines = Table(
    "mines",
    metadata,
    Column("minion", ForeignKey("minions.id", ondelete="CASCADE"), primary_key=True),
    Column("fun", String(255), primary_key=True, index=True),
    Column("entry", LargeBinary, nullable=False),
)
"""What minions have for each other, by the name that it is asked by."""

secrets = Table(
    "secrets",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("minion", ForeignKey("minions.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("text", LargeBinary, nullable=False),
)
"""What is to be taken out of what is shown of a minion."""

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("tag", String(255), nullable=False),
    Column("time", Float, nullable=False),
    Column("cause", Integer, nullable=False, index=True),
    Column("revision", String(64), nullable=False),
    Column("minion", String(255), nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("durable", Integer, nullable=False, server_default="0"),
    Index("ix_events_minion_id", "minion", "id"),
    Index("ix_events_durable_id", "durable", "id"),
)
"""What happened, and what it followed from. `durable`: 1 until reactors have looked at a durable event, then 2."""

run_events = Table(
    "run_events",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("minion", ForeignKey("minions.id", ondelete="CASCADE"), nullable=False),
    Column("run_id", String(255), nullable=False),
    Column("taken", Integer, nullable=False),
    UniqueConstraint("minion", "run_id"),
)
"""How many events of a run were taken."""

pull_requests = Table(
    "pull_requests",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("forge", String(255), nullable=False),
    Column("project", String(255), nullable=False),
    Column("number", Integer, nullable=False),
    Column("settled", Boolean, nullable=False),
    Column("changed", Float, nullable=False),
    Column("record", LargeBinary, nullable=False),
    Column("report", LargeBinary),
    UniqueConstraint("forge", "project", "number"),
)
"""Pull requests of forges, and the newest report of each."""

reports = Table(
    "reports",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("made_at", Float, nullable=False),
    Column("size", Integer, nullable=False),
    Column("blob", LargeBinary, nullable=False),
)
"""Whole reports of previews, for who has a link to one."""

queue_items = Table(
    "queue_items",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("queue", String(255), nullable=False),
    Column("item", LargeBinary, nullable=False),
    UniqueConstraint("queue", "item", name="uq_queue_items_queue_item"),
)
"""What waits in the queues of the runner `queue`, packed; an item is in a queue once."""

orchestrations = Table(
    "orchestrations",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("jid", String(64), nullable=False, unique=True),
    Column("fun", String(255), nullable=False),
    Column("user", Text, nullable=False),
    Column("created", Float, nullable=False),
    Column("sls", Text, nullable=False),
    Column("low", LargeBinary, nullable=False),
    Column("options", LargeBinary, nullable=False),
    Column("controls", LargeBinary, nullable=False),
)
"""Orchestrations that have not ended."""

orchestration_steps = Table(
    "orchestration_steps",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("jid", ForeignKey("orchestrations.jid", ondelete="CASCADE"), nullable=False),
    Column("key", Text, nullable=False),
    Column("started", Float, nullable=False),
    Column("asked", LargeBinary),
    Column("result", LargeBinary),
    UniqueConstraint("jid", "key"),
)
"""Their steps that were begun: whom each asked, and what came of it."""

enrolment_tokens = Table(
    "enrolment_tokens",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("id", String(32), nullable=False, unique=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("minions", Text, nullable=False),
    Column("uses_left", Integer, nullable=False),
    Column("created", Float, nullable=False),
    Column("expires", Float, nullable=False),
    Column("created_by", Text, nullable=False),
)
"""Digests of the tokens by which minions have their keys accepted."""

access_tokens = Table(
    "access_tokens",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("id", String(32), nullable=False, unique=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("user", Text, nullable=False),
    Column("groups", LargeBinary, nullable=False),
    Column("method", String(32), nullable=False),
    Column("created", Float, nullable=False),
    Column("expires", Float, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("note", Text, nullable=False),
)
"""Digests of the tokens by which people show who they are."""

audit_log = Table(
    "audit_log",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("time", Float, nullable=False),
    Column("user", Text, nullable=False),
    Column("method", String(32), nullable=False),
    Column("token", String(32), nullable=False),
    Column("action", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("allowed", Boolean, nullable=False),
    Column("why", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    sqlite_autoincrement=True,
)
"""What was decided about requests of people; each row has a digest of itself and the one before it."""

rollouts = Table(
    "rollouts",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("record", LargeBinary, nullable=False),
)
"""Revisions on their way to the minions, whole."""

quarantine = Table(
    "quarantine",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("label", String(255), nullable=False),
    Column("back_to", String(64), nullable=False),
    Column("back_label", String(255), nullable=False),
    Column("commits", LargeBinary, nullable=False),
    Column("user", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("at", Float, nullable=False),
)
"""Revisions that were taken back."""

version = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))
"""Alembic's own table, read here so that Alembic need not be loaded."""
