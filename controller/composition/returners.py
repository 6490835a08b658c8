"""Wires the returners of the controller."""

from __future__ import annotations

from functools import partial

from controller.composition.shared import Shared
from controller.returners.returners import Returners


def compose_returners(shared: Shared) -> Returners:
    """What hands events and jobs to returners."""
    settings = shared.resources.settings
    return Returners(
        settings=settings.returners,
        path=settings.cachedir / "returners" / "spool.sqlite",
        limits=settings.limits.returner,
        message_bytes=settings.limits.reactor.message_bytes,
        life=shared.epoch,
        store=shared.resources.store,
        bus=shared.bus,
        metrics=shared.metrics,
        on_refusal=partial(shared.metrics.limit_refused, "returner"),
        clock=shared.clock,
    )
