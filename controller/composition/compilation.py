"""Wires what makes documents of trees."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, replace
from functools import partial

from controller.adapters.sdb import Profiles
from controller.compilation.audit.compile_audit import CompileAudit
from controller.compilation.build_reconciler import BuildReconciler
from controller.compilation.builder import Builder
from controller.compilation.called.states_compiler import StatesCompiler
from controller.compilation.cluster.cluster_processes import ClusterProcesses
from controller.compilation.cluster.dask_cluster import DaskCluster
from controller.compilation.cluster.executor_report import ExecutorReport
from controller.compilation.cluster.steps import LaneSettings
from controller.compilation.compile_pool import CompilePool, LocalProcesses, ProcessSource
from controller.compilation.compile_ports import plugins_of, ports_of, vault_of
from controller.compilation.compile_requests import CompileRequests
from controller.compilation.compile_rpc import FleetQuery
from controller.compilation.dependencies.kept import KeptBases
from controller.compilation.dependencies.program import program_digest
from controller.compilation.fact_queries import FactQueries
from controller.compilation.mine import MineStore
from controller.compilation.runners import Runners
from controller.compilation.sandbox_policy import distant_sandbox_policy_of, sandbox_policy_of
from controller.compilation.source_reconciler import SourceReconciler
from controller.compilation.workers.template_codes import TemplateCodes
from controller.composition.rollouts import FleetParts
from controller.composition.shared import Shared
from controller.config.sections import PortOptions
from controller.config.settings import ControllerSettings
from controller.observe.executor_metrics import ExecutorMetrics
from controller.reconcile.reconciler import Reconciler
from controller.sessions.sessions import KeyRegistry, Sessions
from highstate.ports import Decrypt
from wire.server.server import Server

_MOST_WORKERS = 4
"""Unless the configuration says more: each has a memory of its own."""
_FEW_COMPILED = 50
_PREVIEW_NICENESS = 10
_FEW_PREVIEWED = 12
_PREVIEW_WORKERS = 2
"""Each may take `limits: preview: memory_bytes`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilationParts:
    """From trees to documents."""

    pool: CompilePool
    preview_pool: CompilePool
    """For what is not live: its compiles are ended with their asker, and never waited for by live ones."""
    fleet: FleetQuery
    """Answers what templates ask of the fleet."""
    requests: CompileRequests
    mines: MineStore
    profiles: Profiles
    states: StatesCompiler
    """Compiles what calls ask for."""
    builds: BuildReconciler
    audit: CompileAudit
    sources: SourceReconciler
    executor: ExecutorReport


def compose_compilation(shared: Shared, server: Server, reconciler: Reconciler, fleet: FleetParts) -> CompilationParts:
    """All parts between the trees and the stored documents."""
    settings, store = shared.resources.settings, shared.resources.store
    mines = MineStore(
        store=store,
        pillar_of=shared.targets.pillar_of,
        nodegroups=shared.targets.nodegroups,
        accepted=lambda: shared.keyring.accepted,
        keys_version=partial(_fleet_version, shared.keyring, shared.sessions),
        limits=settings.limits.pattern,
        on_refusal=partial(shared.metrics.limit_refused, "pattern"),
    )
    if (vault := vault_of(settings.ports)) is not None:
        vault.use_pillars(shared.targets.pillar_of)
    profiles = Profiles(settings.sdb, partial(_decrypt_of, settings.ports))
    runners = Runners(
        store=store,
        sessions=shared.sessions,
        mines=mines,
        plugins=partial(plugins_of, settings.ports),
        profiles=profiles,
    )
    source, executor = _process_source(shared.resources.settings, shared.metrics.executor)
    pool = _live_pool(shared, runners, source)
    preview_pool = _preview_pool(shared, runners, pool.codes)
    requests = _requests(shared)
    builds = _builds(
        shared,
        server,
        requests,
        Builder(
            compiler=pool,
            store=store,
            bus=shared.bus,
            metrics=shared.metrics,
            clock=shared.clock,
            reconciler=reconciler,
            mines=mines,
            redactor=shared.redactor,
            bases=_bases(shared),
        ),
        runners,
    )
    sources = _sources(shared, builds, reconciler, fleet)
    return CompilationParts(
        pool=pool,
        preview_pool=preview_pool,
        fleet=runners.answer,
        requests=requests,
        mines=mines,
        profiles=profiles,
        states=_states(shared, pool, requests, builds),
        builds=builds,
        audit=_audit(shared, builds, requests, pool),
        sources=sources,
        executor=executor,
    )


def _audit(shared: Shared, builds: BuildReconciler, requests: CompileRequests, pool: CompilePool) -> CompileAudit:
    return CompileAudit(
        builds=builds,
        requests=requests,
        compiler=pool,
        store=shared.resources.store,
        metrics=shared.metrics,
        interval=shared.resources.settings.compile_audit_interval,
    )


