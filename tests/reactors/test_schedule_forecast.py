"""When jobs run next, by the rules of Salt's schedule."""

import itertools
from datetime import datetime
from types import SimpleNamespace

import pytest

from reactors import schedule_forecast
from reactors.schedule import BadSchedule
from reactors.schedule_forecast import next_runs
from reactors.scheduled_jobs import job_of, jobs_of

NOON = datetime(2026, 11, 22, 12, 0).timestamp()  # a Sunday


def runs(count=5, **items):
    jobs, refused = jobs_of({name: {"function": "test.ping", **item} for name, item in items.items()})
    assert not refused
    found = next_runs(jobs, NOON, count)
    return [f"{run.job} {datetime.fromtimestamp(run.at):%d %H:%M:%S}" for run in found]


def test_an_interval_begins_at_once_and_runs_of_several_jobs_are_in_order():
    assert runs(a={"minutes": 30}, b={"hours": 1, "run_on_start": False}) == [
        "a 22 12:00:00",
        "a 22 12:30:00",
        "a 22 13:00:00",
        "b 22 13:00:00",
        "a 22 13:30:00",
    ]


def test_cron_when_and_once():
    assert runs(
        cron={"cron": "0 3 * * *"}, when={"when": ["5:00pm", "Monday 9:00am"]}, once={"once": "2026-11-23T10:00:00"}
    ) == ["when 22 17:00:00", "cron 23 03:00:00", "when 23 09:00:00", "once 23 10:00:00", "when 23 17:00:00"]


def test_an_interval_that_a_range_holds_runs_when_the_range_opens():
    shift = {"minutes": 45, "range": {"start": "2:10pm", "end": "3:00pm"}}
    assert runs(3, a=shift) == ["a 22 14:10:00", "a 22 14:55:00", "a 23 14:10:00"]


def test_a_range_may_go_over_midnight():
    night = {"hours": 1, "range": {"start": "22:00", "end": "00:30"}}
    assert runs(4, a=night) == ["a 22 22:00:00", "a 22 23:00:00", "a 23 00:00:00", "a 23 22:00:00"]


def test_an_inverted_range_keeps_a_job_away():
    assert runs(3, a={"hours": 1, "range": {"start": "12:30", "end": "14:15", "invert": True}}) == [
        "a 22 12:00:00",
        "a 22 14:15:01",
        "a 22 15:15:01",
    ]


def test_what_a_range_has_skipped_runs_after_it_where_that_is_asked_for():
    skipped = {"hours": 1, "skip_during_range": {"start": "12:30", "end": "14:15"}}
    assert runs(3, a=skipped) == ["a 22 12:00:00", "a 22 15:00:00", "a 22 16:00:00"]
    after = {**skipped, "run_after_skip_range": True}
    assert runs(3, a=after) == ["a 22 12:00:00", "a 22 14:15:01", "a 22 15:15:01"]


def test_until_and_after():
    assert runs(a={"hours": 1, "until": "2026-11-22T13:30:00"}) == ["a 22 12:00:00", "a 22 13:00:00"]
    assert runs(2, a={"hours": 1, "after": "2026-11-22T13:30:00"}) == ["a 22 14:00:00", "a 22 15:00:00"]


def test_a_job_that_never_runs_is_not_looked_for_without_end():
    assert runs(a={"seconds": 1, "until": "2020-01-01T00:00:00"}) == []
    assert runs(a={"minutes": 1, "after": "2200-01-01T00:00:00"}) == []
    assert runs(a={"minutes": 1, "enabled": False}) == []


@pytest.mark.parametrize(("start", "end"), [("9:00", "9:00"), ("2026-11-22T10:00:00", "2026-11-21T10:00:00")])
def test_a_range_that_ends_before_it_begins_is_refused(start, end):
    with pytest.raises(BadSchedule, match="must be later than its start"):
        job_of("a", {"function": "test.ping", "hours": 1, "range": {"start": start, "end": end}}, {})


def test_a_job_whose_range_is_over_is_looked_for_no_longer_than_a_while(monkeypatch):
    over = {"start": "2020-01-01T00:00:00", "end": "2020-01-02T00:00:00"}
    jobs, refused = jobs_of({"past": {"function": "test.ping", "cron": "* * * * *", "range": over}})
    assert not refused
    steps = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: 0.01 * next(steps))
    monkeypatch.setattr(schedule_forecast, "time", clock)
    assert schedule_forecast.next_runs(jobs, 1790000000.0, 5) == []
    assert next(steps) < 300
