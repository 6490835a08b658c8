"""The decision table of one minion, case by case, and laws that hold for every state."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.policy.policy import DriftPolicy, MinionPolicy, Policy
from controller.reconcile.deciding.confirming import Confirmation
from controller.reconcile.deciding.decision import autonomy_rules, health_of, reconcile, sync_of
from controller.reconcile.deciding.instructions import (
    Apply,
    ApplyMissed,
    ApplyRequested,
    CheckPush,
    CheckRun,
    Decline,
    Declined,
    LookInShadow,
    ReleaseHold,
    Remediate,
    RemediateApplied,
    RequeueAfter,
    Resend,
    SendApplied,
    SendAutonomy,
    SendDesired,
    SkipCheck,
    TakeApplied,
    TimeOutRun,
    WaitForRemotes,
)
from controller.reconcile.deciding.observed_state import Drift, Health, LastRun, ObservedState, OpenRun, Request, Sync
from reactors.remediation import MOST_ACTING, AutonomyRules, RetryPolicy, backoff, digest_of_rules
from reactors.windows import Window, look

NOW = 1000.0
AUTO = Policy()
REMEDIATE = Policy(drift=DriftPolicy(mode="remediate"))
SYNCED = ObservedState(
    connected=True, paused=False, broken=False, generation=2, desired="b", held="b", sent="", applied="b"
)
PUSHED = replace(SYNCED, held="a", applied="a")
SHUT = Policy(drift=DriftPolicy(mode="remediate"), windows=(Window(schedule="0 4 * * *", duration=3600.0),))
OPENS = 4 * 3600.0
RUN = OpenRun(run_id="r1", digest="b", sent=True, asked_at=NOW - 10)
TEST = OpenRun(run_id="t1", digest="b", sent=True, asked_at=NOW - 10, whole=True)
BAD = LastRun(digest="b", good=False, finished_at=NOW - 10, failures=1)
DRIFT = Drift(run_id="d1", found_at=NOW, chunks=2, remediations=0, remediated_at=0.0)
WAITING = replace(SYNCED, desired="c", drift=DRIFT, gated=True)
MISSED = replace(SYNCED, drift=replace(DRIFT, missed=True))
PART = replace(SYNCED, unchecked="r1")
HELD = replace(SYNCED, hold_until=NOW + 500)
TAKEN_BACK = replace(SYNCED, hold_until=math.inf)


@pytest.mark.parametrize(
    ("state", "policy", "expected"),
    [
        pytest.param(SYNCED, AUTO, [], id="synced: nothing"),
        pytest.param(replace(PUSHED, paused=True, shadow=True), AUTO, [SendDesired()], id="shadow: sent, not applied"),
        pytest.param(
            replace(PUSHED, paused=True, shadow=True, unseen=True),
            AUTO,
            [SendDesired(), LookInShadow()],
            id="shadow: what a push would change is looked at",
        ),
        pytest.param(
            replace(PUSHED, paused=True, shadow=True, unseen=True, open_tests=(replace(RUN, digest="b", whole=True),)),
            AUTO,
            [SendDesired(), RequeueAfter(RUN.asked_at + 3600)],
            id="shadow: it is looked at already",
        ),
        pytest.param(
            replace(SYNCED, paused=True, shadow=True, drift=DRIFT), REMEDIATE, [], id="shadow: drift is not healed"
        ),
        pytest.param(HELD, AUTO, [RequeueAfter(NOW + 500)], id="held: until its time is over"),
        pytest.param(TAKEN_BACK, AUTO, [], id="taken back: for as long as nothing newer is live"),
        pytest.param(
            replace(PUSHED, hold_until=math.inf),
            AUTO,
            [SendDesired(), Apply(whole=False)],
            id="taken back: what is held is applied",
        ),
        pytest.param(replace(TAKEN_BACK, superseded=True), AUTO, [ReleaseHold()], id="taken back: superseded"),
        pytest.param(
            replace(TAKEN_BACK, superseded=True, connected=False), AUTO, [ReleaseHold()], id="superseded while away"
        ),
        pytest.param(
            replace(TAKEN_BACK, drift=DRIFT), REMEDIATE, [Remediate("d1")], id="taken back: drift is healed to that"
        ),
        pytest.param(
            replace(PUSHED, hold_until=math.inf),
            SHUT,
            [RequeueAfter(OPENS)],
            id="taken back: its window is kept",
        ),
        pytest.param(
            replace(PUSHED, hold_until=NOW + 500),
            AUTO,
            [SendDesired(), Apply(whole=False), RequeueAfter(NOW + 500)],
            id="held: what is held is applied",
        ),
        pytest.param(
            replace(HELD, drift=DRIFT),
            REMEDIATE,
            [Remediate("d1"), RequeueAfter(NOW + 500)],
            id="held: drift from what is held is healed",
        ),
        pytest.param(
            replace(PUSHED, hold_until=NOW + 500, last_run=BAD),
            AUTO,
            [SendDesired(), RequeueAfter(NOW - 10 + 30)],
            id="held and failed: a minion has one timer, the earliest",
        ),
        pytest.param(replace(HELD, hold_until=NOW), AUTO, [ReleaseHold()], id="held: its time is over"),
        pytest.param(replace(HELD, hold_until=NOW, connected=False), AUTO, [ReleaseHold()], id="also while it is away"),
        pytest.param(PUSHED, AUTO, [SendDesired(), Apply(whole=False)], id="a push: send and apply what changed"),
        pytest.param(
            replace(PUSHED, open_run=replace(RUN, sent=False), knows_checks=True),
            AUTO,
            [SendDesired(), Resend("r1"), RequeueAfter(RUN.asked_at + 3600)],
            id="a run that may be lost with its connection is asked for again",
        ),
        *(
            pytest.param(
                replace(PUSHED, open_run=replace(RUN, sent=False), knows_checks=True, **change),
                policy,
                [CheckRun("r1"), RequeueAfter(RUN.asked_at + 3600)],
                id=f"but it begins no more: {why}",
            )
            for change, policy, why in (
                ({"paused": True}, AUTO, "paused"),
                ({"gated": True}, AUTO, "the rollout has stopped"),
                ({"desired": "c"}, AUTO, "something newer was pushed"),
                ({}, SHUT, "its window has closed"),
                ({}, Policy(apply="manual"), "a person has to begin it"),
            )
        ),
        pytest.param(
            replace(PUSHED, open_run=replace(RUN, sent=False, person=True), knows_checks=True),
            Policy(apply="manual"),
            [SendDesired(), Resend("r1"), RequeueAfter(RUN.asked_at + 3600)],
            id="a person has begun it",
        ),
        pytest.param(
            replace(PUSHED, open_run=replace(RUN, sent=False), knows_checks=True, taken_back=True),
            AUTO,
            [SendDesired(), Resend("r1"), RequeueAfter(RUN.asked_at + 3600)],
            id="a run away from what was taken back begins",
        ),
        pytest.param(PART, AUTO, [CheckPush("r1")], id="a part was run: the whole is looked at once"),
        pytest.param(
            replace(PART, open_tests=(TEST,)), AUTO, [RequeueAfter(TEST.asked_at + 3600)], id="it is being looked at"
        ),
        pytest.param(
            replace(PUSHED, open_tests=(replace(TEST, sent=False),)),
            AUTO,
            [Resend("t1"), SendDesired(), Apply(whole=False), RequeueAfter(TEST.asked_at + 3600)],
            id="a test that may be lost with its connection is asked for again",
        ),
        pytest.param(
            replace(SYNCED, open_tests=(replace(TEST, asked_at=NOW - 3600), TEST)),
            AUTO,
            [TimeOutRun("t1"), RequeueAfter(NOW)],
            id="a test without an end is given up",
        ),
        pytest.param(PART, Policy(verify="none"), [SkipCheck("r1")], id="policy asks for no check"),
        pytest.param(
            replace(PUSHED, unchecked="r1"), AUTO, [SendDesired(), Apply(whole=False)], id="a push goes first"
        ),
        pytest.param(MISSED, AUTO, [ApplyMissed("d1")], id="what the plan missed is applied"),
        pytest.param(MISSED, Policy(verify="report"), [], id="or only told"),
        pytest.param(replace(PUSHED, sent="b"), AUTO, [Apply(whole=False)], id="sent already"),
        pytest.param(
            replace(PUSHED, applied=""), AUTO, [SendDesired(), Apply(whole=True)], id="the first time: everything"
        ),
        pytest.param(PUSHED, Policy(push="whole"), [SendDesired(), Apply(whole=True)], id="policy asks for everything"),
        pytest.param(PUSHED, SHUT, [RequeueAfter(OPENS)], id="outside its window: it keeps what it was told"),
        pytest.param(
            replace(PUSHED, applied=""), SHUT, [SendDesired(), RequeueAfter(OPENS)], id="outside, the first time"
        ),
        pytest.param(replace(SYNCED, drift=DRIFT), SHUT, [RequeueAfter(OPENS)], id="outside: drift is not healed"),
        pytest.param(MISSED, SHUT, [RequeueAfter(OPENS)], id="outside: what a push missed waits, too"),
        pytest.param(PART, SHUT, [CheckPush("r1")], id="outside: a check changes nothing"),
        pytest.param(
            replace(SYNCED, last_run=replace(BAD, finished_at=NOW - 500)),
            SHUT,
            [RequeueAfter(OPENS)],
            id="outside: nothing is tried again",
        ),
        pytest.param(
            replace(PUSHED, last_run=BAD), Policy(retry=RetryPolicy(limit=0)), [SendDesired()], id="no more attempts"
        ),
        pytest.param(
            replace(PUSHED, last_run=BAD),
            Policy(retry=RetryPolicy(duration=60.0)),
            [SendDesired(), RequeueAfter(NOW - 10 + 60)],
            id="retries wait as policy says",
        ),
        pytest.param(PUSHED, Policy(apply="manual"), [], id="manual: it keeps what it was told"),
        pytest.param(replace(PUSHED, paused=True), AUTO, [], id="paused: it keeps what it was told"),
        pytest.param(replace(PUSHED, applied=""), Policy(apply="manual"), [SendDesired()], id="manual, the first time"),
        pytest.param(
            replace(PUSHED, held="b", sent="b"),
            Policy(apply="manual"),
            [SendApplied()],
            id="manual: what was sent for a test is taken back",
        ),
        pytest.param(replace(PUSHED, held="b", sent="a"), Policy(apply="manual"), [], id="once"),
        pytest.param(
            replace(PUSHED, held=""),
            Policy(apply="manual"),
            [SendApplied()],
            id="manual: a wiped disk gets what was applied",
        ),
        pytest.param(
            replace(PUSHED, last_run=BAD), Policy(apply="manual"), [SendDesired()], id="manual: begun, so it is held"
        ),
        pytest.param(replace(PUSHED, connected=False), AUTO, [], id="away"),
        pytest.param(replace(PUSHED, generation=0, desired=""), AUTO, [], id="nothing compiled"),
        pytest.param(replace(SYNCED, held=""), AUTO, [SendDesired()], id="a wiped disk gets the document back"),
        pytest.param(
            replace(PUSHED, broken=True),
            AUTO,
            [SendDesired(), Apply(whole=False)],
            id="broken: still brought to the last good",
        ),
        pytest.param(replace(SYNCED, open_run=RUN), AUTO, [RequeueAfter(NOW - 10 + 3600)], id="in progress"),
        pytest.param(
            replace(PUSHED, applied_for_others="c", lags=True),
            REMEDIATE,
            [WaitForRemotes()],
            id="another controller may know a newer commit",
        ),
        pytest.param(
            replace(PUSHED, applied_for_others="b", lags=True), AUTO, [TakeApplied()], id="it knows none that is newer"
        ),
        pytest.param(
            replace(PUSHED, applied_for_others="c", lags=True, request=Request(whole=False, test=False)),
            AUTO,
            [SendDesired(), ApplyRequested(whole=False, test=False)],
            id="a person does not wait for remotes",
        ),
        pytest.param(
            replace(SYNCED, held="a", open_run=replace(RUN, sent=False)),
            AUTO,
            [SendDesired(), Resend("r1"), RequeueAfter(NOW - 10 + 3600)],
            id="after a restart: asked again, with its document",
        ),
        pytest.param(
            replace(PUSHED, open_run=replace(RUN, digest="a", sent=False)),
            AUTO,
            [Resend("r1"), RequeueAfter(NOW - 10 + 3600)],
            id="a run of an older document ends first, and keeps that document",
        ),
        pytest.param(
            replace(SYNCED, open_run=replace(RUN, asked_at=NOW - 3600)),
            AUTO,
            [TimeOutRun("r1")],
            id="no result for too long",
        ),
        pytest.param(
            replace(PUSHED, last_run=BAD), AUTO, [SendDesired(), RequeueAfter(NOW - 10 + 30)], id="failed: later"
        ),
        pytest.param(
            replace(PUSHED, last_run=replace(BAD, finished_at=NOW - 31)),
            AUTO,
            [SendDesired(), Apply(whole=True)],
            id="failed: after the back-off everything is looked at",
        ),
        pytest.param(
            replace(SYNCED, last_run=replace(BAD, digest="x")),
            AUTO,
            [Apply(whole=True)],
            id="reverted after a failure: what it may have reached is undone",
        ),
        pytest.param(replace(SYNCED, drift=DRIFT), AUTO, [], id="drift is reported"),
        pytest.param(replace(SYNCED, drift=DRIFT), REMEDIATE, [Remediate("d1")], id="drift is healed"),
        pytest.param(replace(SYNCED, drift=DRIFT, paused=True), REMEDIATE, [], id="not while paused"),
        pytest.param(WAITING, REMEDIATE, [RemediateApplied("d1")], id="drift is healed while a push waits"),
        pytest.param(replace(WAITING, taken_back=True), REMEDIATE, [], id="not from what was taken back"),
        pytest.param(
            replace(SYNCED, drift=DRIFT, taken_back=True, gated=True), REMEDIATE, [], id="nor before it is compiled"
        ),
        pytest.param(
            replace(
                SYNCED, last_run=replace(BAD, digest=SYNCED.desired, finished_at=NOW - 31), taken_back=True, gated=True
            ),
            AUTO,
            [],
            id="what was taken back is not retried before the way back is compiled",
        ),
        pytest.param(
            replace(SYNCED, request=Request(whole=True, test=False), taken_back=True, gated=True),
            AUTO,
            [Decline(Declined.GATED)],
            id="a person does not run what was taken back",
        ),
        pytest.param(
            replace(SYNCED, open_run=replace(RUN, sent=False), knows_checks=True, taken_back=True, gated=True),
            AUTO,
            [CheckRun("r1"), RequeueAfter(NOW - 10 + 3600)],
            id="a run of what was taken back does not begin any more",
        ),
        pytest.param(
            replace(SYNCED, drift=replace(DRIFT, remediations=3, remediated_at=NOW - 1)),
            REMEDIATE,
            [RequeueAfter(NOW - 1 + 120)],
            id="drift that comes back again and again is healed less often",
        ),
        pytest.param(
            replace(SYNCED, drift=replace(DRIFT, touched=True, remediations=4, remediated_at=NOW - 1)),
            REMEDIATE,
            [Remediate("d1", touched=True)],
            id="what others touch is healed at once a few times",
        ),
        pytest.param(
            replace(SYNCED, drift=replace(DRIFT, touched=True, remediations=6, remediated_at=NOW - 1)),
            REMEDIATE,
            [RequeueAfter(NOW - 1 + 120)],
            id="then less often",
        ),
    ],
)
def test_decision(state, policy, expected):
    assert reconcile(state, policy, NOW) == expected


@pytest.mark.parametrize(
    ("state", "sync", "health"),
    [
        (SYNCED, Sync.SYNCED, Health.HEALTHY),
        (PUSHED, Sync.OUT_OF_SYNC, Health.HEALTHY),
        (replace(PUSHED, broken=True), Sync.OUT_OF_SYNC, Health.DEGRADED),
        (replace(SYNCED, broken=True), Sync.OUT_OF_SYNC, Health.DEGRADED),
        (replace(SYNCED, open_run=RUN), Sync.PROGRESSING, Health.PROGRESSING),
        (replace(SYNCED, runs=True), Sync.SYNCED, Health.PROGRESSING),
        (replace(SYNCED, runs=True, drift=DRIFT), Sync.SYNCED, Health.DRIFTED),
        (replace(SYNCED, paused=True), Sync.PAUSED, Health.HEALTHY),
        (replace(SYNCED, paused=True, shadow=True), Sync.SHADOW, Health.HEALTHY),
        (replace(SYNCED, paused=True, shadow=True, drift=DRIFT), Sync.SHADOW, Health.DRIFTED),
        (HELD, Sync.HELD, Health.HEALTHY),
        (replace(HELD, drift=DRIFT), Sync.HELD, Health.DRIFTED),
        (replace(PUSHED, hold_until=NOW + 500), Sync.OUT_OF_SYNC, Health.HEALTHY),
        (replace(SYNCED, generation=0), Sync.UNKNOWN, Health.HEALTHY),
        (replace(PUSHED, last_run=BAD), Sync.OUT_OF_SYNC, Health.FAILED),
        (replace(SYNCED, drift=DRIFT), Sync.SYNCED, Health.DRIFTED),
        (replace(SYNCED, connected=False), Sync.SYNCED, Health.UNREACHABLE),
        (replace(SYNCED, connected=False, open_run=RUN), Sync.SYNCED, Health.UNREACHABLE),
    ],
)
def test_sync_and_health(state, sync, health):
    assert (sync_of(state), health_of(state)) == (sync, health)


VIEWS = st.builds(
    ObservedState,
    connected=st.booleans(),
    paused=st.booleans(),
    broken=st.booleans(),
    generation=st.integers(0, 3),
    desired=st.sampled_from("abc"),
    held=st.sampled_from("abc"),
    sent=st.sampled_from(["", "a", "b", "c"]),
    applied=st.sampled_from(["", "a", "b", "c"]),
    open_run=st.none()
    | st.builds(
        OpenRun, run_id=st.just("r"), digest=st.sampled_from("abc"), sent=st.booleans(), asked_at=st.floats(0, 2000)
    ),
    last_run=st.none()
    | st.builds(
        LastRun,
        digest=st.sampled_from("abc"),
        good=st.booleans(),
        finished_at=st.floats(0, 2000),
        failures=st.integers(1, 40),
    ),
    drift=st.none() | st.just(DRIFT),
)


@given(VIEWS, st.sampled_from([AUTO, REMEDIATE, Policy(apply="manual"), Policy(push="whole")]))
def test_at_most_one_run_and_none_for_the_absent_or_paused(state, policy):
    instructions = reconcile(state, policy, NOW)
    started = [each for each in instructions if isinstance(each, Apply | Remediate)]
    assert len(started) <= 1
    if started:
        assert state.connected
        assert not state.paused
        assert state.open_run is None
    if not state.connected:
        assert instructions == []


@given(
    VIEWS, st.sampled_from([SHUT.windows, (*SHUT.windows, Window(kind="deny", schedule="0 4 * * *", duration=60.0))])
)
def test_nothing_is_changed_by_itself_outside_a_window(state, windows):
    for now in (NOW, OPENS, OPENS + 60.0, OPENS + 3600.0):
        found = reconcile(state, MinionPolicy(drift=DriftPolicy(mode="remediate"), windows=windows), now)
        acts = [each for each in found if isinstance(each, Apply | Remediate | ApplyMissed)]
        assert not acts or look(windows, now).open


@pytest.mark.parametrize(
    ("manual", "test", "declined"), [(False, False, True), (True, False, False), (False, True, False)]
)
def test_a_person_passes_a_window_that_says_so_and_may_always_test(manual, test, declined):
    window = Window(schedule="0 4 * * *", duration=3600.0, manual=manual)
    found = reconcile(replace(PUSHED, request=Request(whole=False, test=test)), Policy(windows=(window,)), NOW)
    assert (found == [Decline(Declined.OUTSIDE_WINDOW)]) == declined
    assert declined or isinstance(found[-1], ApplyRequested)


@given(VIEWS)
def test_a_broken_view_is_never_synced(state):
    assert sync_of(replace(state, broken=True)) is not Sync.SYNCED


def test_backoff_doubles_to_an_hour():
    assert [backoff(count) for count in (1, 2, 3, 8, 50)] == [30, 60, 120, 3600, 3600]


GOOD = LastRun(digest="b", good=True, finished_at=NOW - 10, failures=0)
KNOWS = replace(SYNCED, knows_autonomy=True, last_run=GOOD)
ALONE = AutonomyRules(after=300.0)


@pytest.mark.parametrize(
    ("state", "policy", "wanted"),
    [
        pytest.param(KNOWS, REMEDIATE, ALONE, id="drift is put right alone, too"),
        pytest.param(KNOWS, AUTO, None, id="drift is shown"),
        pytest.param(KNOWS, Policy(drift=DriftPolicy(mode="remediate", autonomy=False)), None, id="not alone"),
        pytest.param(
            KNOWS,
            Policy(drift=DriftPolicy(mode="remediate", autonomy=5.0)),
            AutonomyRules(after=5.0),
            id="after what the policy says",
        ),
        pytest.param(replace(KNOWS, paused=True), REMEDIATE, None, id="paused, or suspended"),
        pytest.param(replace(KNOWS, hold_until=NOW + 9), REMEDIATE, None, id="held for a pull request"),
        pytest.param(replace(KNOWS, taken_back=True), REMEDIATE, None, id="taken back"),
        pytest.param(
            replace(KNOWS, confirmation=Confirmation(confirmed="a", waiting="b", since=NOW)),
            Policy(apply="confirm", drift=DriftPolicy(mode="remediate")),
            None,
            id="nobody has confirmed it yet",
        ),
        pytest.param(KNOWS, SHUT, AutonomyRules(after=300.0, windows=SHUT.windows), id="its windows"),
        pytest.param(
            KNOWS,
            Policy(drift=DriftPolicy(mode="remediate"), retry=RetryPolicy(limit=2)),
            AutonomyRules(after=300.0, retry=RetryPolicy(limit=2)),
            id="its retries",
        ),
        pytest.param(replace(KNOWS, desired="c"), REMEDIATE, ALONE, id="a push that waits changes nothing of them"),
        pytest.param(
            replace(KNOWS, last_run=replace(GOOD, digest="a")),
            REMEDIATE,
            AutonomyRules(after=300.0, applied="b"),
            id="applied without a run: the minion cannot know",
        ),
        pytest.param(
            replace(KNOWS, acting=tuple(map(str, range(1000)))),
            REMEDIATE,
            AutonomyRules(after=300.0, acting=tuple(map(str, range(MOST_ACTING)))),
            id="states that act each time, so many of them",
        ),
    ],
)
def test_what_a_minion_may_do_alone(state, policy, wanted):
    assert autonomy_rules(state, policy) == wanted
    said = reconcile(state, policy, NOW)
    assert [each for each in said if isinstance(each, SendAutonomy)] == (
        [] if wanted is None else [SendAutonomy(wanted)]
    )
    again = replace(state, autonomy=digest_of_rules(wanted))
    assert not [each for each in reconcile(again, policy, NOW) if isinstance(each, SendAutonomy)], "once"


@pytest.mark.parametrize("change", [{"paused": True}, {"hold_until": NOW + 9}])
def test_rules_that_hold_no_more_are_taken_back_first(change):
    state = replace(KNOWS, autonomy=digest_of_rules(ALONE), **change)
    assert reconcile(state, REMEDIATE, NOW)[0] == SendAutonomy(None)
    asked = replace(state, request=Request(whole=False, test=False))
    assert reconcile(asked, REMEDIATE, NOW)[0] == SendAutonomy(None)


@pytest.mark.parametrize("change", [{"connected": False}, {"follows": False}, {"knows_autonomy": False}])
def test_rules_are_for_minions_that_can_take_them(change):
    assert not [each for each in reconcile(replace(KNOWS, **change), REMEDIATE, NOW) if isinstance(each, SendAutonomy)]