def _states(shared: Shared, pool: CompilePool, requests: CompileRequests, builds: BuildReconciler) -> StatesCompiler:
    return StatesCompiler(
        compiler=pool,
        requests=requests,
        facts=builds.facts,
        live=shared.live,
        redactor=shared.redactor,
        at_once=shared.resources.settings.limits.state_call.minions_at_once,
    )


def _live_pool(shared: Shared, runners: Runners, source: ProcessSource) -> CompilePool:
    settings = shared.resources.settings
    return CompilePool(
        few=_FEW_COMPILED,
        source=source,
        timeout=settings.compile_timeout,
        fleet=runners.answer,
        limits=settings.limits.compile_worker,
        on_refusal=partial(shared.metrics.limit_refused, "compile-worker"),
    )


def _process_source(settings: ControllerSettings, metrics: ExecutorMetrics) -> tuple[ProcessSource, ExecutorReport]:
    """Where the processes are that compile what is live: `compile_executor`; and what tells of them."""
    options, cluster = settings.executor, None
    if not options.is_local:
        cluster = DaskCluster(options, secrets.token_hex(8), metrics.workers)
    report = ExecutorReport(options.address, metrics, cluster)
    local = LocalProcesses(
        workers=settings.compile_workers or min(len(os.sched_getaffinity(0)), _MOST_WORKERS),
        timeout=settings.compile_timeout,
        sandbox_policy=sandbox_policy_of(settings),
        limits=settings.limits.compile_worker,
        compiled=report.compiled,
    )
    if cluster is None:
        return local, report
    cluster.start()
    on_workers = LaneSettings(
        timeout=settings.compile_timeout,
        sandbox_policy=distant_sandbox_policy_of(settings),
        limits=settings.limits.compile_worker,
    )
    return ClusterProcesses(cluster, on_workers, local, report.compiled, report.fell_back), report


def _preview_pool(shared: Shared, runners: Runners, codes: TemplateCodes) -> CompilePool:
    settings = shared.resources.settings
    return CompilePool(
        workers=min(_PREVIEW_WORKERS, os.cpu_count() or 1),
        few=_FEW_PREVIEWED,
        in_order=True,
        codes=codes,
        timeout=settings.compile_timeout,
        sandbox_policy=sandbox_policy_of(settings),
        fleet=runners.answer,
        limits=replace(settings.limits.compile_worker, memory_bytes=settings.limits.preview.memory_bytes),
        on_refusal=partial(shared.metrics.limit_refused, "compile-worker"),
        ends_with_listener=True,
        idle_seconds=settings.limits.preview.idle_seconds,
        niceness=_PREVIEW_NICENESS,
    )


def _builds(
    shared: Shared, server: Server, requests: CompileRequests, builder: Builder, runners: Runners
) -> BuildReconciler:
    facts = FactQueries(
        store=shared.resources.store,
        sessions=shared.sessions,
        server=server,
        metrics=shared.metrics,
        clock=shared.clock,
        live=shared.live,
    )
    return BuildReconciler(
        builder=builder,
        facts=facts,
        mines=runners.mines,
        runners=runners,
        requests=requests,
        live=shared.live,
        sessions=shared.sessions,
        bus=shared.bus,
        clock=shared.clock,
        refresh_seconds=shared.resources.settings.pillar_cache_ttl,
    )


def _sources(shared: Shared, builds: BuildReconciler, reconciler: Reconciler, fleet: FleetParts) -> SourceReconciler:
    sources = SourceReconciler(
        source=shared.resources.source,
        live=shared.live,
        builds=builds,
        store=shared.resources.store,
        reconciler=reconciler,
        files=shared.files,
        bus=shared.bus,
        metrics=shared.metrics,
        clock=shared.clock,
        instead_of=fleet.quarantine.instead_of,
        after_compile=fleet.begin,
        fileserver_events=shared.resources.settings.fileserver_events,
    )
    fleet.go_live.sources = sources
    return sources


def _fleet_version(keyring: KeyRegistry, sessions: Sessions) -> int:
    """Another number whenever other keys are accepted, or others are connected."""
    return keyring.version + sessions.version


def _requests(shared: Shared) -> CompileRequests:
    settings = shared.resources.settings
    return CompileRequests(
        store=shared.resources.store,
        live=shared.live,
        language=settings.language,
        ports=settings.ports,
        check_rate=settings.compile_check_rate,
    )


def _bases(shared: Shared) -> KeptBases:
    settings = shared.resources.settings
    # Where Python of a tree may read what nobody records, a document may be another one at any time.
    sees_more = not settings.compile_confinement or settings.compile_grants
    return KeptBases(store=shared.resources.store, program=None if sees_more else program_digest)


def _decrypt_of(options: PortOptions) -> Decrypt | None:
    return ports_of(options).decrypt
