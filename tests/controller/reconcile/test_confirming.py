"""What becomes of changes that somebody has to confirm, case by case, and laws that hold for every course of things."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.policy.policy import MinionPolicy
from controller.reconcile.deciding.confirming import (
    TAKE_BACK_AGAIN,
    Confirmation,
    ForgetConfirmation,
    NoteConfirmation,
    ReachedDocument,
    TakeBack,
    confirming,
)
from controller.reconcile.deciding.decision import reconcile
from controller.reconcile.deciding.instructions import RequeueAfter
from controller.reconcile.deciding.observed_state import LastRun, ObservedState, OpenRun

NOW = 1000.0
CONFIRM = MinionPolicy(apply="confirm", confirm=60.0)
BASE = Confirmation(confirmed="a")
WAITS = Confirmation(confirmed="a", waiting="b", since=NOW - 10)
LATE = replace(WAITS, since=NOW - 60)
HAS_BASE = ReachedDocument(applied="a", digest="a", unchanged=False, busy=False, paused=False)
HAS_NEW = replace(HAS_BASE, applied="b", digest="b")


@pytest.mark.parametrize(
    ("known", "reached", "policy", "expected"),
    [
        pytest.param(None, HAS_BASE, MinionPolicy(), (None, None), id="auto: nothing is kept"),
        pytest.param(WAITS, HAS_NEW, MinionPolicy(), (ForgetConfirmation(), None), id="no longer asked for"),
        pytest.param(None, HAS_BASE, CONFIRM, (NoteConfirmation(applied=True), None), id="what it has is confirmed"),
        pytest.param(None, replace(HAS_BASE, applied="", digest=""), CONFIRM, (None, None), id="it has nothing yet"),
        pytest.param(BASE, HAS_BASE, CONFIRM, (None, None), id="nothing waits"),
        pytest.param(BASE, HAS_NEW, CONFIRM, (NoteConfirmation(waiting="b"), None), id="the time begins"),
        pytest.param(
            BASE,
            replace(HAS_NEW, unchanged=True),
            CONFIRM,
            (NoteConfirmation(applied=True), None),
            id="changed nothing",
        ),
        pytest.param(
            replace(WAITS, waiting="c"),
            replace(HAS_NEW, unchanged=True),
            CONFIRM,
            (NoteConfirmation(waiting="b"), None),
            id="changed nothing after what waits: waits too",
        ),
        pytest.param(BASE, replace(HAS_NEW, busy=True), CONFIRM, (None, None), id="a run goes on"),
        pytest.param(LATE, replace(HAS_NEW, busy=True), CONFIRM, (None, None), id="its end is waited for"),
        pytest.param(
            BASE, replace(HAS_BASE, digest="b"), CONFIRM, (NoteConfirmation(waiting="b"), None), id="a run that failed"
        ),
        pytest.param(WAITS, HAS_NEW, CONFIRM, (None, NOW + 50), id="there is time"),
        pytest.param(LATE, HAS_NEW, CONFIRM, (TakeBack(), NOW + TAKE_BACK_AGAIN), id="the time is over"),
        pytest.param(LATE, replace(HAS_NEW, paused=True), CONFIRM, (None, None), id="paused: nothing is done"),
        pytest.param(LATE, HAS_BASE, CONFIRM, (NoteConfirmation(), None), id="git took it back meanwhile"),
    ],
)
def test_cases(known, reached, policy, expected):
    assert confirming(known, reached, policy, NOW) == expected


def state(**more):
    return ObservedState(
        connected=True, paused=False, broken=False, generation=2, desired="b", held="b", sent="", applied="b", **more
    )


def test_a_minion_that_is_away_goes_back_too_and_one_that_holds_something_does_not():
    away = replace(state(confirmation=LATE), connected=False)
    assert reconcile(away, CONFIRM, NOW) == [TakeBack(), RequeueAfter(NOW + TAKE_BACK_AGAIN)]
    assert reconcile(state(confirmation=LATE, hold_until=NOW + 5), CONFIRM, NOW) == [RequeueAfter(NOW + 5)]
    assert reconcile(replace(state(confirmation=LATE), follows=False), CONFIRM, NOW) == []


def test_one_timer_counts_the_earliest():
    bad = LastRun(digest="b", good=False, finished_at=NOW - 1, failures=1)
    found = reconcile(state(confirmation=WAITS, last_run=bad), CONFIRM, NOW)
    assert found == [RequeueAfter(NOW + 29)], "the retry comes before"
    run = OpenRun(run_id="r", digest="b", sent=True, asked_at=NOW)
    assert reconcile(state(confirmation=LATE, open_run=run), CONFIRM, NOW) == [RequeueAfter(NOW + 3600)]


_DIGESTS = st.sampled_from("abc")


@given(
    steps=st.lists(st.tuples(_DIGESTS, st.booleans(), st.floats(0, 100), st.booleans()), max_size=12),
)
def test_nothing_that_changed_something_stays_without_a_confirmation(steps):
    """Runs end, time goes by, the controller asks: what changed goes back when, and only when, its time is over."""
    now, confirmed, known = NOW, "a", Confirmation(confirmed="a")
    for digest, changed, seconds, confirms in steps:
        reached = ReachedDocument(applied=digest, digest=digest, unchanged=not changed, busy=False, paused=False)
        for _ in range(3):  # the shell keeps a note, and asks again
            what, again = confirming(known, reached, CONFIRM, now)
            if not isinstance(what, NoteConfirmation):
                break
            if what.applied:
                assert not changed
                known = Confirmation(confirmed=digest)
                confirmed = digest
            else:
                known = replace(known, waiting=what.waiting, since=now if what.waiting else 0.0)
        assert known.confirmed == confirmed
        assert bool(known.waiting) == (digest != confirmed)
        if known.waiting:
            assert what is None or now >= known.since + CONFIRM.confirm
            assert again is not None
            what, _ = confirming(known, reached, CONFIRM, known.since + CONFIRM.confirm)
            assert what == TakeBack()
            if confirms:
                known, confirmed = Confirmation(confirmed=digest), digest
        now += seconds
