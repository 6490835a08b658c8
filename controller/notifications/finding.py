"""What there is to notify of, from what a look at the fleet saw and the store has. Pure.

All of it follows from what holds, never from events that came by: a controller that was killed finds the same again.
What happens once is known by a mark: what was seen of it last, which is kept with the messages that came of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from controller.fleet_status.conditions import FleetFacts
from controller.fleet_status.standing import Cause, MinionStanding, Reason
from controller.notifications.grouping import FoundNotices
from controller.notifications.notice import Notice
from controller.reconcile.deciding.observed_state import Sync
from controller.rollouts.rollout import Phase, Rollout
from controller.store import KeyRecord
from controller.store.pull_requests import PullRecord

_TEXT = 1_000
_TITLE = 200
_OF_MINIONS = {
    Reason.RUN_FAILED: ("minion_failed", "the last run failed"),
    Reason.UNREACHABLE: ("minion_lost", "is not connected"),
    Reason.DRIFTED: ("minion_drifted", "drifted"),
    Reason.TAKEN_BACK: ("minion_taken_back", "was taken back"),
    Reason.UNCONFIRMED: ("minion_unconfirmed", "waits for somebody to confirm what it applied"),
    Reason.COMPILE_ERROR: ("compile_broken", "does not compile"),
}
_WAITING = {
    Phase.PENDING: "waits for approvals",
    Phase.WAITING: "waits for somebody to promote it",
    Phase.CONFIRMING: "waits for somebody to confirm it",
}
_STOPPED = {Phase.FAILED: "stopped", Phase.ROLLED_BACK: "was rolled back"}
ROLLOUTS, REVISION, LEADER = "rollouts", "revision", "leader"
"""Names of marks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFleet:
    """What was seen at a moment."""

    minions: Sequence[MinionStanding] = ()
    facts: FleetFacts = field(default_factory=FleetFacts)
    rollouts: Sequence[Rollout] = ()
    """The newest first."""
    pulls: Sequence[PullRecord] = ()
    keys: Sequence[KeyRecord] = ()
    """That wait."""
    live: str = ""
    """Label of the live revision."""
    leader: str = ""
    """Names this controller's lease; empty without one."""
    host: str = ""
    """Where this controller runs."""
    at: float = 0.0


def find(seen: SeenFleet, marks: Mapping[str, str]) -> tuple[FoundNotices, dict[str, str]]:
    """What holds, what happened since the marks, and the marks of now. At the first look nothing has happened."""
    conditions = [*_of_minions(seen.minions), *_of_fleet(seen), *_of_pulls(seen.pulls), *_of_keys(seen.keys)]
    conditions += _of_rollout(seen.rollouts[0]) if seen.rollouts else ()
    now = dict(marks)
    happened = [*_finished(seen, marks, now), *_applied(seen, marks, now), *_leads(seen, marks, now)]
    awaited = {one.minion for one in seen.minions if one.awaited}
    unfetched = not seen.facts.fetched

    def unknown(notice: Notice) -> bool:
        if notice.kind == "remote_unreachable":
            return unfetched and notice.subject not in seen.facts.remotes
        return notice.kind == "minion_lost" and notice.minion in awaited

    known = {one.key: one for one in conditions}
    return FoundNotices(conditions=known, unknown=unknown, happened=tuple(happened)), now


def _of_minions(minions: Sequence[MinionStanding]) -> Iterator[Notice]:
    for one in minions:
        for cause in one.causes:
            if cause.reason in _OF_MINIONS and not (cause.reason is Reason.UNREACHABLE and one.awaited):
                yield _of_minion(one, cause)


def _of_minion(one: MinionStanding, cause: Cause) -> Notice:
    kind, what = _OF_MINIONS[cause.reason]
    return Notice(
        kind=kind,
        subject=one.minion,
        title=f"{one.minion} {what}" if cause.reason is not Reason.RUN_FAILED else f"{one.minion}: {what}",
        text=cause.message[:_TEXT],
        minion=one.minion,
        environments=one.saltenvs,
        revision=one.attempted,
        since=cause.since or 0.0,
        acknowledged=one.paused,
    )


