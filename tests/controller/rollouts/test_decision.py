"""How rollouts go on, as transcripts, and under any interleaving of what may happen to them."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from controller.policy.policy import MinionPolicy
from controller.policy.rollout import Gate, RolloutPolicy
from controller.reconcile.deciding.observed_state import LastRun, ObservedState, OpenRun
from controller.rollouts.decision import (
    GATE_SECONDS,
    CheckGates,
    DecideAgainAt,
    GateState,
    Release,
    RollBack,
    Seen,
    Standing,
    decide,
    standing_of,
)
from controller.rollouts.rollout import Batch, Consent, Phase, Rollout
from reactors.windows import Window

GOOD, BAD, OPEN, AWAY, SHUT = Standing.GOOD, Standing.FAILED, Standing.PENDING, Standing.ABSENT, Standing.WAITING


def rollout(*batches, policy=None, **changes):
    made = tuple(each if isinstance(each, Batch) else Batch(wave="all", minions=tuple(each)) for each in batches)
    policy = policy or RolloutPolicy()
    return Rollout(id="r", revision="d", label="abc", created=0.0, policy=policy, batches=made, **changes)


def go(one, standings, now=1.0, **seen):
    """Decide until it stays the same; all that is to be done."""
    done = []
    for _ in range(50):
        changed, instructions = decide(one, Seen(standings=standings, **seen), now)
        done += [each for each in instructions if each not in done]
        if changed == one:
            return one, done
        one = changed
    raise AssertionError("it does not come to rest")


def test_batches_come_one_after_another():
    one, done = go(rollout(["a"], ["b"]), {"a": OPEN})
    assert done == [Release(("a",)), DecideAgainAt(3601.0)]
    one, done = go(one, {"a": GOOD, "b": OPEN}, 2.0)
    assert Release(("b",)) in done
    one, done = go(one, {"a": GOOD, "b": GOOD}, 3.0)
    assert (one.phase, done) == (Phase.COMPLETED, [])


def test_a_failure_stops_it_and_the_next_batch_is_not_released():
    one, done = go(rollout(["a"], ["b"]), {"a": BAD})
    assert (one.phase, one.why, one.current) == (Phase.FAILED, "failed on a", 0)
    assert Release(("b",)) not in done
    assert go(one, {"a": GOOD}) == (one, []), "it does not go on by itself"


def test_some_may_fail():
    policy = RolloutPolicy(max_failures="50%")
    one, _ = go(rollout(["a", "b"], ["c", "d"], policy=policy), {"a": BAD, "b": BAD, "c": GOOD, "d": GOOD})
    assert one.phase is Phase.COMPLETED
    one, _ = go(rollout(["a", "b"], ["c", "d"], policy=policy), {"a": BAD, "b": BAD, "c": BAD, "d": GOOD})
    assert one.phase is Phase.FAILED


def test_a_failure_takes_the_revision_back_where_policy_says_so():
    one, done = go(rollout(["a"], ["b"], policy=RolloutPolicy(on_failure="rollback")), {"a": BAD})
    assert one.phase is Phase.ROLLED_BACK
    assert done == [Release(("a",)), RollBack()]


def test_one_that_comes_to_no_end_or_disconnects_in_the_middle_counts_as_failed_after_a_time():
    for standing in (OPEN, AWAY):
        one, _ = go(rollout(["a", "b"], policy=RolloutPolicy(timeout=10.0)), {"a": OPEN, "b": GOOD}, 1.0)
        assert go(one, {"a": standing, "b": GOOD}, 10.9)[0].phase is Phase.PROGRESSING
        assert go(one, {"a": standing, "b": GOOD}, 11.0)[0].why == "failed on a"


def test_nobody_waits_for_a_minion_that_was_not_there_but_a_canary_must_be():
    assert go(rollout(["a", "b"], ["c"]), {"a": AWAY, "b": GOOD, "c": GOOD})[0].phase is Phase.COMPLETED
    one, done = go(rollout(Batch(wave="all", canary=True, minions=("a",)), ["b"]), {"a": AWAY, "b": GOOD})
    assert (one.phase, one.why, done) == (Phase.PROGRESSING, "no minion of all (canary) is connected", [])


def test_it_waits_for_windows_without_a_time_limit():
    one, _ = go(rollout(["a"], ["b"], policy=RolloutPolicy(timeout=5.0)), {"a": SHUT}, 1.0)
    one, done = go(one, {"a": SHUT}, 1e6)
    assert (one.current, one.why, done) == (0, "1 wait for their windows", [])


def test_a_batch_has_to_be_well_for_a_time():
    one, _ = go(rollout(Batch(wave="all", minions=("a",), soak=60.0), ["b"]), {"a": GOOD}, 1.0)
    assert go(one, {"a": GOOD}, 60.9)[1] == [DecideAgainAt(61.0)]
    again, _ = go(one, {"a": AWAY}, 30.0)
    assert again.well_since is None, "it counts anew"
    assert go(one, {"a": GOOD, "b": GOOD}, 61.0)[0].phase is Phase.COMPLETED


def test_gates_are_asked_again_until_they_pass_or_their_time_is_over():
    gate = Gate(command="smoke")
    one, done = go(rollout(Batch(wave="all", minions=("a",), gates=(gate,))), {"a": GOOD}, 1.0)
    assert done[-1] == CheckGates()
    failing = {"gates": GateState.FAILED, "gates_at": 2.0, "gates_why": "command: smoke: exit code 1"}
    told, done = go(one, {"a": GOOD}, 3.0, **failing)
    assert (told.why, done) == ("gate: command: smoke: exit code 1", [DecideAgainAt(2.0 + GATE_SECONDS)])
    assert go(one, {"a": GOOD}, 2.0 + GATE_SECONDS, **failing)[1] == [CheckGates()]
    assert go(one, {"a": GOOD}, 601.0, **failing)[0].phase is Phase.FAILED
    assert go(one, {"a": GOOD}, 3.0, gates=GateState.PASSED, gates_at=2.0)[0].phase is Phase.COMPLETED


def test_approvals_promotion_and_confirmation():
    one = rollout(["a"], Batch(wave="b", minions=("b",), approve=True), needs=2, policy=RolloutPolicy(confirm=60.0))
    one, done = go(one, {})
    assert (one.phase, one.why, done) == (Phase.PENDING, "0 of 2 approvals: `saltern rollout approve`", [])
    one = replace(one, approvals=(Consent(user="x", at=1.0), Consent(user="y", at=1.0)))
    one, _ = go(one, {"a": GOOD})
    assert (one.phase, one.current) == (Phase.WAITING, 1)
    assert replace(one, phase=Phase.PROGRESSING).waits_for_promotion, "who resumes it, and promotes it at once"
    assert not replace(one, current=0).waits_for_promotion
    assert not replace(one, promoted=2).waits_for_promotion
    assert not replace(one, released_at=1.0).waits_for_promotion
    one, _ = go(replace(one, promoted=2), {"a": GOOD, "b": GOOD}, 5.0)
    assert one.phase is Phase.CONFIRMING
    assert go(one, {"a": GOOD, "b": GOOD}, 64.9)[1] == [DecideAgainAt(65.0)]
    one, done = go(one, {"a": GOOD, "b": GOOD}, 65.0)
    assert (one.phase, done) == (Phase.ROLLED_BACK, [RollBack()])


def test_a_paused_one_does_nothing():
    one = rollout(["a"], phase=Phase.PAUSED)
    assert go(one, {"a": BAD}, 1e9) == (one, [])


def state(**changes):
    base = {"connected": True, "paused": False, "broken": False, "generation": 2, "desired": "new", "held": "new"}
    return ObservedState(**{**base, "sent": "", "applied": "old", **changes})


def test_standings():
    bad = LastRun(digest="new", good=False, finished_at=10.0, failures=1)
    running = OpenRun(run_id="1", digest="new", sent=True, asked_at=1.0)
    shut = MinionPolicy(windows=(Window(schedule="0 0 29 2 *", duration=60.0),))
    cases = [
        (state(), MinionPolicy(), OPEN),
        (state(applied="new"), MinionPolicy(), GOOD),
        (state(open_run=running), MinionPolicy(), OPEN),
        (state(last_run=bad), MinionPolicy(), BAD),
        (state(last_run=replace_run(bad, finished_at=4.0)), MinionPolicy(), OPEN),
        (state(connected=False), MinionPolicy(), AWAY),
        (state(connected=False, last_run=bad), MinionPolicy(), BAD),
        (state(paused=True, last_run=bad), MinionPolicy(), Standing.HELD),
        (state(), MinionPolicy(apply="manual"), Standing.HELD),
        (state(), shut, SHUT),
    ]
    for seen, policy, wanted in cases:
        assert standing_of(seen, policy, 1_700_000_000.0, 5.0) is wanted


def replace_run(run, **changes):
    return LastRun(**{name: changes.get(name, getattr(run, name)) for name in run.__dataclass_fields__})


class AnyInterleaving(RuleBasedStateMachine):
    """Minions fail, leave and come back, people interfere and time passes: what must never be otherwise is asserted."""

    def __init__(self):
        super().__init__()
        policy = RolloutPolicy(timeout=50.0, on_failure="rollback", confirm=30.0, max_failures=1)
        batches = (
            Batch(wave="a", canary=True, minions=("a1",), soak=5.0),
            Batch(wave="a", minions=("a2", "a3")),
            Batch(wave="b", minions=("b1", "b2"), approve=True),
        )
        self.one = rollout(*batches, policy=policy, needs=1)
        self.standings = dict.fromkeys(("a1", "a2", "a3", "b1", "b2"), GOOD)
        self.now, self.released, self.back = 1.0, [], 0

    @rule(minion=st.sampled_from(["a1", "a2", "a3", "b1", "b2"]), standing=st.sampled_from([*Standing]))
    def minion(self, minion, standing):
        self.standings[minion] = standing

    @rule(seconds=st.floats(0.1, 60.0))
    def pass_time(self, seconds):
        self.now += seconds

    @rule()
    def look(self):
        before = self.one
        self.one, done = go(self.one, self.standings, self.now)
        for each in done:
            if isinstance(each, Release):
                assert before.phase is not Phase.PAUSED
                assert len(self.one.approvals) >= self.one.needs
                self.released += each.minions
            self.back += isinstance(each, RollBack)

    @rule()
    def crash(self):
        """What is kept is the record: it decides the same again."""
        self.one = replace(self.one)

    @precondition(lambda self: not self.one.ended)
    @rule(phase=st.sampled_from([Phase.PAUSED, Phase.PROGRESSING]))
    def pause_or_resume(self, phase):
        self.one = replace(self.one, phase=phase, since=self.now)

    @rule()
    def approve(self):
        self.one = replace(self.one, approvals=(*self.one.approvals, Consent(user="x", at=self.now)))

    @precondition(lambda self: self.one.phase is Phase.WAITING)
    @rule()
    def promote(self):
        self.one = replace(self.one, promoted=self.one.current + 1)

    @invariant()
    def in_order_and_once(self):
        assert self.released == ["a1", "a2", "a3", "b1", "b2"][: len(self.released)]
        assert self.back == (self.one.phase is Phase.ROLLED_BACK)
        if "b1" in self.released:
            assert self.one.promoted == 3
        if self.one.phase is Phase.COMPLETED:
            assert len(self.released) == 5


AnyInterleaving.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestAnyInterleaving = AnyInterleaving.TestCase
