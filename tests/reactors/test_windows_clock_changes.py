"""Windows in the nights in which clocks are changed: both ways, in zones of both halves of the earth."""

from datetime import UTC, datetime

import pytest

from reactors.windows import Window, look


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


SHOWN = [
    # zone, schedule, its beginning and its end (UTC), which lasts two hours whatever clocks show meanwhile
    ("Europe/Berlin", "0 1 * * *", "2026-03-29 00:00", "2026-03-29 02:00"),  # 02:00 becomes 03:00 in it
    ("Europe/Berlin", "0 1 * * *", "2026-10-24 23:00", "2026-10-25 01:00"),  # 03:00 becomes 02:00 in it
    ("Europe/Berlin", "0 22 * * *", "2026-03-28 21:00", "2026-03-28 23:00"),  # the evening before
    ("Europe/Berlin", "0 22 * * *", "2026-03-29 20:00", "2026-03-29 22:00"),  # the evening after
    ("America/New_York", "0 1 * * *", "2026-03-08 06:00", "2026-03-08 08:00"),
    ("America/New_York", "30 0 * * *", "2026-11-01 04:30", "2026-11-01 06:30"),
    ("Australia/Sydney", "0 1 * * *", "2026-10-03 15:00", "2026-10-03 17:00"),  # their spring
    ("Australia/Sydney", "0 1 * * *", "2026-04-04 14:00", "2026-04-04 16:00"),
    ("Australia/Lord_Howe", "0 1 * * *", "2026-10-03 14:30", "2026-10-03 16:30"),  # by half an hour
    ("Asia/Kolkata", "0 1 * * *", "2026-03-28 19:30", "2026-03-28 21:30"),  # never
]


@pytest.mark.parametrize("kind", ["allow", "deny"])
@pytest.mark.parametrize(("zone", "schedule", "begin", "end"), SHOWN)
def test_a_window_begins_by_the_clocks_of_its_zone_and_lasts_as_long_as_it_says(kind, zone, schedule, begin, end):
    window = Window(kind=kind, schedule=schedule, duration=7200.0, timezone=zone)
    inside = kind == "allow"
    assert at(end) - at(begin) == 7200.0
    for moment, is_in in ((at(begin) - 1, False), (at(begin), True), (at(end) - 1, True), (at(end), False)):
        assert look((window,), moment).open is (inside if is_in else not inside), datetime.fromtimestamp(moment, UTC)
    assert look((window,), at(begin) - 1).changes_at == at(begin), "it is looked at again when it begins"
    assert look((window,), at(begin)).changes_at == at(end), "and when it ends"


@pytest.mark.parametrize(
    ("zone", "schedule", "night"),
    [
        ("Europe/Berlin", "30 2 * * *", "2026-10-24 22:00"),  # 02:30 comes twice
        ("America/New_York", "30 1 * * *", "2026-11-01 03:00"),
        ("Europe/Berlin", "30 2 * * *", "2026-03-28 22:00"),  # there is no 02:30
        ("America/New_York", "30 2 * * *", "2026-03-08 03:00"),
    ],
)
def test_a_beginning_that_clocks_show_twice_or_never_opens_it_for_no_longer_than_both(zone, schedule, night):
    window = Window(schedule=schedule, duration=1800.0, timezone=zone)
    minutes = sum(look((window,), at(night) + 60 * minute).open for minute in range(8 * 60))
    assert minutes in (0, 30, 60)
    evening = at(night) + 86400
    assert sum(look((window,), evening + 60 * minute).open for minute in range(8 * 60)) == 30, "the night after"
