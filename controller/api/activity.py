"""What the fleet is doing now, for `saltern top`. Called by the service; what is long is read in a thread."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence

from controller.observe.run_text import progress_text
from controller.schema.fleet.activity import ActiveRun, SlowMinion
from controller.sessions.sessions import Progress, Sessions
from controller.store import RunRecord, Store

MOST_FINISHED = 1000
"""Of the newest runs of states, by which the slowest minions are told."""
_OF_STATES = ("apply", "remediate", "drift")


async def runs_under_way(store: Store, sessions: Sessions, limit: int) -> tuple[tuple[ActiveRun, ...], int]:
    """The oldest runs without a result, with what their minions said last of them; how many there are."""
    there = {session.minion: dict(session.progress) for session in sessions}
    return await asyncio.to_thread(_runs_under_way, store, there, limit)


def _runs_under_way(
    store: Store, there: Mapping[str, Mapping[str, Progress]], limit: int
) -> tuple[tuple[ActiveRun, ...], int]:
    runs, count = store.runs.oldest_open(limit)
    return tuple(_active(run, there.get(run.minion)) for run in runs), count


def _active(run: RunRecord, progress: Mapping[str, Progress] | None) -> ActiveRun:
    known = progress.get(run.run_id) if progress else None
    return ActiveRun(
        run_id=run.run_id,
        job=run.job,
        minion=run.minion,
        kind=run.kind,
        state=run.state,
        fun=run.fun,
        user=run.user,
        created=run.created,
        done=known.said.done if known else 0,
        total=known.said.total if known else 0,
        text=progress_text(known.said) if known else "",
        connected=progress is not None,
    )


async def slowest_minions(store: Store, limit: int) -> tuple[SlowMinion, ...]:
    """Those whose runs of states took longest, of the newest `MOST_FINISHED`."""
    runs = await asyncio.to_thread(store.runs.newest, kinds=_OF_STATES, limit=MOST_FINISHED)
    return tuple(slowest(runs, limit))


def slowest(runs: Sequence[RunRecord], limit: int) -> list[SlowMinion]:
    """Minions by their longest of these runs; those without a result count for nothing."""
    taken: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        if run.finished is not None:
            taken[run.minion].append(run.seconds)
    found = [
        SlowMinion(minion=minion, runs=len(each), mean_seconds=sum(each) / len(each), most_seconds=max(each))
        for minion, each in taken.items()
    ]
    return sorted(found, key=lambda one: (-one.most_seconds, one.minion))[:limit]