def _of_fleet(seen: SeenFleet) -> Iterator[Notice]:
    if seen.facts.refused:
        text = seen.facts.refused[:_TEXT]
        yield Notice(kind="revision_refused", subject="fleet", title="The newest revision is not live", text=text)
    for remote, error in seen.facts.remotes.items():
        if error:
            title = f"The remote {remote} cannot be fetched"
            yield Notice(kind="remote_unreachable", subject=remote, title=title, text=error[:_TEXT])


def _of_rollout(rollout: Rollout) -> Iterator[Notice]:
    """The newest one alone: what an older one wanted is over."""
    for kind, phases in (("rollout_waiting", _WAITING), ("rollout_stopped", _STOPPED)):
        if rollout.phase in phases:
            yield Notice(
                kind=kind,
                subject=rollout.id,
                title=f"The rollout of {rollout.label} {phases[rollout.phase]}",
                text=_told(rollout),
                revision=rollout.label,
                since=rollout.since,
            )


def _told(rollout: Rollout) -> str:
    released = sum(len(each.minions) for each in rollout.released)
    lines = [f"{rollout.id}: {released} of {rollout.size} minions released", rollout.about, rollout.why]
    return "\n".join(each for each in lines if each)[:_TEXT]


def _of_pulls(pulls: Sequence[PullRecord]) -> Iterator[Notice]:
    for one in pulls:
        if one.failure and one.state == "open":
            name = f"{one.forge}: {one.project} #{one.number}"
            text = "\n".join(each for each in (one.title[:_TITLE], one.failure[:_TEXT], one.url) if each)
            title = f"The preview of {name} cannot be made"
            yield Notice(kind="preview_failing", subject=name, title=title, text=text, since=one.head_at)


def _of_keys(keys: Sequence[KeyRecord]) -> Iterator[Notice]:
    for one in keys:
        title = f"The key of {one.id} waits to be accepted"
        subject = f"{one.id} {one.fingerprint}"
        yield Notice(kind="key_pending", subject=subject, title=title, text=one.fingerprint, since=one.first_seen)


def _finished(seen: SeenFleet, marks: Mapping[str, str], now: dict[str, str]) -> Iterator[Notice]:
    finished = [one for one in seen.rollouts if one.phase is Phase.COMPLETED]
    now[ROLLOUTS] = json.dumps([one.id for one in finished])
    if ROLLOUTS not in marks:
        return
    known = set(json.loads(marks[ROLLOUTS]))
    # Those that fell out of the newest are not new: rollouts are listed by when they began.
    for one in reversed(finished):
        if one.id not in known:
            yield Notice(
                kind="rollout_finished",
                subject=one.id,
                title=f"The rollout of {one.label} is complete",
                text=_told(one),
                revision=one.label,
                since=one.since,
            )


def _applied(seen: SeenFleet, marks: Mapping[str, str], now: dict[str, str]) -> Iterator[Notice]:
    everywhere = bool(seen.minions) and all(
        one.sync is Sync.SYNCED and one.attempted == seen.live for one in seen.minions
    )
    if REVISION not in marks:
        now[REVISION] = seen.live if everywhere else ""
    elif seen.live and everywhere and marks[REVISION] != seen.live:
        now[REVISION] = seen.live
        count = len(seen.minions)
        title = f"All {count} minions have {seen.live}" if count > 1 else f"{seen.minions[0].minion} has {seen.live}"
        yield Notice(kind="revision_applied", subject=seen.live, title=title, revision=seen.live, since=seen.at)


def _leads(seen: SeenFleet, marks: Mapping[str, str], now: dict[str, str]) -> Iterator[Notice]:
    if not seen.leader or marks.get(LEADER) == seen.leader:
        return
    now[LEADER] = seen.leader
    if LEADER in marks:
        title = f"The controller on {seen.host} leads now"
        yield Notice(kind="leader_changed", subject=seen.leader, title=title, since=seen.at)
