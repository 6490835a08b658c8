"""Wires runners and wheels."""

from __future__ import annotations

from functools import cache, partial

from controller.compilation.source_reconciler import SourceReconciler
from controller.composition.compilation import CompilationParts
from controller.composition.shared import Shared
from controller.engines.engines import Engines
from controller.jobs.jobs import Jobs
from controller.orchestration.compiler import OrchestrationCompiler
from controller.orchestration.orchestrator import Orchestrator
from controller.reactions.controller_machine import controller_id, own_grains
from controller.runners.context import KeyPort, RunnerPorts
from controller.runners.processes.processes import RunnerProcesses
from controller.runners.runner_jobs import RunnerJobs
from gitfs.config.urls import redact
from reactors.rules.reactor_changes import ReactorChanges


def compose_runners(shared: Shared, compilation: CompilationParts, jobs: Jobs, keys: KeyPort) -> RunnerJobs:
    """What calls functions of the controller."""
    settings = shared.resources.settings
    refused = partial(shared.metrics.limit_refused, "runner")
    orchestrator = Orchestrator(
        own_id=controller_id(),
        compiler=OrchestrationCompiler(
            compiler=compilation.pool,
            live=shared.live,
            language=settings.language,
            ports=settings.ports,
            grains=cache(own_grains),
        ),
        limits=settings.limits.orchestration,
        resumes=settings.resume_orchestrations,
    )
    ports = RunnerPorts(
        store=shared.resources.store,
        sessions=shared.sessions,
        jobs=jobs,
        targets=shared.targets,
        bus=shared.bus,
        live=shared.live,
        mines=compilation.mines,
        profiles=compilation.profiles,
        keys=keys,
        own_key=shared.keypair.public,
        processes=RunnerProcesses(settings=settings, live=shared.live, on_refusal=refused),
        fetch=partial(_fetch, shared, compilation.sources),
        orchestrations=orchestrator,
        reactors=ReactorChanges(settings.reactor),
        settings=settings,
        clock=shared.clock,
    )
    runners = RunnerJobs(
        ports=ports,
        ids=shared.ids,
        metrics=shared.metrics,
        limits=settings.limits.runner,
        keep_runs=settings.keep_runs,
        keep_bytes=settings.limits.minion.result_bytes,
        on_refusal=refused,
    )
    orchestrator.use(runners)
    return runners


def compose_engines(shared: Shared, runners: RunnerJobs) -> Engines:
    """What keeps the engines of the administrator running."""
    settings = shared.resources.settings
    refused = partial(shared.metrics.limit_refused, "engine")
    return Engines(
        configured=settings.engines,
        ports=runners.ports,
        processes=RunnerProcesses(settings=settings, live=shared.live, on_refusal=refused),
        ids=shared.ids,
        limits=settings.limits.engine,
        on_refusal=refused,
    )


def _fetch(shared: Shared, sources: SourceReconciler, remote: str | None, user: str) -> int:
    """Have a remote, or all, fetched; how many those are."""
    wanted = [remote] if remote else [each.name for each in shared.resources.source.remotes]
    names = [name for each in wanted for name in shared.resources.changes.pushed(each)]
    if names:
        event = shared.bus.publish("saltern/hook", {"remote": redact(remote or ""), "user": user})
        sources.noticed(names, event.id)
    return len(names)
