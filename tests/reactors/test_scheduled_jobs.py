"""Jobs of a schedule as their settings say them; when one is due on a minion is in tests/minion/modules."""

from datetime import UTC, datetime

import pytest

from reactors.schedule import BadSchedule
from reactors.scheduled_jobs import job_of


def test_once_names_a_day() -> None:
    assert job_of("x", {"function": "test.ping", "once": "2026-11-21T18:00:00"}, {}).due(
        previous=0.0, now=0.0, chance=0.0
    )


@pytest.mark.parametrize("text", ["5:00pm", "Monday 9:00am"])
def test_once_is_no_time_that_comes_again(text: str) -> None:
    with pytest.raises(BadSchedule, match="comes again"):
        job_of("x", {"function": "test.ping", "once": text}, {})


@pytest.mark.parametrize(
    ("item", "why"),
    [
        ({"splay": {"start": 20, "end": 10}}, "splay: the end must not be before"),
        ({"splay": -5}, "splay: the end must not be before"),
        ({"skip_explicit": "2026-11-21"}, "skip_explicit is a list"),
        ({"skip_explicit": ["soon"]}, "skip_explicit: time data 'soon'"),
        ({"run_explicit": [{"time": "2026-11-21"}]}, "run_explicit: time data"),
    ],
)
def test_what_is_badly_formed_is_refused(item, why) -> None:
    with pytest.raises(BadSchedule, match=why):
        job_of("x", {"function": "test.ping", "hours": 1, **item}, {})


def test_times_to_skip_and_to_run_at_are_of_the_zone_and_know_nothing_of_the_splay() -> None:
    item = {
        "function": "test.ping",
        "cron": "0 12 * * *",
        "splay": 60,
        "timezone": "Asia/Tokyo",
        "skip_explicit": [{"time": "2026-11-24T12:00:00", "time_fmt": "%Y-%m-%dT%H:%M:%S"}],
        "run_explicit": ["2026-11-24T13:30:00"],
    }
    job = job_of("x", item, {})
    noon = datetime(2026, 11, 24, 3, tzinfo=UTC).timestamp()
    assert job.due(previous=0.0, now=noon - 60, chance=0.5) == noon + 30
    assert job.refusal(noon + 40, due=noon + 30) == "skip_explicit"
    assert job.due(previous=0.0, now=noon + 1, chance=0.5) == noon + 5400
    assert job.refusal(noon + 5400) == ""
