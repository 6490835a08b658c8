"""Pull requests as lists show them, with the one thing that each of them waits for. Pure; asks no forge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from controller.forges.client import CheckState
from controller.pull_requests.instructions import PullRules, RunningPreview
from controller.pull_requests.preview_queue import PullKey, QueueTurn
from controller.pull_requests.wanted_previews import base_moved
from controller.schema.pulls import HeldHead, PullView
from controller.store import HoldRecord
from controller.store.pull_requests import PullRecord


def pull_view(
    record: PullRecord,
    rules: PullRules,
    running: RunningPreview | None,
    base: str,
    turn: QueueTurn | None = None,
    holds: Sequence[HoldRecord] = (),
) -> PullView:
    """One open pull request.

    Args:
        record: as it was left after the last look.
        rules: for it.
        running: the preview that waits or is made.
        base: names what is live of all remotes.
        turn: of `running` in the queue.
        holds: what minions hold of any pull request.
    """
    counts = record.counts
    view = PullView(
        forge=record.forge,
        project=record.project,
        number=record.number,
        title=record.title,
        url=record.url,
        head=record.head,
        base_branch=record.base_branch,
        from_fork=record.from_fork,
        draft=record.draft,
        check=record.check_state if record.check_head == record.head else "",
        previewed_head=record.previewed.head if record.previewed else "",
        approved_by=record.approved_by if record.approved == record.head else "",
        waiting_for=waiting_for(record, rules, running, base),
        held=held_of(record, holds),
        **_preview_state(record, running, turn),
    )
    if counts is None:
        return view
    return replace(
        view,
        base=counts.base,
        previewed_at=counts.made_at,
        minions=counts.minions,
        changed=counts.changed,
        classes=counts.classes,
        broken=counts.broken,
        unknown=counts.unknown,
    )


def held_of(record: PullRecord, holds: Sequence[HoldRecord]) -> tuple[HeldHead, ...]:
    """What minions hold of a pull request, by head."""
    own = [each for each in holds if (each.forge, each.project, each.number) == key_of(record)]
    heads = dict.fromkeys((each.head, each.user, each.at, each.until) for each in own)
    return tuple(
        HeldHead(
            head=head,
            user=user,
            since=at,
            until=until,
            minions=tuple(each.minion for each in own if (each.head, each.at) == (head, at)),
        )
        for head, user, at, until in heads
    )


def _preview_state(record: PullRecord, running: RunningPreview | None, turn: QueueTurn | None) -> dict[str, Any]:
    if running is not None and turn is not None and not running.command:
        state = "running" if turn.begun else "queued"
        return {"preview": state, "preview_since": turn.since, "restricted": running.preview.restricted}
    if record.failure:
        return {"preview": "failed"}
    done = record.previewed
    if done is None or done.head != record.head:
        return {}
    made_at = record.counts.made_at if record.counts is not None else done.at
    return {"preview": "done", "preview_since": made_at, "restricted": done.restricted}


def key_of(record: PullRecord) -> PullKey:
    """What names it."""
    return PullKey(record.forge, record.project, record.number)


def waiting_for(record: PullRecord, rules: PullRules, running: RunningPreview | None, base: str) -> str:
    """What comes next, for people; empty: nothing but the merge."""
    if rules.branches and record.base_branch not in rules.branches:
        return f"nothing: {record.base_branch} is not previewed"
    asks = f"/saltern preview --commit {record.head[:12]}"
    if record.allowed != record.head and record.draft and not rules.drafts:
        return f"a maintainer: {asks} (a draft)"
    if record.allowed != record.head and record.from_fork and rules.strangers == "none":
        return f"a maintainer: {asks} (a fork)"
    if running is not None and not running.again and not running.command:
        return "the preview"
    if record.failure:
        return f"another try: {record.failure}"
    if record.previewed is None or record.previewed.head != record.head:
        return "a look at the forge"
    return _after_preview(record, rules, running, base)


def _after_preview(record: PullRecord, rules: PullRules, running: RunningPreview | None, base: str) -> str:
    counts = record.counts
    if counts is not None and counts.approvable and not counts.violations and record.approved != record.head:
        return "an approval: /saltern approve"
    if record.check_state == CheckState.FAILURE.value:
        return "its author: the check fails"
    if running is not None:
        return "the preview on the newer base" if running.again else "an answer to a command"
    if base_moved(record, base):
        return "a preview on the newer base"
    return ""
