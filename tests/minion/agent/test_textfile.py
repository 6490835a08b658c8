"""The minion's own metrics, as node_exporter reads them."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from minion.agent.drift_watch import WATCHED
from minion.agent.textfile import EVERY, AgentNow, Textfile
from wire.messages import RunResult

QUIET = AgentNow(2, 1, 3, 0, 512, 7, {"beacons": 1, "drift": 0})


def result(kind: str, outcome: str, states: dict[str, object], run_id: str = "1") -> RunResult:
    told = {key: {"result": value, "changes": {"x": 1} if key == "changes" else {}} for key, value in states.items()}
    return RunResult(run_id=run_id, kind=kind, generation=1, digest="d", outcome=outcome, states=told, seconds=2.5)


def value(path, name: str, **labels: str) -> float | None:
    samples = [sample for family in text_string_to_metric_families(path.read_text()) for sample in family.samples]
    return next((one.value for one in samples if one.name == f"saltern_agent_{name}" and one.labels == labels), None)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "collected").mkdir()
    return tmp_path / "collected" / "saltern.prom"


@pytest.fixture
def textfile(path, tmp_path):
    return Textfile(path, tmp_path, 'web"1\\')


def test_what_the_last_runs_did_is_told(textfile, path):
    textfile.finished(result("apply", "failed", {"a": True, "changes": True, "b": False}))
    textfile.tick(0.0, QUIET)
    counted = {
        each: value(path, "last_run_states", kind="apply", result=each) for each in ("succeeded", "changed", "failed")
    }
    assert counted == {"succeeded": 1, "changed": 1, "failed": 1}
    assert value(path, "runs_total", kind="apply", outcome="failed") == 1
    assert value(path, "last_run_seconds", kind="apply") == 2.5
    assert value(path, "last_run_timestamp_seconds", kind="apply") > 1_600_000_000
    assert value(path, "last_good_run_timestamp_seconds", kind="apply") == 0


def test_the_agent_is_told_of(textfile, path):
    textfile.tick(0.0, QUIET)
    assert value(path, "controllers", state="configured") == 2
    assert value(path, "controllers", state="connected") == 1
    assert value(path, "results_waiting") == 3
    assert value(path, "events_waiting_bytes") == 512
    assert value(path, "events_total") == 7
    assert value(path, "problems", part="beacons") == 1
    assert value(path, "resident_memory_bytes") > 1_000_000
    text = path.read_text()
    assert 'minion="web\\"1\\\\"' in text
    assert path.stat().st_mode & 0o777 == 0o644
    assert [each.name for each in path.parent.iterdir()] == ["saltern.prom"]


def test_drift_is_gone_when_something_was_applied(textfile, path):
    textfile.finished(result("drift", "pending", {"a": None, "b": False, "c": True}))
    textfile.tick(0.0, QUIET)
    assert value(path, "drifted_states") == 2
    textfile.finished(result("drift", "ok", {"a": True}, run_id=f"{WATCHED}1"))
    textfile.tick(100.0, QUIET)
    assert value(path, "drifted_states") == 1
    assert value(path, "last_run_states", kind="drift", result="pending") == 1
    textfile.finished(result("remediate", "changed", {"changes": True}))
    textfile.tick(200.0, QUIET)
    assert value(path, "drifted_states") == 0


def test_last_runs_outlive_the_agent_and_counters_begin_anew(textfile, path, tmp_path):
    textfile.finished(result("drift", "pending", {"a": None}))
    textfile.finished(result("call", "ok", {}))
    textfile.tick(0.0, QUIET)
    next_one = Textfile(path, tmp_path, "web1")
    next_one.tick(0.0, QUIET)
    assert value(path, "last_run_states", kind="drift", result="pending") == 1
    assert value(path, "drifted_states") == 1
    assert value(path, "runs_total", kind="drift", outcome="pending") is None


def test_it_is_written_soon_after_a_change_and_now_and_then(textfile, path):
    textfile.tick(100.0, QUIET)
    assert textfile.due_at == 100.0 + EVERY
    textfile.changed()
    assert textfile.due_at == 101.0
    textfile.tick(100.5, QUIET._replace(connected=2))
    assert value(path, "controllers", state="connected") == 1
    textfile.tick(101.0, QUIET._replace(connected=2))
    assert value(path, "controllers", state="connected") == 2


def test_nothing_is_due_without_the_option(tmp_path):
    textfile = Textfile(None, tmp_path, "web1")
    textfile.finished(result("drift", "pending", {"a": None}))
    textfile.changed()
    assert textfile.due_at == float("inf")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_takes_nothing_is_told_once(textfile, path, caplog):
    path.parent.rmdir()
    textfile.tick(0.0, QUIET)
    textfile.tick(100.0, QUIET)
    assert [record.message.split()[0] for record in caplog.records] == ["event=metrics_not_written"]
    path.parent.mkdir()
    textfile.tick(200.0, QUIET)
    assert path.exists()


def test_a_file_that_is_a_link_is_replaced_and_not_written_through(textfile, path, tmp_path):
    path.symlink_to(tmp_path / "elsewhere")
    textfile.tick(0.0, QUIET)
    assert not path.is_symlink()
    assert not (tmp_path / "elsewhere").exists()


def test_what_is_kept_and_cannot_be_read_is_dropped(path, tmp_path):
    (tmp_path / "metrics").write_bytes(b"\xff nothing")
    textfile = Textfile(path, tmp_path, "web1")
    textfile.tick(0.0, QUIET)
    assert value(path, "drifted_states") == 0
