"""The metrics as Prometheus reads them."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from controller.observe.metrics import Metrics, MinionSample


def series(metrics: Metrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(metrics.exposition().decode())
        for sample in family.samples
    }


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return series(metrics).get((name, frozenset(labels.items())))


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(lambda: 1_000.0)


def test_two_controllers_in_a_process_share_nothing(metrics):
    metrics.reconciled(3)
    assert value(metrics, "saltern_reconciles_total") == 3
    assert value(Metrics(lambda: 0.0), "saltern_reconciles_total") == 0


def test_strangers_are_read_at_each_scrape(metrics):
    held = [3, 4096]
    metrics.watch_strangers(lambda: held[0], lambda: held[1])
    assert value(metrics, "saltern_stranger_connections") == 3
    held[1] = 0
    assert value(metrics, "saltern_stranger_bytes") == 0


def test_things_that_happen_are_counted(metrics):
    metrics.compiled(0.2, ok=True)
    metrics.compiled(0.2, ok=False)
    metrics.fetched("states", 0.1, ok=True)
    metrics.kept_back("states", 2)
    metrics.mirror_size("states", 4096)
    metrics.left_out("states", 3)
    metrics.sent("Run")
    metrics.received("RunResult", 2)
    metrics.refused("malformed", 4)
    metrics.runs_ended("apply", [("changed", 1.5)])
    metrics.push_applied(0.25)
    metrics.limit_refused("webhook", "body-bytes", 2)
    metrics.stalled(1.5, 1.2)
    assert value(metrics, "saltern_compile_seconds_count") == 2
    assert value(metrics, "saltern_compile_errors_total") == 1
    assert value(metrics, "saltern_git_fetch_errors_total", remote="states") == 0
    metrics.fetched("states", 0.1, ok=False)
    assert value(metrics, "saltern_git_fetch_errors_total", remote="states") == 1
    assert value(metrics, "saltern_git_refs_refused", remote="states") == 2
    assert value(metrics, "saltern_git_disk_bytes", remote="states") == 4096
    assert value(metrics, "saltern_git_files_left_out", remote="states") == 3
    assert value(metrics, "saltern_bus_messages_total", direction="out", type="Run") == 1
    assert value(metrics, "saltern_bus_messages_total", direction="in", type="RunResult") == 2
    assert value(metrics, "saltern_wire_refusals_total", reason="malformed") == 4
    assert value(metrics, "saltern_runs_total", kind="apply", outcome="changed") == 1
    assert value(metrics, "saltern_run_seconds_sum", kind="apply") == 1.5
    assert value(metrics, "saltern_push_apply_seconds_bucket", le="0.3") == 1
    assert value(metrics, "saltern_limit_refusals_total", border="webhook", limit="body-bytes") == 2
    assert value(metrics, "saltern_loop_stall_seconds_sum") == 1.5


def test_minions_are_read_at_each_scrape_and_leave_nothing_behind(metrics):
    samples = [
        MinionSample(id="a", sync="Synced", health="Healthy", connected=True, applied_at=900.0, revision_at=400.0),
        MinionSample(
            id="b",
            sync="OutOfSync",
            health="Drifted",
            drifted=2,
            ignored=4,
            missing_sources=3,
            classes={"corrective": 2},
        ),
        MinionSample(id='c"\n', sync="Synced", health="Healthy"),
    ]
    metrics.watch_minions(lambda: samples)
    assert value(metrics, "saltern_minions", sync="Synced", health="Healthy") == 2
    assert value(metrics, "saltern_minion_sync", minion="b", sync="OutOfSync") == 1
    assert value(metrics, "saltern_minion_drifted_states", minion="b") == 2
    assert value(metrics, "saltern_minion_ignored_states", minion="b") == 4
    assert value(metrics, "saltern_minion_drift", **{"minion": "b", "class": "corrective"}) == 2
    assert value(metrics, "saltern_minion_missing_sources", minion="b") == 3
    assert value(metrics, "saltern_minion_connected", minion="a") == 1
    assert value(metrics, "saltern_applied_revision_age_seconds", minion="a") == 600
    assert value(metrics, "saltern_applied_revision_age_seconds", minion="b") is None
    assert value(metrics, "saltern_minion_health", minion='c"\n', health="Healthy") == 1
    samples.clear()
    assert not [key for key in series(metrics) if "minion" in dict(key[1])]
    assert value(metrics, "saltern_minions", sync="Synced", health="Healthy") is None
