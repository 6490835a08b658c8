"""What a minion that reaches no controller decides: transcripts, and laws under anything that may come together."""

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minion.agent.autonomy.decision import DriftReport, RemediateAlone, Situation, Tries, Wait, decide
from reactors.remediation import AutonomyRules, RetryPolicy
from reactors.windows import Window, look
from wire.messages import APPLIES_NOW, NOT_APPLIED

HELD, OTHER = "d" * 64, "e" * 64
NOON = datetime(2026, 11, 25, 12, tzinfo=UTC).timestamp()
REPORT = DriftReport(run_id="drift-web1-1", digest=HELD, keys=frozenset(("file_|-a_|-a_|-managed",)))
RULES = AutonomyRules(after=300.0)
DRIFTED = Situation(rules=RULES, alone=300.0, report=REPORT, held=HELD, applied=HELD)
NIGHT = Window(schedule="0 22 * * *", duration=7200.0)
FREEZE = Window(kind="deny", schedule="0 0 24 12 *", duration=3 * 86400.0)


def with_rules(**fields):
    return replace(DRIFTED, rules=AutonomyRules(**{"after": 300.0, **fields}))


def tried(count, age=0.0):
    return Tries(count=count, age=age)


HEALS = RemediateAlone(REPORT, frozenset())


@pytest.mark.parametrize(
    ("situation", "wanted"),
    [
        pytest.param(DRIFTED, HEALS, id="drift is put right"),
        pytest.param(replace(DRIFTED, alone=None), Wait(), id="a controller is there: it decides"),
        pytest.param(replace(DRIFTED, report=None), Wait(), id="nothing differs"),
        pytest.param(replace(DRIFTED, rules=None), None, id="paused, suspended, report, or nothing was said"),
        pytest.param(replace(DRIFTED, alone=299.0), 1.0, id="a controller may come back"),
        pytest.param(replace(DRIFTED, busy=True), Wait(), id="one run at a time"),
        pytest.param(replace(DRIFTED, held=OTHER), None, id="the report is about another document"),
        pytest.param(replace(DRIFTED, applied=OTHER), None, id="a push has come that was not run"),
        pytest.param(replace(DRIFTED, applied=""), None, id="nobody knows what was applied"),
        pytest.param(replace(with_rules(applied=HELD), applied=OTHER), HEALS, id="applied, as it changed no state"),
        pytest.param(replace(DRIFTED, applied=NOT_APPLIED), None, id="the push has failed"),
        pytest.param(replace(DRIFTED, applied=APPLIES_NOW), None, id="the run of the push was lost"),
        pytest.param(with_rules(acting=tuple(REPORT.keys)), None, id="it acts each time, as the controller knows"),
        pytest.param(replace(DRIFTED, acting=REPORT.keys), None, id="it acts each time, as was seen meanwhile"),
        pytest.param(
            with_rules(acting=("cmd_|-b_|-b_|-run",)),
            RemediateAlone(REPORT, frozenset(("cmd_|-b_|-b_|-run",))),
            id="in part",
        ),
        pytest.param(with_rules(windows=(NIGHT,)), 10 * 3600.0, id="outside of its window"),
        pytest.param(with_rules(windows=(FREEZE,)), HEALS, id="nothing is denied now"),
        pytest.param(
            with_rules(windows=(Window(schedule="0 22 * * *", duration=7200.0, timezone="Mars/Olympus"),)),
            None,
            id="a window that cannot be followed is closed",
        ),
        pytest.param(replace(DRIFTED, remediations=tried(1)), HEALS, id="once more at once"),
        pytest.param(replace(DRIFTED, remediations=tried(2, 20.0)), 40.0, id="the third waits for a minute"),
        pytest.param(replace(DRIFTED, remediations=tried(2, 61.0)), HEALS, id="and comes then"),
        pytest.param(
            replace(DRIFTED, report=replace(REPORT, touched=True), remediations=tried(4)),
            RemediateAlone(replace(REPORT, touched=True), frozenset()),
            id="what is touched four times at once",
        ),
        pytest.param(
            replace(DRIFTED, report=replace(REPORT, touched=True), remediations=tried(5)), 60.0, id="then with pauses"
        ),
        pytest.param(
            replace(DRIFTED, applied=NOT_APPLIED, failures=tried(1, 10.0)), 20.0, id="its own failure is tried again"
        ),
        pytest.param(replace(DRIFTED, applied=NOT_APPLIED, failures=tried(1, 30.0)), HEALS, id="after the pause"),
        pytest.param(
            replace(DRIFTED, report=replace(REPORT, keys=frozenset()), failures=tried(1, 30.0)),
            RemediateAlone(replace(REPORT, keys=frozenset()), frozenset()),
            id="also where nothing differs any more: what a change sets off has failed",
        ),
        pytest.param(
            replace(with_rules(retry=RetryPolicy(limit=1)), applied=NOT_APPLIED, failures=tried(2, 9e9)),
            None,
            id="as often as retry.limit says",
        ),
    ],
)
def test_decides(situation, wanted):
    found = decide(situation, NOON, NOON)
    if wanted is None:
        assert isinstance(found, Wait)
        assert found.seconds is None
        assert found.why
    elif isinstance(wanted, float):
        assert isinstance(found, Wait)
        assert found.seconds == pytest.approx(wanted)
    else:
        assert found == wanted


