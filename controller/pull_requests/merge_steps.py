"""After the merge: when the comment is completed with what happened. Pure; a part of `decision`."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from controller.forges.client import PullRequest, PullState
from controller.pull_requests.comment_steps import comment_steps, is_said
from controller.pull_requests.instructions import Look, LookAgainAt, PullInstruction, PullRules, Record, Say
from controller.store.pull_requests import PullRecord

SHOW_SECONDS = 300.0
"""After a merge: until the comment is completed although runs are waited for."""

FINAL_SECONDS = 86_400.0
"""After a merge: until nothing more is waited for."""

SOONEST_SECONDS = 1.0
"""Until runs that are waited for are looked at again, at first: most end within seconds."""
LOOK_SECONDS = 10.0
"""The same after a while."""


def next_look(began: float, now: float) -> float:
    """When to look again, in seconds since the epoch, at runs that began at `began`."""
    return now + min(LOOK_SECONDS, max(SOONEST_SECONDS, (now - began) / 4))


def merge_is_due(look: Look, now: float) -> bool:
    """Whether there is something to tell of a merge; until then the forge is not asked for anything."""
    age, outcome, applied = now - look.record.merged_at, look.outcome, look.record.applied
    if applied is not None and not applied.released and (look.merged_minions or not look.holds):
        return True
    if outcome is None or outcome.complete or age >= FINAL_SECONDS:
        return True
    return age >= SHOW_SECONDS and not is_said(look)


def pull_of(record: PullRecord) -> PullRequest:
    """A merged pull request as it was seen last, while the forge need not be asked."""
    return PullRequest(
        project=record.project,
        number=record.number,
        title=record.title,
        author="",
        state=PullState(record.state),
        head=record.head,
        base_branch=record.base_branch,
        merge_commit=record.merge_commit,
        updated=record.updated,
        url=record.url,
    )


def merge_steps(look: Look, rules: PullRules, now: float) -> Iterator[PullInstruction]:
    """The comment is completed when all minions are done, or as far as they are after a while."""
    record, outcome = look.record, look.outcome
    if record.complete:
        return
    if look.report is None or not record.comment or outcome is None:
        yield Record(replace(record, complete=True))
        return
    age = now - record.merged_at
    final = outcome.complete or age >= FINAL_SECONDS
    shown = list(comment_steps(look, rules)) if final or age >= SHOW_SECONDS else []
    yield from shown
    if shown:
        return
    if final:
        yield Record(replace(record, complete=True), (Say("completed", {"commit": outcome.commit}),))
    else:
        yield LookAgainAt(next_look(record.merged_at, now))
