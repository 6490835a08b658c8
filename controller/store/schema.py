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
    LargeBinary,
    MetaData,
    Table,
    UniqueConstraint,
    text,
)

from controller.store.column_types import INTEGER, TEXT, short_text

HEAD = "0030"
"""The newest migration."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_CONDITION = "condition"


def _partial_index(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    condition = text(where)
    return Index(name, *columns, unique=unique, sqlite_where=condition, info={_CONDITION: condition})


def add_conditions_of_postgresql() -> None:
    """Tell indexes on a part of a table their conditions in PostgreSQL.

    Apart from their declaration, because naming them loads that dialect: several MiB that a controller on SQLite need
    not have.
    """
    for table in metadata.tables.values():
        for index in table.indexes:
            if _CONDITION in index.info:
                index.dialect_options["postgresql"]["where"] = index.info[_CONDITION]


keys = Table(
    "keys",
    metadata,
    Column("public_key", short_text(64), primary_key=True),
    Column("id", short_text(255), nullable=False),
    Column("id_folded", short_text(255), nullable=False),
    Column("state", short_text(16), nullable=False),
    Column("fingerprint", short_text(128), nullable=False),
    Column("first_seen", Float, nullable=False),
    Column("changed", Float, nullable=False),
    Column("role", short_text(16), nullable=False, server_default="minion"),
    Column("salt_fingerprint", short_text(95), nullable=False, server_default=""),
    _partial_index("one_accepted_key", "id_folded", unique=True, where="state = 'accepted'"),
    _partial_index("waiting_keys_of_id", "id_folded", "first_seen", where="state = 'pending'"),
)

minions = Table(
    "minions",
    metadata,
    Column("id", short_text(255), primary_key=True),
    Column("grains", LargeBinary, nullable=False),
    Column("session", short_text(64), nullable=False),
    Column("held", short_text(64), nullable=False),
    Column("epoch", short_text(64), nullable=False),
    Column("last_seen", Float),
    Column("paused", Boolean, nullable=False),
    Column("last_run", INTEGER),
    Column("last_drift", INTEGER),
    Column("agent", short_text(255), nullable=False, server_default=""),
)

revisions = Table(
    "revisions",
    metadata,
    Column("seq", INTEGER, primary_key=True, autoincrement=True),
    Column("digest", short_text(64), nullable=False, unique=True),
    Column("label", short_text(255), nullable=False),
    Column("commit", short_text(64), nullable=False),
    Column("subject", TEXT, nullable=False),
    Column("author", TEXT, nullable=False),
    Column("committed_at", Float, nullable=False),
    Column("first_seen", Float, nullable=False),
    Column("error", TEXT, nullable=False),
    Column("sources", LargeBinary),
    Column("pull", TEXT),
    Column("compile_error", TEXT, nullable=False, server_default=""),
)

documents = Table(
    "documents",
    metadata,
    Column("digest", short_text(64), primary_key=True),
    Column("blob", LargeBinary, nullable=False),
)

desired = Table(
    "desired",
    metadata,
    Column("minion", ForeignKey("minions.id", ondelete="CASCADE"), primary_key=True),
    Column("generation", INTEGER, nullable=False),
    Column("revision", short_text(64), nullable=False),
    Column("compiled_revision", short_text(64), nullable=False),
    Column("digest", ForeignKey("documents.digest"), index=True),
    Column("errors", LargeBinary),
    Column("compiled_at", Float, nullable=False),
    Column("remarks", LargeBinary),
    Column("saltenvs", TEXT),
    Column("since", Float),
)

bases = Table(
    "bases",
    metadata,
    Column("minion", ForeignKey("minions.id", ondelete="CASCADE"), primary_key=True),
    Column("inputs", short_text(64), nullable=False),
    Column("parts", TEXT, nullable=False),
)

basis_parts = Table(
    "basis_parts",
    metadata,
    Column("key", short_text(32), primary_key=True),
    Column("reads", LargeBinary, nullable=False),
)

applied = Table(
    "applied",
    metadata,
    Column("minion", ForeignKey("minions.id", ondelete="CASCADE"), primary_key=True),
    Column("generation", INTEGER, nullable=False),
    Column("digest", ForeignKey("documents.digest"), nullable=False, index=True),
    Column("revision", short_text(64), nullable=False),
    Column("at", Float, nullable=False),
    Column("outcome", short_text(16), nullable=False),
)

holds = Table(
    "holds",
    metadata,
    Column("minion", ForeignKey("minions.id", ondelete="CASCADE"), primary_key=True),
    Column("digest", ForeignKey("documents.digest"), nullable=False, index=True),
    Column("revision", short_text(64), nullable=False),
    Column("forge", short_text(255), nullable=False),
    Column("project", short_text(255), nullable=False),
    Column("number", INTEGER, nullable=False),
    Column("head", short_text(64), nullable=False),
    Column("base", short_text(64), nullable=False),
    Column("user", TEXT, nullable=False),
    Column("at", Float, nullable=False),
    Column("until", Float, nullable=False),
    Column("rollback", short_text(64), nullable=False, server_default=""),
    Column("taken", short_text(255), nullable=False, server_default=""),
    Column("why", TEXT, nullable=False, server_default=""),
    Column("newest", INTEGER, nullable=False, server_default="0"),
)
"""What minions shall have in place of their desired documents: those of pull requests that are not merged yet, and
those of an earlier revision."""

confirmations = Table(
    "confirmations",
    metadata,
    Column("minion", ForeignKey("minions.id", ondelete="CASCADE"), primary_key=True),
    Column("digest", ForeignKey("documents.digest"), nullable=False, index=True),
    Column("revision", short_text(64), nullable=False),
    Column("waiting", short_text(64), nullable=False),
    Column("since", Float, nullable=False),
)
"""What is confirmed on minions with `apply: confirm`, and which document waits for that."""

conditions = Table(
    "conditions",
    metadata,
    Column("scope", short_text(16), primary_key=True),
    Column("name", short_text(255), primary_key=True),
    Column("type", short_text(32), primary_key=True),
    Column("status", short_text(8), nullable=False),
    Column("reason", short_text(64), nullable=False),
    Column("since", Float, nullable=False),
)
"""What holds of the fleet, its environments and its waves, and since when."""

runs = Table(
    "runs",
    metadata,
    Column("seq", INTEGER, primary_key=True, autoincrement=True),
    Column("run_id", short_text(255), nullable=False, unique=True),
    Column("minion", short_text(255), nullable=False),
    Column("kind", short_text(16), nullable=False),
    Column("created", Float, nullable=False),
    Column("generation", INTEGER, nullable=False),
    Column("revision", short_text(64), nullable=False),
    Column("digest", short_text(64), nullable=False),
    Column("keys", LargeBinary),
    Column("test", Boolean, nullable=False),
    Column("state", short_text(16), nullable=False),
    Column("outcome", short_text(16), nullable=False),
    Column("started", Float),
    Column("finished", Float),
    Column("seconds", Float, nullable=False),
    Column("changes", INTEGER, nullable=False),
    Column("failed", INTEGER, nullable=False),
    Column("summary", TEXT, nullable=False),
    Column("cause", TEXT, nullable=False),
    Column("user", TEXT),
    Column("fun", TEXT),
    Column("args", TEXT),
    Column("job", short_text(255)),
    Column("returners", TEXT),
    Column("ending", short_text(16)),
    Column("classes", TEXT),
    Index("ix_runs_job", "job"),
    Index("ix_runs_minion_seq", "minion", "seq"),
    Index("ix_runs_minion_kind_seq", "minion", "kind", "seq"),
    Index("ix_runs_revision", "revision"),
    _partial_index("open_runs", "minion", "seq", where="state IN ('requested', 'started')"),
    _partial_index("returned_runs", "seq", where="returners IS NOT NULL"),
    _partial_index("single_runs", "created", "run_id", where="kind <> 'drift' AND coalesce(job, '') = ''"),
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
    Column("told", INTEGER, nullable=False),
    Column("held", TEXT, nullable=False),
    Column("report", LargeBinary, nullable=False),
)
"""What no state names any more."""

jobs = Table(
    "jobs",
    metadata,
    Column("seq", INTEGER, primary_key=True, autoincrement=True),
    Column("jid", short_text(255), nullable=False, unique=True),
    Column("fun", TEXT, nullable=False),
    Column("args", TEXT, nullable=False),
    Column("tgt", TEXT, nullable=False),
    Column("tgt_type", short_text(32), nullable=False),
    Column("user", TEXT, nullable=False),
    Column("created", Float, nullable=False),
    Column("minions", LargeBinary, nullable=False),
    Column("metadata", LargeBinary),
    Index("ix_jobs_created_jid", "created", "jid"),
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
    Column("fun", short_text(255), primary_key=True),
    Column("asked", TEXT, primary_key=True),
    Column("answer", LargeBinary, nullable=False),
    Column("at", Float, nullable=False),
)
"""What functions of the live machine gave when they were last asked."""

mines = Table(
    "mines",
    metadata,
    Column("minion", ForeignKey("minions.id", ondelete="CASCADE"), primary_key=True),
    Column("fun", short_text(255), primary_key=True, index=True),
    Column("entry", LargeBinary, nullable=False),
)
"""What minions have for each other, by the name that it is asked by."""

secrets = Table(
    "secrets",
    metadata,
    Column("id", INTEGER, primary_key=True),
    Column("minion", ForeignKey("minions.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("text", LargeBinary, nullable=False),
)
"""What is to be taken out of what is shown of a minion."""

events = Table(
    "events",
    metadata,
    Column("id", INTEGER, primary_key=True, autoincrement=False),
    Column("tag", short_text(255), nullable=False),
    Column("time", Float, nullable=False),
    Column("cause", INTEGER, nullable=False, index=True),
    Column("revision", short_text(64), nullable=False),
    Column("minion", short_text(255), nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("durable", INTEGER, nullable=False, server_default="0"),
    Index("ix_events_minion_id", "minion", "id"),
    Index("ix_events_durable_id", "durable", "id"),
)
"""What happened, and what it followed from. `durable`: 1 until reactors have looked at a durable event, then 2."""

run_events = Table(
    "run_events",
    metadata,
    Column("seq", INTEGER, primary_key=True, autoincrement=True),
    Column("minion", ForeignKey("minions.id", ondelete="CASCADE"), nullable=False),
    Column("run_id", short_text(255), nullable=False),
    Column("taken", INTEGER, nullable=False),
    UniqueConstraint("minion", "run_id"),
)
"""How many events of a run were taken."""

pull_requests = Table(
    "pull_requests",
    metadata,
    Column("seq", INTEGER, primary_key=True, autoincrement=True),
    Column("forge", short_text(255), nullable=False),
    Column("project", short_text(255), nullable=False),
    Column("number", INTEGER, nullable=False),
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
    Column("seq", INTEGER, primary_key=True, autoincrement=True),
    Column("id", short_text(64), nullable=False, unique=True),
    Column("made_at", Float, nullable=False),
    Column("size", INTEGER, nullable=False),
    Column("blob", LargeBinary, nullable=False),
)
"""Whole reports of previews, for who has a link to one."""

queue_items = Table(
    "queue_items",
    metadata,
    Column("seq", INTEGER, primary_key=True, autoincrement=True),
    Column("queue", short_text(255), nullable=False),
    Column("item", LargeBinary, nullable=False),
    UniqueConstraint("queue", "item", name="uq_queue_items_queue_item"),
)
"""What waits in the queues of the runner `queue`, packed; an item is in a queue once."""

orchestrations = Table(
    "orchestrations",
    metadata,
    Column("seq", INTEGER, primary_key=True, autoincrement=True),
    Column("jid", short_text(64), nullable=False, unique=True),
    Column("fun", short_text(255), nullable=False),
    Column("user", TEXT, nullable=False),
    Column("created", Float, nullable=False),
    Column("sls", TEXT, nullable=False),
    Column("low", LargeBinary, nullable=False),
    Column("options", LargeBinary, nullable=False),
    Column("controls", LargeBinary, nullable=False),
)
"""Orchestrations that have not ended."""

orchestration_steps = Table(
    "orchestration_steps",
    metadata,
    Column("seq", INTEGER, primary_key=True, autoincrement=True),
    Column("jid", ForeignKey("orchestrations.jid", ondelete="CASCADE"), nullable=False),
    Column("key", TEXT, nullable=False),
    Column("started", Float, nullable=False),
    Column("asked", LargeBinary),
    Column("result", LargeBinary),
    UniqueConstraint("jid", "key"),
)
"""Their steps that were begun: whom each asked, and what came of it."""

enrolment_tokens = Table(
    "enrolment_tokens",
    metadata,
    Column("seq", INTEGER, primary_key=True, autoincrement=True),
    Column("id", short_text(32), nullable=False, unique=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("minions", TEXT, nullable=False),
    Column("uses_left", INTEGER, nullable=False),
    Column("created", Float, nullable=False),
    Column("expires", Float, nullable=False),
    Column("created_by", TEXT, nullable=False),
)
"""Digests of the tokens by which minions have their keys accepted."""

access_tokens = Table(
    "access_tokens",
    metadata,
    Column("seq", INTEGER, primary_key=True, autoincrement=True),
    Column("id", short_text(32), nullable=False, unique=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("user", TEXT, nullable=False),
    Column("groups", LargeBinary, nullable=False),
    Column("method", short_text(32), nullable=False),
    Column("created", Float, nullable=False),
    Column("expires", Float, nullable=False),
    Column("created_by", TEXT, nullable=False),
    Column("note", TEXT, nullable=False),
    Column("scopes", TEXT, nullable=False, server_default=""),
    Column("kind", short_text(16), nullable=False, server_default="token"),
    Column("parent", short_text(32), nullable=False, server_default=""),
)
"""Digests of the tokens by which people show who they are."""

audit_log = Table(
    "audit_log",
    metadata,
    Column("seq", INTEGER, primary_key=True, autoincrement=True),
    Column("time", Float, nullable=False),
    Column("user", TEXT, nullable=False),
    Column("method", short_text(32), nullable=False),
    Column("token", short_text(32), nullable=False),
    Column("action", TEXT, nullable=False),
    Column("detail", TEXT, nullable=False),
    Column("allowed", Boolean, nullable=False),
    Column("why", TEXT, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("address", short_text(64), nullable=False, server_default=""),
    Column("request", short_text(64), nullable=False, server_default=""),
    sqlite_autoincrement=True,
)
"""What was decided about requests of people; each row has a digest of itself and the one before it."""

rollouts = Table(
    "rollouts",
    metadata,
    Column("seq", INTEGER, primary_key=True, autoincrement=True),
    Column("id", short_text(64), nullable=False, unique=True),
    Column("record", LargeBinary, nullable=False),
)
"""Revisions on their way to the minions, whole."""

quarantine = Table(
    "quarantine",
    metadata,
    Column("digest", short_text(64), primary_key=True),
    Column("label", short_text(255), nullable=False),
    Column("back_to", short_text(64), nullable=False),
    Column("back_label", short_text(255), nullable=False),
    Column("commits", LargeBinary, nullable=False),
    Column("user", TEXT, nullable=False),
    Column("why", TEXT, nullable=False),
    Column("at", Float, nullable=False),
)
"""Revisions that were taken back."""

notification_groups = Table(
    "notification_groups",
    metadata,
    Column("key", short_text(64), primary_key=True),
    Column("record", LargeBinary, nullable=False),
)
"""What was told to whom, so that its end is told, and nothing twice."""

notification_marks = Table(
    "notification_marks",
    metadata,
    Column("name", short_text(64), primary_key=True),
    Column("value", TEXT, nullable=False),
)
"""What was seen last of each thing that happens once."""

notification_spool = Table(
    "notification_spool",
    metadata,
    Column("seq", INTEGER, primary_key=True, autoincrement=True),
    Column("id", short_text(128), nullable=False, unique=True),
    Column("receiver", short_text(100), nullable=False),
    Column("size", INTEGER, nullable=False),
    Column("created", Float, nullable=False),
    Column("next_at", Float, nullable=False),
    Column("attempts", INTEGER, nullable=False),
    Column("state", short_text(8), nullable=False),
    Column("error", TEXT, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
"""Messages that wait for their receivers, and those that were given up."""

agent_replacements = Table(
    "agent_replacements",
    metadata,
    Column("minion", ForeignKey("minions.id", ondelete="CASCADE"), primary_key=True),
    Column("record", LargeBinary, nullable=False),
)
"""Agents that are replaced, or were."""

version = Table("alembic_version", MetaData(), Column("version_num", short_text(32), primary_key=True))
"""Alembic's own table, read here so that Alembic need not be loaded."""
