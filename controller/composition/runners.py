"""Wires runners and wheels."""

from __future__ import annotations

from functools import partial

from controller.composition.shared import Shared
from controller.jobs.jobs import Jobs
from controller.runners.context import RunnerPorts
from controller.runners.runner_jobs import RunnerJobs


def compose_runners(shared: Shared, jobs: Jobs) -> RunnerJobs:
    """What calls functions of the controller."""
    settings = shared.resources.settings
    ports = RunnerPorts(
        store=shared.resources.store,
        sessions=shared.sessions,
        jobs=jobs,
        targets=shared.targets,
        bus=shared.bus,
        live=shared.live,
        settings=settings,
        clock=shared.clock,
    )
    return RunnerJobs(
        ports=ports,
        ids=shared.ids,
        metrics=shared.metrics,
        limits=settings.limits.runner,
        keep_runs=settings.keep_runs,
        keep_bytes=settings.limits.minion.result_bytes,
        on_refusal=partial(shared.metrics.limit_refused, "runner"),
    )
