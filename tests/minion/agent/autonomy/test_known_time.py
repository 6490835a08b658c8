"""What a minion knows of the time: transcripts of a clock that somebody sets, and of a machine that starts again."""

import pytest

from minion.agent.autonomy.known_time import KnownTime, boot_id, counted, told

KNOWN = KnownTime(time=1_000_000.0, steady=500.0, boot="first")


@pytest.mark.parametrize(
    ("wall", "steady", "boot", "wanted"),
    [
        pytest.param(1_000_010.0, 510.0, "first", 1_000_010.0, id="ten seconds later"),
        pytest.param(9_000_000.0, 510.0, "first", 1_000_010.0, id="set forward"),
        pytest.param(1.0, 510.0, "first", 1_000_010.0, id="set back"),
        pytest.param(1_000_000.0, 90_500.0, "first", 1_090_000.0, id="stopped for a day"),
        pytest.param(1_000_300.0, 20.0, "second", 1_000_300.0, id="started again"),
        pytest.param(999_999.0, 20.0, "second", None, id="started again, with a clock that is behind"),
        pytest.param(1_000_300.0, 400.0, "first", 1_000_300.0, id="an image of the running machine, taken up again"),
        pytest.param(999_000.0, 400.0, "first", None, id="with the clock of that moment"),
    ],
)
def test_the_time_is_counted(wall, steady, boot, wanted):
    found = counted(KNOWN, wall, steady, boot)
    assert (None if found is None else found.time) == wanted


def test_what_is_counted_goes_on_being_counted():
    after = counted(KNOWN, 1_000_300.0, 20.0, "second")
    assert counted(after, 5.0, 30.0, "second").time == 1_000_310.0


def test_a_minion_that_was_told_nothing_counts_from_its_own_clock():
    first = counted(KnownTime(), 1_000.0, 5.0, "first")
    assert counted(first, 9_999.0, 6.0, "first").time == 1_001.0


@pytest.mark.parametrize("time", [0.0, -1.0, float("nan"), float("inf"), 1e300])
def test_what_is_no_time_is_not_taken(time):
    assert told(time, 5.0, "first") is None


def test_what_a_controller_says_counts_also_when_it_is_earlier():
    assert told(900.0, 5.0, "first").at(6.0, "first") == 901.0


def test_starts_of_the_machine_are_told_apart():
    assert boot_id() == boot_id() != ""
