"""Revisions and what a search finds, as the API shows them. Called by the service, in threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from controller.schema.fleet.listings import (
    RevisionPage,
    RevisionsQuery,
    RevisionView,
    SearchHit,
    SearchQuery,
    SearchView,
)
from controller.store import RunRecord, Store
from controller.store.jobs.table import JobRecord
from controller.store.records import RevisionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionMarks:
    """What is known of revisions beside the store."""

    live: str
    """Digest of the live one; empty: there is none."""
    quarantined: frozenset[str]
    """Digests of those that were taken back."""


def revision_page(store: Store, query: RevisionsQuery, marks: RevisionMarks) -> RevisionPage:
    """Some of the revisions that are meant, newest first."""
    found, total = store.revisions.page(query.text, query.offset, query.limit)
    return RevisionPage(revisions=_views(store, found, marks), total=total, offset=query.offset)


def search(store: Store, query: SearchQuery, minions: Iterable[str]) -> SearchView:
    """Minions, revisions, runs and jobs that have a text in them.

    Args:
        store: has all but the minions.
        query: what is looked for, and how many of each kind are told.
        minions: ids of all that are accepted.
    """
    wanted, limit = query.q.casefold(), query.limit
    named = sorted(each for each in minions if wanted in each.casefold())
    revisions, _ = store.revisions.page(query.q, 0, limit)
    hits = [SearchHit(kind="minion", name=each) for each in named[:limit]]
    hits += [
        SearchHit(kind="revision", name=each.label, text=each.subject or each.error, time=each.first_seen)
        for each in revisions
    ]
    hits += map(_run_hit, store.search.runs(query.q, limit))
    jids = store.search.jobs(query.q, limit)
    jobs = store.jobs.many(jids)
    hits += [_job_hit(jobs[each]) for each in jids if each in jobs]
    return SearchView(hits=tuple(hits))


def _run_hit(run: RunRecord) -> SearchHit:
    words = [run.minion, run.kind, run.fun, run.args, run.outcome or run.state]
    text = " ".join(each for each in words if each)
    return SearchHit(
        kind="run", name=run.run_id, text=f"{text}: {run.summary}" if run.summary else text, time=run.created
    )


def _job_hit(job: JobRecord) -> SearchHit:
    words = [job.fun, job.args, f"on {job.tgt}" if job.tgt else "", f"by {job.user}" if job.user else ""]
    return SearchHit(kind="job", name=job.jid, text=" ".join(each for each in words if each), time=job.created)


def _views(store: Store, records: Sequence[RevisionRecord], marks: RevisionMarks) -> tuple[RevisionView, ...]:
    counts = store.revisions.minions_changed([each.digest for each in records])
    return tuple(
        RevisionView(
            revision=each.label,
            digest=each.digest,
            commit=each.commit,
            author=each.author,
            subject=each.subject,
            committed_at=each.committed_at,
            first_seen=each.first_seen,
            live_since=None if each.error else each.first_seen,
            live=each.digest == marks.live,
            error=each.error,
            compile_error=each.compile_error,
            changed=counts[each.digest].changed if each.digest in counts else 0,
            failed=counts[each.digest].failed if each.digest in counts else 0,
            quarantined=each.digest in marks.quarantined,
        )
        for each in records
    )
