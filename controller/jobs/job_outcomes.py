"""How jobs stand, from the runs of their minions. Pure.

A run is open until its minion has returned. While the minion is not connected an open run counts as unreachable: what
comes of it later is filed as if it had come at once, and takes that place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import cast, get_args

from controller.schema.jobs import JobMinion, JobOutcome, JobView
from controller.store import RunRecord
from controller.store.jobs.listing import JobCounts
from controller.store.jobs.table import JobRecord

UNREACHABLE = "unreachable"
"""The outcome of a run whose minion was not connected when the job began: it was never asked."""
_ENDINGS = frozenset(get_args(JobOutcome))
_ENDED: Mapping[str, JobOutcome] = {
    "ok": "ok",
    "pending": "ok",
    "changed": "changed",
    "failed": "failed",
    "error": "failed",
    "unreachable": "unreachable",
    "superseded": "cancelled",
    "lost": "timed out",
}


def outcome_of(run: RunRecord, *, connected: bool) -> JobOutcome | None:
    """How a job ended on a minion; None while it goes on there.

    Args:
        run: of the minion.
        connected: whether the minion is connected now.
    """
    if run.state != "finished":
        return None if connected else "unreachable"
    return _ended(run.outcome, run.ending)


def _ended(outcome: str, ending: str) -> JobOutcome:
    if outcome in ("failed", "error") and ending in _ENDINGS:
        return cast(JobOutcome, ending)
    return _ENDED.get(outcome, "failed")


def by_job(runs: Iterable[RunRecord]) -> dict[str, list[RunRecord]]:
    """The runs of each job, one a minion: the newest, where it was asked again. In the order of the runs."""
    found: dict[str, dict[str, RunRecord]] = {}
    for run in runs:
        found.setdefault(run.job or run.run_id, {})[run.minion] = run
    return {jid: list(each.values()) for jid, each in found.items()}


def never_asked(minion: str, *, connected: bool, driven: bool) -> JobMinion:
    """What became of a job on a minion that it means and that has no run of it.

    Args:
        minion: its id.
        connected: whether it is connected now.
        driven: whether somebody asks the minions of this job one after the other, and has not come to this one.
    """
    if driven:
        return JobMinion(minion=minion, connected=connected, summary="waits for its turn")
    why = "never asked: the job was ended, or the controller, before its turn"
    return JobMinion(minion=minion, connected=connected, outcome="cancelled", summary=why)


def job_view(
    jid: str, runs: Sequence[RunRecord], minions: Sequence[JobMinion], job: JobRecord | None = None
) -> JobView:
    """A job in a line.

    Args:
        jid: its id.
        runs: of its minions.
        minions: what became of it on each, of those without a run, too.
        job: how it was asked; None: it is a run of states, or not known any more.
    """
    first = runs[0] if runs else None
    goes_on = any(run.state != "finished" for run in runs) or any(one.outcome is None for one in minions)
    began = job.created if job is not None else min((run.created for run in runs), default=0.0)
    return JobView(
        jid=jid,
        fun=job.fun if job else first.fun or first.kind if first else "",
        args=job.args if job else first.args if first else "",
        user=job.user if job else first.user if first else "",
        target=job.tgt if job else "",
        target_type=job.tgt_type if job else "",
        metadata=dict(job.metadata) if job else {},
        created=began,
        finished=None if goes_on else max((run.finished or run.created for run in runs), default=began),
        minions=len(minions),
        running=sum(one.outcome is None for one in minions),
        outcomes=dict(Counter(one.outcome for one in minions if one.outcome is not None)),
    )


def counted_view(job: JobRecord, counts: JobCounts, connected: Collection[str], *, driven: bool) -> JobView:
    """A job in a line, as `job_view` makes it, from counts.

    Args:
        job: how it was asked.
        counts: of its runs.
        connected: minions that are connected now.
        driven: whether minions without a run wait for their turn.
    """
    outcomes: Counter[JobOutcome] = Counter()
    for group in counts.groups:
        if group.state == "finished":
            outcomes[_ended(group.outcome, group.ending)] += group.minions
    running = sum(minion in connected for minion in counts.open)
    asked = sum(group.minions for group in counts.groups)
    left = max(len(job.minions) - asked, 0)
    outcomes["unreachable"] += len(counts.open) - running
    outcomes["cancelled"] += 0 if driven else left
    running += left if driven else 0
    goes_on = bool(counts.open) or running > 0
    return JobView(
        jid=job.jid,
        fun=job.fun,
        args=job.args,
        user=job.user,
        target=job.tgt,
        target_type=job.tgt_type,
        metadata=dict(job.metadata),
        created=job.created,
        finished=None if goes_on else max((group.last for group in counts.groups), default=job.created),
        minions=asked + left,
        running=running,
        outcomes={outcome: count for outcome, count in outcomes.items() if count},
    )
