"""Jobs in a time zone, where clocks are put forward and back: a named zone, and that of the machine."""

import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from reactors.schedule import BadSchedule, Cron, next_time
from reactors.schedule_forecast import next_runs
from reactors.scheduled_jobs import job_of, jobs_of

FORWARD = "2026-03-28T20:00"  # the evening before 02:00 is 03:00 in Berlin
BACK = "2026-10-24T20:00"  # the evening before 03:00 is 02:00 again


@pytest.fixture(params=["named", "machine"])
def runs(request, monkeypatch):
    """The next runs of a job in a zone, as its clocks show them with their offset."""

    def found(begin, count, zone="Europe/Berlin", **item):
        if request.param == "machine":
            monkeypatch.setenv("TZ", zone)
            time.tzset()
        named = {"timezone": zone} if request.param == "named" else {}
        jobs, refused = jobs_of({"a": {"function": "test.ping", **named, **item}})
        assert not refused
        now = datetime.fromisoformat(begin).replace(tzinfo=ZoneInfo(zone)).timestamp()
        shown = (datetime.fromtimestamp(run.at, ZoneInfo(zone)) for run in next_runs(jobs, now, count))
        return [f"{at:%m-%d %H:%M%z}"[:-2] for at in shown]

    yield found
    monkeypatch.undo()
    time.tzset()


def test_a_nightly_job_runs_once_each_night(runs):
    assert runs(FORWARD, 2, cron="30 2 * * *") == ["03-29 03:30+02", "03-30 02:30+02"]
    assert runs(BACK, 2, cron="30 2 * * *") == ["10-25 02:30+02", "10-26 02:30+01"]
    assert runs(FORWARD, 2, cron="0 4 * * *") == ["03-29 04:00+02", "03-30 04:00+02"]
    assert runs(BACK, 2, cron="0 4 * * *") == ["10-25 04:00+01", "10-26 04:00+01"]
    assert runs(FORWARD, 2, when="2:30am") == ["03-29 03:30+02", "03-30 02:30+02"]
    assert runs(BACK, 2, when="2:30am") == ["10-25 02:30+02", "10-26 02:30+01"]
    assert runs("2026-03-28T01:00", 2, zone="Asia/Beirut", cron="15 0 * * *") == ["03-29 01:15+03", "03-30 00:15+03"]


def test_what_runs_each_hour_follows_the_time_that_goes_by(runs):
    assert runs("2026-03-29T01:10", 3, cron="*/30 * * * *") == ["03-29 01:30+01", "03-29 03:00+02", "03-29 03:30+02"]
    assert runs("2026-10-25T01:40", 5, cron="*/30 * * * *") == [
        "10-25 02:00+02", "10-25 02:30+02", "10-25 02:00+01", "10-25 02:30+01", "10-25 03:00+01",
    ]  # fmt: skip
    assert runs("2026-10-25T02:50", 2, cron="15 * * * *") == ["10-25 02:15+01", "10-25 03:15+01"]
    assert runs("2026-04-05T01:20", 3, zone="Australia/Lord_Howe", cron="*/30 * * * *") == [
        "04-05 01:30+11", "04-05 01:30+10", "04-05 02:00+10",
    ]  # fmt: skip


def test_a_time_that_is_left_out_and_one_that_is_there_may_come_in_any_order(runs):
    assert runs(FORWARD, 3, cron="0,30 2,3 * * *") == ["03-29 03:00+02", "03-29 03:30+02", "03-30 02:00+02"]


def test_ranges_are_of_the_clock(runs):
    shift = {"minutes": 20, "range": {"start": "2:30", "end": "3:00"}}
    # From 2:30 to 3:00 is twice in this night: the job runs in both, and is never due in the past.
    assert runs(BACK, 5, **shift) == [
        "10-25 02:30+02", "10-25 02:50+02", "10-25 02:30+01", "10-25 02:50+01", "10-26 02:30+01",
    ]  # fmt: skip
    assert runs(FORWARD, 2, **shift) == ["03-30 02:30+02", "03-30 02:50+02"]


@pytest.mark.parametrize("expression", ["*/7 * * * *", "*/7 1-4 * * *", "30 2 * * *", "5,10 */2 * * *", "0 0 * * 0"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut", "UTC"])
def test_a_job_is_never_due_before_now_and_the_next_time_is_the_same_from_all_moments_before_it(expression, zone):
    """From each quarter of an hour around both changes of the clocks."""
    cron = Cron(expression=expression, zone=zone)
    for begin in (datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 10, 24, 12, tzinfo=UTC)):
        due = 0.0
        for quarter in range(4 * 36):
            now = (begin + timedelta(minutes=15 * quarter)).timestamp()
            found = next_time(cron, previous=0.0, now=now, chance=0.0)
            assert found is not None
            assert found >= now
            assert due < now or found == due
            due = found


def test_times_with_an_offset_are_what_they_say():
    job = job_of("a", {"function": "test.ping", "once": "2026-07-01T12:00:00+05:30", "timezone": "Europe/Berlin"}, {})
    wanted = datetime.fromisoformat("2026-07-01T12:00:00+05:30").timestamp()
    assert job.due(previous=0.0, now=wanted - 3600, chance=0.0) == wanted
    written = {"seconds": 5, "until": datetime(2026, 7, 1, 6, 30, tzinfo=UTC), "timezone": "Europe/Berlin"}
    until = job_of("a", {"function": "test.ping", **written}, {})
    assert (until.refusal(wanted - 60), until.refusal(wanted)) == ("", "until_passed")


def test_a_zone_may_be_that_of_all_jobs():
    jobs, _ = jobs_of({"timezone": "Asia/Tokyo", "a": {"function": "test.ping", "cron": "0 9 * * *"}})
    due = jobs["a"].due(previous=0.0, now=datetime(2026, 11, 23, tzinfo=UTC).timestamp() + 1, chance=0.0)
    assert due == datetime(2026, 11, 24, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "zone", ["Europe/Berln", "../../etc/passwd", "/etc/localtime", "Europe", "CEST+1", "tzdata.zi", 5]
)
def test_a_zone_that_is_none_is_refused(zone):
    with pytest.raises(BadSchedule, match="timezone: there is no"):
        job_of("a", {"function": "test.ping", "cron": "0 9 * * *", "timezone": zone}, {})
