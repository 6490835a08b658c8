from __future__ import annotations

import subprocess
import sys

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
