"""Says what the metrics look at when somebody scrapes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from controller.compilation.build_reconciler import BuildReconciler
from controller.composition.messages import WireParts
from controller.composition.shared import Shared
from controller.config.settings import ControllerSettings
from controller.config.values import MOST_SINGLE_SERIES
from controller.fleet_status.fleet_status import FleetStatus
from controller.observe.certificate_times import FileTimes, certificate_end, written_at
from controller.observe.metrics import Metrics
from controller.observe.process_metrics import ProcessSources
from controller.observe.relay_metrics import RelayMetrics
from controller.reactions.reactor import Reactor
from controller.reconcile.reconciler import Reconciler
from controller.reconcile.status import Status
from controller.sessions.room import Room
from controller.sessions.sessions import KeyRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapedParts:
    """What is looked at."""

    wire: WireParts
    room: Room
    reconciler: Reconciler
    builds: BuildReconciler
    reactor: Reactor
    status: Status
    fleet_status: FleetStatus


def compose_metrics(shared: Shared, parts: ScrapedParts) -> None:
    """Have the metrics look at the parts."""
    metrics, settings, server = shared.metrics, shared.resources.settings, parts.wire.server
    metrics.watch_strangers(server.stranger_connections, server.stranger_bytes)
    RelayMetrics(metrics.registry, server.relays)
    metrics.watch_minions(parts.status.samples)
    metrics.minions.totals = lambda: parts.fleet_status.totals
    metrics.minions.is_per_minion = partial(_is_per_minion, settings, shared.keyring)
    tls, executor_cert = settings.api.tls, settings.compile_executor_tls_cert
    certificates = {"api": tls.certificate if tls else None, "compile-executor": executor_cert}
    key = {"controller": settings.pki_dir / "controller.key"}
    metrics.process.sources = ProcessSources(
        version=saltern_version(),
        queues={
            "builds": parts.builds.waiting,
            "documents": parts.room.__len__,
            "events": shared.event_log.waiting,
            "messages": parts.wire.backpressure.waiting,
            "reactions": parts.reactor.waiting,
            "reconcile": parts.reconciler.waiting,
        },
        message_lag=parts.wire.backpressure.lag,
        keys=shared.keyring.states,
        expiries=FileTimes(_given(certificates), certificate_end, time.monotonic).times,
        key_times=FileTimes(key, written_at, time.monotonic).times,
    )


def send_traces(settings: ControllerSettings, metrics: Metrics) -> Callable[[], None]:
    """Have traces of pushes sent where the configuration says so; what ends that, and may take some seconds."""
    if not settings.otlp_endpoint:
        return _nothing
    from controller.observe.tracing.otlp import OtlpSpans  # takes 7 MB, and is an extra

    spans = OtlpSpans(settings.otlp_endpoint, saltern_version(), metrics.spans_sent)
    metrics.traces.spans = spans
    return spans.close


def _nothing() -> None:
    """Nothing is sent."""


def _is_per_minion(settings: ControllerSettings, keyring: KeyRegistry) -> bool:
    if settings.metrics_per_minion == "auto":
        return keyring.count_accepted() <= MOST_SINGLE_SERIES
    return settings.metrics_per_minion == "true"


def _given(files: dict[str, Path | None]) -> dict[str, Path]:
    return {name: file for name, file in files.items() if file is not None}


def saltern_version() -> str:
    """Of the installed program; `unknown` where it runs without being installed."""
    try:
        return version("saltern")
    except PackageNotFoundError:
        return "unknown"
