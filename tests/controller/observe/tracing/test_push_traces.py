"""Pushes as traces, sent by OpenTelemetry's SDK to a server that reads OTLP."""

from __future__ import annotations

import pytest
from otlp_collector import Collector

from controller.observe.tracing.otlp import OtlpSpans
from controller.observe.tracing.push_traces import MOST_RUNS, PushTraces, Span
from controller.store import RevisionRecord, RunRecord

REVISION = RevisionRecord(digest="d1", label="1a8f598e", commit="1a8f598e00", subject="Another port", first_seen=100.0)


class Kept:
    """Spans that were made."""

    def __init__(self) -> None:
        self.spans: list[Span] = []

    def add(self, span: Span) -> None:
        self.spans.append(span)

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]


@pytest.fixture
def kept():
    return Kept()


@pytest.fixture
def traces(kept):
    traces = PushTraces()
    traces.spans = kept
    return traces


def run(number: int = 1, **changes: object) -> RunRecord:
    fields = {
        "run_id": f"run{number}",
        "minion": "web1",
        "kind": "apply",
        "created": 101.0,
        "revision": "d1",
        **changes,
    }
    return RunRecord(**fields)


def test_a_push_is_one_trace_from_the_fetch_to_each_run(traces, kept):
    traces.fetched("states", 0.5, 99.5)
    traces.went_live(REVISION, 100.0)
    traces.compiled("d1", 100.1, 100.9, minions=3, failed=0)
    traces.run_ended(run(), "changed", 0.4, 100.0, 102.0)
    (push,), (fetch,), (compiled,), (apply,), (on_minion,) = map(
        kept.named, ("push", "fetch", "compile", "apply", "run")
    )
    assert {span.trace for span in kept.spans} == {push.trace}
    assert {fetch.parent, compiled.parent, apply.parent} == {push.number}
    assert (on_minion.parent, push.parent) == (apply.number, 0)
    assert (push.began, push.ended) == (99.0, 100.0)
    assert (fetch.began, fetch.ended) == (99.0, 99.5)
    assert (apply.began, apply.ended) == (101.0, 102.0)
    assert (on_minion.began, on_minion.ended) == (101.6, 102.0)
    assert apply.attributes["saltern.run"] == "run1"
    assert traces.trace_id("d1", 100.0) == f"{push.trace:032x}"


def test_what_failed_is_an_error(traces, kept):
    traces.went_live(REVISION, 100.0)
    traces.compiled("d1", 100.1, 100.9, minions=3, failed=1)
    traces.run_ended(run(), "failed", 0.4, 100.0, 102.0)
    errors = {span.name: span.error for span in kept.spans}
    assert errors == {"push": "", "compile": "1 of 3 minions do not compile", "apply": "failed", "run": "failed"}


def test_runs_after_a_restart_are_of_the_same_trace(traces, kept):
    traces.went_live(REVISION, 100.0)
    later = PushTraces()
    later.spans = kept
    later.run_ended(run(), "changed", 0.4, REVISION.first_seen, 200.0)
    (push,), (apply,) = kept.named("push"), kept.named("apply")
    assert (apply.trace, apply.parent) == (push.trace, push.number)


def test_a_revision_that_is_live_again_is_another_trace(traces, kept):
    traces.went_live(REVISION, 100.0)
    traces.went_live(REVISION, 500.0)
    first, second = kept.named("push")
    assert first.trace != second.trace
    assert traces.trace_id("d1", 100.0) == f"{second.trace:032x}"


def test_a_trace_has_so_many_runs_and_no_more(traces, kept):
    traces.went_live(REVISION, 100.0)
    for number in range(MOST_RUNS + 10):
        traces.run_ended(run(number), "changed", 0.4, 100.0, 102.0)
    assert len(kept.named("apply")) == MOST_RUNS


def test_other_runs_and_old_fetches_are_no_part(traces, kept):
    traces.fetched("states", 0.5, 10.0)
    traces.went_live(REVISION, 100.0)
    traces.run_ended(run(kind="drift"), "ok", 0.4, 100.0, 102.0)
    traces.compiled("another", 1.0, 2.0, 1, 0)
    assert [span.name for span in kept.spans] == ["push"]


def test_nothing_is_kept_where_nobody_gets_it():
    traces = PushTraces()
    traces.fetched("states", 0.5, 99.5)
    traces.went_live(REVISION, 100.0)
    traces.run_ended(run(), "changed", 0.4, 100.0, 102.0)
    assert traces.trace_id("d1", 100.0) == ""


@pytest.fixture
def collector():
    with Collector() as collector:
        yield collector


def test_a_collector_gets_them_with_their_ids_and_times(collector):
    told, traces = [], PushTraces()
    spans = OtlpSpans(collector.endpoint, "1.2", lambda ok, count: told.append((ok, count)))
    traces.spans = spans
    traces.went_live(REVISION, 100.0)
    traces.run_ended(run(), "failed", 0.4, 100.0, 102.0)
    spans.close()
    by_name = {span.name: span for span in collector.spans}
    assert set(by_name) == {"push", "apply", "run"}
    assert by_name["apply"].trace_id.hex() == traces.trace_id("d1", 100.0)
    assert by_name["apply"].parent_span_id == by_name["push"].span_id
    assert by_name["run"].parent_span_id == by_name["apply"].span_id
    assert by_name["apply"].start_time_unix_nano == 101_000_000_000
    assert by_name["apply"].status.code == 2
    assert {"saltern-controller", "1.2"} <= collector.services
    assert told == [(True, 3)]


def test_a_collector_that_refuses_is_counted_and_keeps_nothing_back(collector):
    collector.refuses, told = True, []
    spans = OtlpSpans(collector.endpoint, "1.2", lambda ok, count: told.append((ok, count)))
    spans.add(Span(name="push", began=1.0, ended=2.0, trace=1, parent=0, number=2))
    spans.close()
    assert told == [(False, 1)]
