"""What a minion that nobody lets in makes of what nobody confirmed: transcripts, and laws."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minion.agent.autonomy.decision import Tries, Wait
from minion.agent.confirming.decision import GRACE, EndRun, GoBack, UnconfirmedSituation, decide
from minion.agent.confirming.kept import Mark, passed
from reactors.confirmation import ConfirmRules
from reactors.remediation import RetryPolicy
from reactors.windows import Window, look

BASE, NEW = "a" * 64, "b" * 64
NOON = datetime(2026, 11, 25, 12, tzinfo=UTC).timestamp()
NIGHT = Window(schedule="0 22 * * *", duration=7200.0)
RULES = ConfirmRules(confirmed=BASE, seconds=600.0, run_seconds=3600.0)
LATE = UnconfirmedSituation(rules=RULES, waiting=NEW, left=0.0, alone=GRACE)


def ruled(**fields):
    return replace(LATE, rules=ConfirmRules(**{"confirmed": BASE, "seconds": 600.0, "run_seconds": 3600.0, **fields}))


@pytest.mark.parametrize(
    ("situation", "wanted"),
    [
        pytest.param(LATE, GoBack(), id="the time is over"),
        pytest.param(replace(LATE, alone=None), Wait(), id="a controller is there: it decides"),
        pytest.param(replace(LATE, rules=None), Wait(), id="nothing has to be confirmed"),
        pytest.param(replace(LATE, waiting=""), Wait(), id="nothing waits"),
        pytest.param(replace(LATE, waiting=BASE), Wait(), id="it is what is confirmed"),
        pytest.param(replace(LATE, left=40.0), 40.0, id="people have time"),
        pytest.param(replace(LATE, alone=GRACE - 4), 4.0, id="a controller may be started again"),
        pytest.param(replace(LATE, left=40.0, alone=1.0), 40.0, id="the later of the two"),
        pytest.param(ruled(paused=True), None, id="paused"),
        pytest.param(replace(LATE, running=True, busy=True), EndRun(), id="its run does not end"),
        pytest.param(replace(LATE, running=True, left=5.0), 5.0, id="its run may end yet"),
        pytest.param(replace(ruled(paused=True), running=True), None, id="paused: a run is not ended either"),
        pytest.param(replace(LATE, busy=True), Wait(), id="one run at a time"),
        pytest.param(replace(LATE, failures=Tries(count=1, age=10.0)), 20.0, id="it has failed a moment ago"),
        pytest.param(replace(LATE, failures=Tries(count=1, age=30.0)), GoBack(), id="and is tried again"),
        pytest.param(
            replace(ruled(retry=RetryPolicy(limit=1)), failures=Tries(count=2, age=9e9)),
            None,
            id="as often as retry.limit says",
        ),
        pytest.param(ruled(windows=(NIGHT,)), 10 * 3600.0, id="outside of its window"),
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


@pytest.mark.parametrize(
    ("wall", "steady", "boot", "wanted"),
    [
        pytest.param(1010.0, 60.0, "first", 10.0, id="ten seconds later"),
        pytest.param(9999.0, 60.0, "first", 10.0, id="the clock was set forward"),
        pytest.param(1.0, 60.0, "first", 10.0, id="set back"),
        pytest.param(1300.0, 5.0, "second", 300.0, id="the machine was started again"),
        pytest.param(900.0, 5.0, "second", 0.0, id="with a clock that is behind: nothing is taken away"),
        pytest.param(1300.0, 40.0, "first", 300.0, id="an image of the running machine, taken up again"),
    ],
)
def test_time_passes(wall, steady, boot, wanted):
    since = Mark(wall=1000.0, steady=50.0, boot="first")
    assert passed(since, Mark(wall=wall, steady=steady, boot=boot)) == wanted


_SITUATIONS = st.builds(
    UnconfirmedSituation,
    rules=st.none()
    | st.builds(
        ConfirmRules,
        confirmed=st.just(BASE),
        seconds=st.just(600.0),
        run_seconds=st.just(3600.0),
        windows=st.sampled_from([(), (NIGHT,)]),
        retry=st.builds(RetryPolicy, limit=st.sampled_from([None, 0, 3])),
        paused=st.booleans(),
    ),
    waiting=st.sampled_from(["", BASE, NEW]),
    left=st.sampled_from([0.0, 0.1, 600.0]),
    alone=st.none() | st.sampled_from([0.0, GRACE - 0.1, GRACE, 1e6]),
    running=st.booleans(),
    busy=st.booleans(),
    failures=st.builds(Tries, count=st.integers(0, 9), age=st.sampled_from([0.0, 31.0, 4000.0])),
)


@given(situation=_SITUATIONS, minute=st.integers(0, 60 * 24 * 366), step=st.none() | st.floats(-(10.0**8), 10.0**8))
def test_it_goes_back_when_and_only_when_nobody_else_can_say_so(situation, minute, step):
    wall = datetime(2026, 1, 1, tzinfo=UTC).timestamp() + minute * 60
    counted = None if step is None else wall + step
    found = decide(situation, wall, counted)
    rules = situation.rules
    over = (
        rules is not None
        and situation.waiting == NEW
        and situation.left == 0
        and situation.alone is not None
        and situation.alone >= GRACE
        and not rules.paused
    )
    if isinstance(found, EndRun):
        assert over
        assert situation.running
    elif isinstance(found, GoBack):
        assert over
        assert not situation.busy
        assert not situation.running
        assert not rules.windows or (look(rules.windows, wall).open and look(rules.windows, counted).open)
    elif over and not (situation.running or situation.busy or situation.failures.count or rules.windows):
        pytest.fail("it does not go back")
    else:
        assert found.seconds is None or found.seconds > 0
