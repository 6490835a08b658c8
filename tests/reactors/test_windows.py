"""Windows: when they are open, against a reckoning minute by minute, and over changes of clocks."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactors.schedule import BadSchedule
from reactors.windows import ALWAYS, Window, check_window, is_active, look, opens_at, window_text


def at(text, zone="UTC"):
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


NIGHT = Window(schedule="0 22 * * *", duration=7200.0)
FREEZE = Window(kind="deny", schedule="0 0 24 12 *", duration=3 * 86400.0)


def test_without_windows_it_is_always_open():
    assert look((), 5.0) is ALWAYS
    assert (opens_at((), 5.0), window_text((), 5.0)) == (5.0, "")


def test_an_allow_window_is_open_from_its_beginning_to_before_its_end():
    begin = at("2026-11-23 22:00")
    found = [look((NIGHT,), begin + each).open for each in (-1, 0, 0.5, 7199.9, 7200)]
    assert found == [False, True, True, True, False]
    assert look((NIGHT,), begin - 1).changes_at == begin
    assert look((NIGHT,), begin + 1).changes_at == begin + 7200
    assert opens_at((NIGHT,), begin + 7200) == begin + 86400


def test_a_deny_window_forbids_what_others_allow():
    inside = at("2026-12-24 22:30")
    state = look((NIGHT, FREEZE), inside)
    assert (state.open, state.manual) == (False, False)
    assert "deny window '0 0 24 12 *' for 3d (UTC)" in state.why
    assert opens_at((NIGHT, FREEZE), inside) == at("2026-12-27 22:00")
    assert look((FREEZE,), at("2026-12-23 23:59")).open
    assert window_text((FREEZE,), inside).endswith("opens 2026-12-27 00:00 UTC")


def test_one_of_several_allow_windows_is_enough():
    noon = Window(schedule="0 12 * * *", duration=3600.0, manual=True)
    state = look((NIGHT, noon), at("2026-11-23 15:00"))
    assert (state.open, state.manual, state.changes_at) == (False, True, at("2026-11-23 22:00"))
    assert look((NIGHT, noon), at("2026-11-23 12:30")).open
    assert "and 1 more" in state.why


def test_people_pass_only_if_all_open_deny_windows_let_them():
    lax = Window(kind="deny", schedule="0 0 24 12 *", duration=86400.0, manual=True)
    now = at("2026-12-24 10:00")
    assert look((lax,), now).manual
    assert not look((lax, FREEZE), now).manual


def test_what_never_opens_is_told_so():
    always_denied = Window(kind="deny", schedule="* * * * *", duration=3600.0)
    assert opens_at((always_denied,), at("2026-11-23 10:00")) is None
    assert "not within the next months" in window_text((always_denied,), at("2026-11-23 10:00"))


def test_a_window_follows_the_clocks_of_its_zone_when_they_change():
    berlin = Window(schedule="0 22 * * *", duration=3600.0, timezone="Europe/Berlin")
    for day in ("2026-10-24", "2026-10-25", "2026-03-28", "2026-03-29"):
        begin = at(f"{day} 22:00", "Europe/Berlin")
        assert [look((berlin,), begin + each).open for each in (-1, 0, 3599, 3600)] == [False, True, True, False]
    over = Window(schedule="0 1 * * *", duration=3 * 3600.0, timezone="Europe/Berlin")
    begin = at("2026-10-25 01:00", "Europe/Berlin")
    assert look((over,), begin + 3 * 3600 - 1).open
    assert datetime.fromtimestamp(begin + 3 * 3600, ZoneInfo("Europe/Berlin")).hour == 3  # clocks showed 02 twice
    assert not look((over,), begin + 3 * 3600).open


@pytest.mark.parametrize(
    ("window", "message"),
    [
        (Window(schedule="61 * * * *", duration=60.0), "cron '61"),
        (Window(schedule="0 4 * * *", duration=60.0, timezone="Mars/Olympus"), "Mars/Olympus"),
        (Window(schedule="0 0 30 2 *", duration=60.0), "there is no such time"),
    ],
)
def test_what_cannot_be_followed_is_refused(window, message):
    with pytest.raises(BadSchedule, match=message):
        check_window(window)


_WINDOWS = st.builds(
    Window,
    kind=st.sampled_from(["allow", "deny"]),
    schedule=st.sampled_from(["0 * * * *", "*/20 3 * * *", "30 22 * * 1-5", "0 0 1 * *", "15,45 */6 * * 0"]),
    duration=st.sampled_from([60.0, 600.0, 5400.0, 86400.0]),
    manual=st.booleans(),
)


@given(windows=st.lists(_WINDOWS, max_size=4), minute=st.integers(0, 60 * 24 * 40))
def test_as_a_reckoning_that_knows_each_minute(windows, minute):
    now = at("2026-11-01 00:00") + minute * 60
    begun = [_begun(window, now) for window in windows]
    assert [is_active(window, now) for window in windows] == begun
    denied = any(active and window.kind == "deny" for window, active in zip(windows, begun, strict=True))
    allows = [active for window, active in zip(windows, begun, strict=True) if window.kind == "allow"]
    state = look(windows, now)
    assert state.open == (not denied and (not allows or any(allows)))
    if windows:
        assert state.changes_at > now
        before_change = state.changes_at - 1
        assert [is_active(window, before_change) for window in windows] == begun


def _begun(window, now):
    """Whether it begins in any minute from a duration ago to now."""
    moment = datetime.fromtimestamp(now, UTC)
    minutes = int(window.duration // 60)
    return any(_fires(window.schedule, moment - timedelta(minutes=ago)) for ago in range(minutes))


def _fires(expression, moment):
    fields = (moment.minute, moment.hour, moment.day, moment.month, (moment.weekday() + 1) % 7)
    return all(_holds(part, value) for part, value in zip(expression.split(), fields, strict=True))


def _holds(part, value):
    for each in part.split(","):
        span, _, step = each.partition("/")
        first, _, last = span.partition("-")
        if span == "*":
            if value % int(step or 1) == 0:
                return True
        elif int(first) <= value <= int(last or first):
            return True
    return False
