"""The metrics as Prometheus reads them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families

from controller.observe.certificate_times import FileTimes, certificate_end
from controller.observe.metrics import Metrics
from controller.observe.minion_metrics import MinionSample, MinionTotals
from controller.observe.process_metrics import ProcessSources


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
    metrics.runs_ended("apply", [("changed", 1.5, "run1")])
    metrics.push_applied(0.25, "run1")
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
    assert value(metrics, "saltern_drift_states", **{"class": "corrective"}) == 2
    assert value(metrics, "saltern_connected_minions") == 1
    samples.clear()
    assert not [key for key in series(metrics) if "minion" in dict(key[1])]
    assert value(metrics, "saltern_minions", sync="Synced", health="Healthy") is None


def test_without_series_of_single_minions_only_totals_are_read(metrics):
    asked = []
    metrics.watch_minions(lambda: asked.append("samples") or [])
    metrics.minions.totals = lambda: MinionTotals(
        states={("Synced", "Healthy"): 9_000, ("OutOfSync", "Failed"): 1_000}, connected=9_990, drift={"flapping": 3}
    )
    metrics.minions.is_per_minion = lambda: False
    assert value(metrics, "saltern_minions", sync="OutOfSync", health="Failed") == 1_000
    assert value(metrics, "saltern_connected_minions") == 9_990
    assert value(metrics, "saltern_drift_states", **{"class": "flapping"}) == 3
    assert value(metrics, "saltern_per_minion_series") == 0
    assert asked == []
    assert not [name for name, labels in series(metrics) if "minion" in dict(labels)]


def test_the_process_is_told_with_its_queues_keys_and_version(metrics):
    metrics.process.stored("commit", 0.003)
    metrics.process.sources = ProcessSources(
        version="1.2", queues={"messages": lambda: 7}, keys=lambda: {"pending": 2}, message_lag=lambda: 0.25
    )
    assert value(metrics, "saltern_store_seconds_bucket", operation="commit", le="0.005") == 1
    assert value(metrics, "saltern_queue_length", queue="messages") == 7
    assert value(metrics, "saltern_keys", state="pending") == 2
    assert value(metrics, "saltern_message_lag_seconds") == 0.25
    assert value(metrics, "process_resident_memory_bytes") > 1_000_000
    [build] = [dict(labels) for name, labels in series(metrics) if name == "saltern_build_info"]
    assert build["version"] == "1.2"


def test_openmetrics_names_the_run_behind_a_time(metrics):
    metrics.runs_ended("apply", [("changed", 1.5, "run1"), ("failed", 0.1, "run2")])
    metrics.push_applied(0.25, "run1")
    metrics.push_applied(7.0, "x" * 200)  # too long for an exemplar
    families = {family.name: family for family in openmetrics_families(metrics.with_exemplars().decode())}
    behind = {
        (sample.name, *sample.labels.values()): sample.exemplar.labels["run_id"]
        for name in ("saltern_runs", "saltern_run_seconds", "saltern_push_apply_seconds")
        for sample in families[name].samples
        if sample.exemplar is not None
    }
    assert behind == {
        ("saltern_runs_total", "apply", "changed"): "run1",
        ("saltern_runs_total", "apply", "failed"): "run2",
        ("saltern_run_seconds_bucket", "apply", "0.1"): "run2",
        ("saltern_run_seconds_bucket", "apply", "2.0"): "run1",
        ("saltern_push_apply_seconds_bucket", "0.3"): "run1",
    }
    assert value(metrics, "saltern_push_apply_seconds_count") == 2


def test_a_certificate_is_read_again_after_a_minute(tmp_path):
    from trustme import CA

    file, now = tmp_path / "api.pem", [0.0]
    times = FileTimes({"api": file, "gone": tmp_path / "gone"}, certificate_end, lambda: now[0])
    first, second = (
        CA().issue_cert("example.org", not_after=datetime(year, 1, 1, tzinfo=UTC)) for year in (2031, 2032)
    )
    file.write_bytes(first.cert_chain_pems[0].bytes())
    assert times.times() == {"api": datetime(2031, 1, 1, tzinfo=UTC).timestamp()}
    file.write_bytes(second.cert_chain_pems[0].bytes())
    now[0] = 59.0
    assert times.times() == {"api": datetime(2031, 1, 1, tzinfo=UTC).timestamp()}
    now[0] = 60.0
    assert times.times() == {"api": datetime(2032, 1, 1, tzinfo=UTC).timestamp()}