def at(text, zone="UTC"):
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def berlin(schedule, hours, kind="allow"):
    return Window(kind=kind, schedule=schedule, duration=hours * 3600.0, timezone="Europe/Berlin")


@pytest.mark.parametrize(
    ("window", "utc", "heals"),
    [
        pytest.param(berlin("0 22 * * *", 2), "2026-03-28T21:30", True, id="22:30 in winter"),
        pytest.param(berlin("0 22 * * *", 2), "2026-03-28T20:30", False, id="21:30 in winter"),
        pytest.param(berlin("0 22 * * *", 2), "2026-03-29T20:30", True, id="22:30 in summer, a day later"),
        pytest.param(berlin("0 22 * * *", 2), "2026-03-29T22:30", False, id="00:30 in summer"),
        pytest.param(berlin("0 1 * * *", 2), "2026-03-29T00:59", True, id="01:59, before the hour that is left out"),
        pytest.param(berlin("0 1 * * *", 2), "2026-03-29T01:59", True, id="03:59: two hours by the clock that runs on"),
        pytest.param(berlin("0 1 * * *", 2), "2026-03-29T02:00", False, id="04:00: they are over"),
        pytest.param(berlin("0 1 * * *", 2), "2026-10-24T23:30", True, id="01:30, before the hour that comes twice"),
        pytest.param(berlin("0 1 * * *", 2), "2026-10-25T00:30", True, id="02:30 for the first time"),
        pytest.param(berlin("0 1 * * *", 2), "2026-10-25T01:00", False, id="02:00 for the second time"),
        pytest.param(berlin("0 3 * * *", 1), "2026-10-25T01:59", False, id="02:59 for the second time"),
        pytest.param(berlin("0 3 * * *", 1), "2026-10-25T02:00", True, id="03:00 of the longer night"),
        pytest.param(berlin("0 0 29 3 *", 24, "deny"), "2026-03-28T22:59", True, id="before a day that denies"),
        pytest.param(berlin("0 0 29 3 *", 24, "deny"), "2026-03-28T23:00", False, id="midnight there"),
        pytest.param(berlin("0 0 29 3 *", 24, "deny"), "2026-03-29T22:59", False, id="24 hours, of a day of 23"),
        pytest.param(berlin("0 0 29 3 *", 24, "deny"), "2026-03-29T23:00", True, id="after it"),
    ],
)
def test_windows_follow_the_clocks_of_their_zone(window, utc, heals):
    time = at(utc)
    assert isinstance(decide(with_rules(windows=(window,)), time, time), RemediateAlone) is heals


NINE_TO_ELEVEN_PM = with_rules(windows=(Window(schedule="0 21 * * *", duration=7200.0),))


@pytest.mark.parametrize(
    ("wall", "counted", "wanted"),
    [
        pytest.param("2026-11-25T21:30", "2026-11-25T21:30:01", HEALS, id="both say so"),
        pytest.param("2026-11-25T21:30", "2026-11-25T12:00", 9 * 3600.0, id="set forward into the window"),
        pytest.param("2026-11-25T21:30", "2026-11-25T23:10", 78600.0, id="set back into it, or stopped there"),
        pytest.param("2026-11-25T12:00", "2026-11-25T21:30", 9 * 3600.0, id="set out of it"),
        pytest.param("2026-11-25T21:30", None, None, id="a restarted machine that says a time that is past"),
    ],
)
def test_a_clock_that_somebody_sets_opens_no_window(wall, counted, wanted):
    found = decide(NINE_TO_ELEVEN_PM, at(wall), at(counted) if counted else None)
    assert found == HEALS if wanted is HEALS else found.seconds == wanted


