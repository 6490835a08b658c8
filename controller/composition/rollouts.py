"""Wires rollouts and rollbacks, which are made before what takes trees live, and told of that afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from controller.compilation.source_reconciler import SourceReconciler
from controller.composition.shared import Shared
from controller.observe.rollout_metrics import RolloutMetrics
from controller.reconcile.reconciler import Reconciler
from controller.rollouts.gates import Gates
from controller.rollouts.minion_rollbacks import MinionRollbacks
from controller.rollouts.quarantine import Quarantine
from controller.rollouts.rollout import Rollout
from controller.rollouts.rollouts import RolloutReconciler
from controller.rollouts.unconfirmed import UnconfirmedMinions
from gitfs.source import Trees


@dataclass(slots=True)
class GoLive:
    """Has the remotes' trees taken live, once there is who does it."""

    sources: SourceReconciler | None = None

    async def __call__(self) -> None:
        """Take them, and wait until minions are compiled."""
        if self.sources is not None:
            await self.sources.go_live()


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetParts:
    """How revisions go to the fleet, and are taken back."""

    rollouts: RolloutReconciler
    quarantine: Quarantine
    minion_rollbacks: MinionRollbacks
    unconfirmed: UnconfirmedMinions
    go_live: GoLive

    async def begin(self, trees: Trees) -> None:
        """All minions are compiled against trees that went live."""
        self.minion_rollbacks.sweep()
        await self.rollouts.begin(trees)


def compose_rollouts(shared: Shared, reconciler: Reconciler) -> FleetParts:
    """Rollouts, and the revisions that were taken back."""
    store, settings, go_live = shared.resources.store, shared.resources.settings, GoLive()
    quarantine = Quarantine(
        store=store,
        source=shared.resources.source,
        live=shared.live,
        bus=shared.bus,
        clock=shared.clock,
        go_live=go_live,
    )

    async def roll_back(rollout: Rollout) -> None:
        await quarantine.roll_back("", user="", why=f"rollout {rollout.id}: {rollout.why}")

    metrics = RolloutMetrics(shared.metrics.registry)
    rollouts = RolloutReconciler(
        store=store,
        live=shared.live,
        sessions=shared.sessions,
        documents=shared.documents,
        reconciler=reconciler,
        bus=shared.bus,
        metrics=metrics,
        ids=shared.ids,
        gates=Gates(
            store=store,
            clock=shared.clock,
            prometheus_url=settings.prometheus_url,
            commands=settings.rollout_commands,
        ),
        roll_back=roll_back,
        is_pinned=quarantine.is_pinned,
        is_taken_back=quarantine.is_taken_back,
        clock=shared.clock,
    )
    reconciler.rollouts = rollouts
    held = MinionRollbacks(
        store=store,
        quarantine=quarantine,
        source=shared.resources.source,
        files=shared.files,
        bus=shared.bus,
        wake=reconciler.wake,
        look=reconciler.step,
        ids=shared.ids,
        clock=shared.clock,
    )
    unconfirmed = UnconfirmedMinions(
        rollbacks=held, live_label=lambda: shared.live.label, on_taken_back=metrics.taken_back
    )
    reconciler.confirmations.take_back = unconfirmed.add
    reconciler.confirmations.hold = unconfirmed.went_back
    return FleetParts(
        rollouts=rollouts, quarantine=quarantine, minion_rollbacks=held, unconfirmed=unconfirmed, go_live=go_live
    )
