"""Pull requests that are previewed: what was seen of them, said on them, and the newest report of each.

The record is what `controller.pull_requests.decision` decides by; the store does not look into it.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec
from sqlalchemy import ColumnElement, delete, insert, select, update

from controller.store.database import Database
from controller.store.schema import pull_requests

_KEPT = 1000
"""Pull requests that nothing more is done for; those that changed least recently are forgotten."""

CommandState: TypeAlias = Literal["open", "previewing", "applying", "done", "refused"]


class CommandRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A command that somebody wrote in a comment."""

    comment: str
    """Id of the comment."""
    user: str
    text: str
    """The line, cut."""
    at: float
    """When the comment was made, in seconds since the epoch."""
    head: str = ""
    """The head commit that the command is about; empty when nobody can say which one its author saw."""
    state: CommandState = "open"
    answer: str = ""
    """Markdown; empty when the reaction is the answer."""
    reacted: bool = False
    answered: bool = False
    """Whether the answer was posted, or there is none."""


class Previewed(msgspec.Struct, frozen=True, kw_only=True):
    """What the stored report is about."""

    head: str
    base_branch: str
    restricted: bool = False
    base: str = ""
    """Names what was live of all remotes when it began."""
    at: float
    """When it was asked for, in seconds since the epoch."""


class ReportCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What lists show of the stored report."""

    made_at: float
    """Seconds since the epoch."""
    base: str
    """Whole commit."""
    minions: int
    changed: int
    classes: int
    broken: int
    unknown: int
    approvable: int
    """Violations of the policy that an approval takes away."""
    violations: int
    """The others."""


class AppliedHead(msgspec.Struct, frozen=True, kw_only=True):
    """What was applied before the merge, the newest time."""

    head: str
    user: str
    at: float
    """Seconds since the epoch, as all times here."""
    until: float
    canary: bool
    revision: str
    """Digest of the revision that the minions hold."""
    minions: tuple[str, ...]
    ending: str = ""
    """Why it is taken back, when somebody said so."""
    released: str = ""
    """Why it is not held any more; empty: it is."""


class PullRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request as it was left after the last look."""

    forge: str
    project: str
    number: int
    state: Literal["open", "merged", "closed"] = "open"
    title: str = ""
    url: str = ""
    head: str = ""
    head_at: float = 0.0
    """When this head was first seen, in seconds since the epoch."""
    base_branch: str = ""
    from_fork: bool = False
    draft: bool = False
    updated: str = ""
    """The forge's mark of its last change."""
    merge_commit: str = ""
    merged_at: float = 0.0
    """When the merge was seen, in seconds since the epoch."""
    asked_at: float = 0.0
    """When a preview of the same head was asked for again."""
    previewed: Previewed | None = None
    counts: ReportCounts | None = None
    """Of the stored report; None where an older version has made it."""
    failure: str = ""
    """Why the newest preview of `head` could not be made."""
    failures: int = 0
    """In a row."""
    retry_at: float = 0.0
    allowed: str = ""
    """The head that may be previewed though it is a stranger's: somebody with write access asked for it."""
    approved: str = ""
    """The head whose violations of the policy are approved."""
    approved_by: str = ""
    applied: AppliedHead | None = None
    serial: int = 0
    """Number of comments with reports that were made before the one of now."""
    comment: str = ""
    """Id of the comment with the report; empty while there is none."""
    comment_head: str = ""
    comment_digest: str = ""
    unlisted: bool = False
    """The forge has the comment and does not list it: there are more comments than are read."""
    hide: tuple[str, ...] = ()
    """Ids of older comments that are still to be hidden."""
    check_head: str = ""
    check_state: str = ""
    check_digest: str = ""
    seen: tuple[str, ...] = ()
    """Ids of the newest comments that were looked at."""
    seen_after: float = 0.0
    """Comments that are not in `seen` are new when they were made after this, in seconds since the epoch."""
    commands: tuple[CommandRecord, ...] = ()
    complete: bool = False
    """It was merged, and what happened was told."""

    @property
    def settled(self) -> bool:
        """Whether nothing more is done for it unless the forge says something new."""
        holds = self.applied is not None and not self.applied.released
        return (self.state == "closed" or self.complete) and not holds


_DECODER = msgspec.msgpack.Decoder(PullRecord)


@dataclass(frozen=True, slots=True)
class PullRequestTable:
    """The table of pull requests."""

    database: Database

    def get(self, forge: str, project: str, number: int) -> PullRecord | None:
        """What is known of one."""
        query = select(pull_requests.c.record).where(*_is(forge, project, number))
        with self.database.read() as connection:
            blob = connection.scalar(query)
        return None if blob is None else _DECODER.decode(blob)

    def put(self, record: PullRecord, now: float) -> None:
        """Keep a record; settled ones beyond the newest are forgotten. `now`: seconds since the epoch."""
        values = {"record": msgspec.msgpack.encode(record), "settled": record.settled, "changed": now}
        where = _is(record.forge, record.project, record.number)
        with self.database.write() as connection:
            if connection.execute(update(pull_requests).where(*where).values(values)).rowcount > 0:
                return
            key = {"forge": record.forge, "project": record.project, "number": record.number}
            connection.execute(insert(pull_requests).values({**key, **values}))
            settled = select(pull_requests.c.seq).where(pull_requests.c.settled)
            newest = settled.order_by(pull_requests.c.changed.desc()).limit(_KEPT)
            old = delete(pull_requests).where(pull_requests.c.settled, pull_requests.c.seq.not_in(newest))
            connection.execute(old)

    def put_report(self, forge: str, project: str, number: int, report: bytes) -> None:
        """Keep the report of a pull request whose record is kept, in place of the one before."""
        changed = update(pull_requests).where(*_is(forge, project, number)).values(report=zlib.compress(report, 1))
        with self.database.write() as connection:
            connection.execute(changed)

    def report(self, forge: str, project: str, number: int) -> bytes | None:
        """The report that was kept last."""
        query = select(pull_requests.c.report).where(*_is(forge, project, number))
        with self.database.read() as connection:
            blob = connection.scalar(query)
        return None if blob is None else zlib.decompress(blob)

    def all(self, *, unsettled_only: bool = False) -> list[PullRecord]:
        """All that are kept, the newest change first."""
        query = select(pull_requests.c.record).order_by(pull_requests.c.changed.desc(), pull_requests.c.seq.desc())
        if unsettled_only:
            query = query.where(~pull_requests.c.settled)
        with self.database.read() as connection:
            return [_DECODER.decode(blob) for blob in connection.scalars(query)]


def _is(forge: str, project: str, number: int) -> tuple[ColumnElement[bool], ...]:
    columns = pull_requests.c
    return columns.forge == forge, columns.project == project, columns.number == number
