"""Rollouts as people see them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec.structs import replace

from controller.rollouts.decision import Standing
from controller.rollouts.minion_rollbacks import MinionRollback
from controller.rollouts.quarantine import TakenBack
from controller.rollouts.rollout import Batch, Phase, Rollout
from controller.schema.fleet.rollouts import BatchView, QuarantineView, RolloutView
from controller.store.rollouts.quarantine import QuarantineRecord

_SHOWN = 20
"""Names of minions of one batch."""


def rollout_view(rollout: Rollout, standings: Mapping[str, Standing] | None = None) -> RolloutView:
    """One rollout.

    Args:
        rollout: the record.
        standings: how its minions are doing, for its batches; None: without batches.
    """
    batches = (
        ()
        if standings is None
        else tuple(_batch_view(rollout, place, batch, standings) for place, batch in enumerate(rollout.batches))
    )
    return RolloutView(
        id=rollout.id,
        revision=rollout.label,
        about=rollout.about,
        phase=rollout.phase.value,
        since=rollout.since,
        why=rollout.why,
        created=rollout.created,
        minions=rollout.size,
        released=sum(len(each.minions) for each in rollout.released),
        approvals=tuple(each.user for each in rollout.approvals),
        needs=rollout.needs,
        batches=batches,
    )


def _batch_view(rollout: Rollout, place: int, batch: Batch, standings: Mapping[str, Standing]) -> BatchView:
    released, done = place < len(rollout.released), place < rollout.current or rollout.phase is Phase.COMPLETED
    found = Counter(standings.get(minion, Standing.PENDING) for minion in batch.minions) if released else Counter()
    if released and not standings:  # of an earlier one nothing is known any more
        found = Counter()
    return BatchView(
        wave=batch.wave,
        canary=batch.canary,
        state="done" if done else "released" if released else "waiting",
        minions=len(batch.minions),
        good=found[Standing.GOOD],
        failed=found[Standing.FAILED],
        pending=found[Standing.PENDING],
        outside_window=found[Standing.WAITING],
        absent=found[Standing.ABSENT],
        held=found[Standing.HELD],
        names=batch.minions[:_SHOWN],
        failures=tuple(m for m in batch.minions if released and standings.get(m) is Standing.FAILED)[:_SHOWN],
    )


def quarantine_view(record: QuarantineRecord) -> QuarantineView:
    """One revision that was taken back."""
    return QuarantineView(
        revision=record.label, back_to=record.back_label, user=record.user, why=record.why, at=record.at
    )


def taken_back_view(done: TakenBack) -> QuarantineView:
    """What a rollback answers."""
    return replace(quarantine_view(done.record), passed=done.passed, broken=done.broken)


def minion_rollback_view(one: MinionRollback) -> QuarantineView:
    """Minions that were taken back."""
    return QuarantineView(
        revision=one.taken,
        back_to=one.back_to,
        user=one.user,
        why=one.why,
        at=one.at,
        rollback=one.id,
        minions=one.minions,
    )
