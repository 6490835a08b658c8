from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest

from reactors.schedule import BadSchedule, Cron, Every, next_time, parse_schedule


def test_nothing_given_is_no_schedule():
    assert parse_schedule({}) is None


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"interval": 60}, Every(seconds=60)),
        ({"interval": 60, "splay": 5}, Every(seconds=60, splay=5)),
        ({"cron": "*/5 * * * *"}, Cron(expression="*/5 * * * *")),
        ({"cron": "0 4 * * * 30", "timezone": "Asia/Tokyo"}, Cron(expression="0 4 * * * 30", zone="Asia/Tokyo")),
    ],
)
def test_parses(given, wanted):
    assert parse_schedule(given) == wanted


@pytest.mark.parametrize(
    "given",
    [
        {"interval": 0},
        {"interval": -1},
        {"interval": True},
        {"interval": "60"},
        {"interval": float("nan")},
        {"interval": float("inf")},
        {"splay": 3},
        {"interval": 60, "splay": -1},
        {"cron": "every day"},
        {"cron": "61 * * * *"},
        {"cron": "0 4 * * * 61"},
        {"cron": "0 4 * * * 0 2027"},
        {"cron": "0 4 * * *", "timezone": "Mars/Olympus"},
        {"interval": 60, "timezone": "UTC"},
        {"cron": "* * * * *", "interval": 3},
        {"intervall": 60},
    ],
)
def test_refuses(given):
    with pytest.raises(BadSchedule):
        parse_schedule(given)


def test_an_interval_counts_from_the_last_time():
    every = Every(seconds=60, splay=10)
    assert next_time(every, previous=100, now=110, chance=0.0) == 160
    assert next_time(every, previous=100, now=110, chance=0.5) == 165


def test_what_was_missed_is_done_once_now():
    assert next_time(Every(seconds=60, splay=10), previous=100, now=100_000, chance=1.0) == 100_010


def test_cron_is_the_next_minute_that_matches():
    now = 1_700_000_003.0
    assert next_time(Cron(expression="* * * * *"), previous=0, now=now, chance=0.0) == 1_700_000_040.0


def test_an_interval_needs_neither_apscheduler_nor_asyncio():
    code = (
        "import sys; from reactors.schedule import *; parse_schedule({'interval': 5});"
        "print([m for m in ('apscheduler', 'asyncio') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def cron_days(expression, count=4):
    """Weekday and day of the next runs after Monday, 2026-11-23, as croniter has them, which Salt asks."""
    found, now = [], datetime(2026, 11, 23, 12, tzinfo=UTC).timestamp()
    for _ in range(count):
        now = next_time(Cron(expression=expression, zone="UTC"), previous=0, now=now + 1, chance=0.0)
        found.append(f"{datetime.fromtimestamp(now, UTC):%a %d %H:%M}")
    return found


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("0 4 * * 0", ["Sun 29 04:00", "Sun 06 04:00"]),
        ("0 4 * * 7", ["Sun 29 04:00", "Sun 06 04:00"]),
        ("0 4 * * 1-5", ["Tue 24 04:00", "Wed 25 04:00", "Thu 26 04:00", "Fri 27 04:00", "Mon 30 04:00"]),
        ("0 4 * * 0-2", ["Tue 24 04:00", "Sun 29 04:00", "Mon 30 04:00", "Tue 01 04:00"]),
        ("0 4 * * 5-7", ["Fri 27 04:00", "Sat 28 04:00", "Sun 29 04:00", "Fri 04 04:00"]),
        ("0 4 * * mon,wed", ["Wed 25 04:00", "Mon 30 04:00"]),
        ("0 4 * * SAT-SUN", ["Sat 28 04:00", "Sun 29 04:00", "Sat 05 04:00"]),
        ("0 4 * * */2", ["Tue 24 04:00", "Thu 26 04:00", "Sat 28 04:00", "Sun 29 04:00"]),
        ("0 4 1 * 5", ["Fri 27 04:00", "Tue 01 04:00", "Fri 04 04:00"]),
        ("@weekly", ["Sun 29 00:00"]),
        ("@hourly", ["Mon 23 13:00", "Mon 23 14:00"]),
    ],
)
def test_days_are_those_of_crontab(expression, wanted):
    assert cron_days(expression, len(wanted)) == wanted


@pytest.mark.parametrize("expression", ["0 4 * * 8", "0 4 * * 5-1", "0 4 * * 1/0", "0 4 * * x", "0 4 * *", "@never"])
def test_days_that_are_none_are_refused(expression):
    with pytest.raises(BadSchedule, match="cron"):
        parse_schedule({"cron": expression})
