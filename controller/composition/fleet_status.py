"""Wires what looks at the fleet as a whole."""

from __future__ import annotations

from controller.composition.compilation import CompilationParts
from controller.composition.rollouts import FleetParts
from controller.composition.shared import Shared
from controller.fleet_status.fleet_status import FleetSources, FleetStatus
from controller.fleet_status.waves import WaveMembers
from controller.observe.fleet_metrics import FleetMetrics
from controller.reconcile.reconciler import Reconciler


def compose_fleet_status(
    shared: Shared, reconciler: Reconciler, compilation: CompilationParts, fleet: FleetParts
) -> FleetStatus:
    """Where the fleet, its environments and its waves stand."""
    resources, sources = shared.resources, compilation.sources
    status = FleetStatus(
        store=resources.store,
        reconciler=reconciler,
        rollouts=fleet.rollouts,
        keyring=shared.keyring,
        sources=FleetSources(
            errors=lambda: {**dict.fromkeys(sources.fetched_at, ""), **sources.fetch_errors},
            names=tuple(each.name for each in resources.source.remotes),
            refused=lambda: sources.error,
        ),
        waves=WaveMembers(store=resources.store, sessions=shared.sessions),
        clock=shared.clock,
        grace=resources.settings.minion_timeout,
    )
    FleetMetrics(shared.metrics.registry, lambda: status.groups)
    return status