def test_without_windows_no_clock_is_asked():
    assert decide(DRIFTED, 0.0, None) == HEALS


_WINDOWS = st.builds(
    Window,
    kind=st.sampled_from(["allow", "deny"]),
    schedule=st.sampled_from(["0 * * * *", "*/20 3 * * *", "30 22 * * 1-5", "15,45 */6 * * 0", "30 2 * * *"]),
    duration=st.sampled_from([60.0, 600.0, 5400.0, 86400.0]),
    timezone=st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe"]),
    manual=st.booleans(),
)
_STREAKS = st.builds(Tries, count=st.integers(0, 9), age=st.sampled_from([0.0, 29.0, 61.0, 4000.0]))
_RULES = st.builds(
    AutonomyRules,
    after=st.sampled_from([1.0, 300.0]),
    windows=st.lists(_WINDOWS, max_size=3).map(tuple),
    retry=st.builds(RetryPolicy, limit=st.sampled_from([None, 0, 3])),
    applied=st.sampled_from(["", HELD, OTHER]),
    acting=st.sampled_from([(), tuple(REPORT.keys)]),
)
_SITUATIONS = st.builds(
    Situation,
    rules=st.none() | _RULES,
    alone=st.none() | st.sampled_from([0.0, 299.9, 300.0, 1e6]),
    report=st.none()
    | st.builds(replace, st.just(REPORT), touched=st.booleans(), digest=st.sampled_from([HELD, OTHER])),
    held=st.sampled_from(["", HELD, OTHER]),
    applied=st.sampled_from(["", HELD, OTHER, NOT_APPLIED, APPLIES_NOW]),
    busy=st.booleans(),
    acting=st.sampled_from([frozenset(), REPORT.keys]),
    failures=_STREAKS,
    remediations=_STREAKS,
)


_STEPS = st.none() | st.just(0.0) | st.floats(-(10.0**8), 10.0**8)
"""By how much somebody has set the clock of the machine."""


@given(situation=_SITUATIONS, minute=st.integers(0, 60 * 24 * 366), step=_STEPS)
def test_nothing_is_done_that_the_policy_does_not_allow(situation, minute, step):
    wall = datetime(2026, 1, 1, tzinfo=UTC).timestamp() + minute * 60
    counted = None if step is None else wall + step
    found = decide(situation, wall, counted)
    if isinstance(found, Wait):
        assert found.seconds is None or found.seconds >= 0
        return
    rules = situation.rules
    assert rules is not None, "paused, suspended or never told"
    assert situation.alone is not None, "a controller is there"
    assert situation.alone >= rules.after
    if rules.windows:
        assert counted is not None, "nobody knows what the time is"
        assert look(rules.windows, wall).open
        assert look(rules.windows, counted).open
    assert not situation.busy
    assert situation.held == situation.report.digest
    assert situation.failures.count or situation.held in (situation.applied, rules.applied)
    assert situation.failures.count or situation.report.keys - found.left_out


@given(situation=_SITUATIONS, minute=st.integers(0, 60 * 24 * 366))
def test_when_it_says_to_look_again_something_else_comes_of_it_or_another_reason(situation, minute):
    """So that the agent neither sleeps through the end of a pause nor turns round and round."""
    wall = datetime(2026, 1, 1, tzinfo=UTC).timestamp() + minute * 60
    found = decide(situation, wall, wall)
    if not isinstance(found, Wait) or found.seconds is None:
        return
    seconds = found.seconds + 1e-6
    later = replace(
        situation,
        alone=situation.alone + seconds,
        failures=replace(situation.failures, age=situation.failures.age + seconds),
        remediations=replace(situation.remediations, age=situation.remediations.age + seconds),
    )
    again = decide(later, wall + found.seconds, wall + found.seconds)
    assert not isinstance(again, Wait) or again.seconds is None or again.seconds > 0
