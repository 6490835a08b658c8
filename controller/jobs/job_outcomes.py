"""How jobs stand, from the runs of their minions. Pure.

A run is open until its minion has returned. While the minion is not connected an open run counts as unreachable: what
comes of it later is filed as if it had come at once, and takes that place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import cast, get_args

from controller.schema.jobs import JobMinion, JobOutcome, JobView
from controller.store import RunRecord

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


def outcome_of(run: RunRecord, ending: str, *, connected: bool) -> JobOutcome | None:
    """How a job ended on a minion; None while it goes on there.

    Args:
        run: of the minion.
        ending: `RunResult.ending` of its result; empty where there is none.
        connected: whether the minion is connected now.
    """
    if run.state != "finished":
        return None if connected else "unreachable"
    if ending in _ENDINGS:
        return cast(JobOutcome, ending)
    return _ENDED.get(run.outcome, "failed")


def by_job(runs: Iterable[RunRecord]) -> dict[str, list[RunRecord]]:
    """The runs of each job, one a minion: the newest, where it was asked again. In the order of the runs."""
    found: dict[str, dict[str, RunRecord]] = {}
    for run in runs:
        found.setdefault(run.job or run.run_id, {})[run.minion] = run
    return {jid: list(each.values()) for jid, each in found.items()}


def job_view(jid: str, runs: Sequence[RunRecord], minions: Sequence[JobMinion]) -> JobView:
    """A job in a line, from its runs and what became of them."""
    first = runs[0]
    goes_on = any(run.state != "finished" for run in runs)
    return JobView(
        jid=jid,
        fun=first.fun or first.kind,
        args=first.args,
        user=first.user,
        created=min(run.created for run in runs),
        finished=None if goes_on else max(run.finished or run.created for run in runs),
        minions=len(runs),
        running=sum(one.outcome is None for one in minions),
        outcomes=dict(Counter(one.outcome for one in minions if one.outcome is not None)),
    )
