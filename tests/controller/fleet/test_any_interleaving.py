"""A fleet under any interleaving of pushes, kills, disconnections, failures, drift, people, windows and hours.

The decisions, their shells and the store are real (`simulated_fleet`); what policy allows is asked of a model that was
written apart (`policy_model`).

- No run begins on a minion that policy, a window, a person or a rollout keeps it from, nor one of a revision that was
  taken back or that nobody wants any more.
- What was taken back never goes live by itself.
- In the end each minion has the newest revision that it may have.

The same holds for a run that was asked for before, and is asked for again after its connection was lost.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import shutil
import tempfile
from datetime import datetime
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

import effort
import hypothesis.strategies as st
import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import Phase as Drawing
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from policy_model import DailyWindow, PolicyFacts, RolloutFacts
from simulated_fleet import Commit, SimulatedFleet
from weighted_rules import WeightedRules

from controller.reconcile.deciding.observed_state import Request
from controller.rollouts.quarantine import CannotRollBack
from controller.rollouts.rollout import Phase
from controller.rollouts.rollouts import NotPossible
from controller.store import Store

pytestmark = pytest.mark.timeout(7200 if effort.FULL else 600)

MINIONS = ("db1", "db2", "web1", "web2")
BEGIN = datetime(2026, 3, 28, 12, 0, tzinfo=ZoneInfo("Europe/Berlin")).timestamp()
"""The clocks are changed in the night that follows."""
HOUR = 3600.0
RUNNING = (Phase.PROGRESSING, Phase.WAITING, Phase.CONFIRMING)

targets = st.sampled_from(["*", "web*", "db*", "web1", "db1"])
windows = st.builds(
    DailyWindow,
    kind=st.sampled_from(["allow", "deny"]),
    hour=st.sampled_from([5, 12, 22]),
    hours=st.sampled_from([1, 4]),
    zone=st.sampled_from(["UTC", "Europe/Berlin"]),
    manual=st.booleans(),
    target=targets,
)
rollouts = st.builds(
    RolloutFacts,
    batch=st.sampled_from([1, 2]),
    canary=st.sampled_from([0, 1]),
    on_failure=st.sampled_from(["stop", "rollback"]),
    confirm=st.booleans(),
    approvals=st.sampled_from([0, 0, 1, 2]),
    promote=st.booleans(),
)
policies = st.builds(
    PolicyFacts,
    manual=st.sampled_from(["", "", "", "web1", "db*"]),
    suspended=st.sampled_from(["", "", "", "db1"]),
    windows=st.lists(windows, max_size=2).map(tuple) | st.just(()),
    remediate=st.booleans(),
    limit=st.sampled_from([None, None, 0, 1]),
    rollout=st.none() | rollouts,
)
minions = st.sampled_from(MINIONS)
people = st.sampled_from(["alice", "bob"])


MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
"""Nobody pulls the plug here, so that no write has to wait for a disk."""


@cache
def empty_database() -> Path:
    """A file with the tables."""
    folder = Path(tempfile.mkdtemp(prefix="saltern-fleet-", dir=MEMORY))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    Store(f"sqlite:///{folder}/store.sqlite").close()
    return folder / "store.sqlite"


class AnyInterleaving(WeightedRules, RuleBasedStateMachine):
    """See the module."""

    def __init__(self):
        super().__init__()
        self.logged = structlog.get_config()
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
        self.folder = Path(tempfile.mkdtemp(prefix="saltern-fleet-", dir=MEMORY))
        self.fleet = None

    @initialize(facts=policies)
    def begin(self, facts):
        shutil.copy(empty_database(), self.folder / "store.sqlite")
        self.paused_rollouts = set()
        self.facts, self.paused, self.taken_back, self.wrong = {0: facts}, set(), set(), []
        first = Commit(0, facts.text, dict.fromkeys(MINIONS, "0"))
        url = f"sqlite:///{self.folder}/store.sqlite"
        self.fleet = SimulatedFleet(url, MINIONS, first, BEGIN, self.run_is_sent)
        self.fails, self.asking = True, ""
        self.all_connect()
        self.all_go_on(4)

    def teardown(self):
        structlog.configure(**self.logged)
        if self.fleet is not None:
            try:
                self.comes_to_its_end()
            finally:
                self.fleet.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- what happens ---

    def act(self, act, *, seconds=0.1):
        """Do something, and let what follows at once follow. A kill on the way is survived."""
        self.asking = ""
        if self.fleet.survive(act):
            self.fleet.survive(lambda: self.fleet.loop.pass_time(seconds))
        self.note_taken_back()

    @rule(facts=policies, concerned=st.sets(minions, min_size=1), fails=st.sets(minions, max_size=2))
    def push(self, facts, concerned, fails):
        self.push_commit(facts, concerned, fails)

    @rule(concerned=st.sets(minions, min_size=1), fails=st.sets(minions, max_size=1))
    def push_with_same_policy(self, concerned, fails):
        self.push_commit(self.facts[self.fleet.remote.head.number], concerned, fails)

    def push_commit(self, facts, concerned, fails):
        number = len(self.fleet.remote.commits)
        before = self.fleet.remote.head.texts
        texts = {each: f"{number}" if each in concerned else before[each] for each in MINIONS}
        self.facts[number] = facts
        self.fleet.remote.push(Commit(number, facts.text, texts, frozenset(fails)))
        self.act(lambda: self.fleet.begin(self.fleet.go_live()))

    @rule(data=st.data())
    def push_an_old_commit_by_force(self, data):
        commit = data.draw(st.sampled_from(self.fleet.remote.commits))
        self.fleet.remote.push(commit)
        self.act(lambda: self.fleet.begin(self.fleet.go_live()))

    @rule(minion=minions)
    def connect_or_disconnect(self, minion):
        there = self.fleet.machines[minion].connected
        self.act(lambda: (self.fleet.disconnect if there else self.fleet.connect)(minion))

    @rule()
    def all_connect(self):
        for machine in self.fleet.machines.values():
            if not machine.connected:
                self.act(lambda machine=machine: self.fleet.connect(machine.id))

    @rule(minion=minions)
    def a_message_arrives(self, minion):
        machine = self.fleet.machines[minion]
        if machine.inbox:
            self.act(lambda: machine.take(self.fleet.say(machine)))

    @rule(minion=minions, fails=st.booleans())
    def a_run_ends(self, minion, fails):
        machine = self.fleet.machines[minion]
        if machine.job is not None:
            self.act(lambda: self.end_run(machine, fails))

    def end_run(self, machine, fails=False):
        by_commit = self.fails and any(
            machine.id in each.fails and each.document_digest(machine.id) == machine.job.digest
            for each in self.fleet.remote.commits
        )
        machine.end_run((fails or by_commit) and not machine.job.test, self.fleet.say(machine))

    @rule(times=st.integers(1, 6))
    def all_go_on(self, times):
        for _ in range(times):
            for machine in self.fleet.machines.values():
                for _ in range(len(machine.inbox)):
                    self.act(lambda machine=machine: machine.inbox and machine.take(self.fleet.say(machine)), seconds=0)
                if machine.connected and machine.job is not None:
                    self.act(lambda machine=machine: self.end_run(machine), seconds=0)
            self.act(lambda: None, seconds=3.0)

    @rule(minion=minions)
    def somebody_changes_a_machine(self, minion):
        machine = self.fleet.machines[minion]
        machine.drifted = True
        self.act(lambda: machine.check_drift(self.fleet.say(machine)))

    @rule(seconds=st.sampled_from([0.5, 5.0, 40.0, 700.0, HOUR, 3 * HOUR, 8 * HOUR]))
    def time_passes(self, seconds):
        self.act(lambda: None, seconds=seconds)

    @rule()
    def the_controller_is_killed(self):
        self.fleet.restart()
        self.note_taken_back()

    @rule(write=st.integers(0, 6))
    def it_will_be_killed_in_a_write(self, write):
        self.fleet.kill_at(write)

    # --- people ---

    @rule(minion=minions)
    def pause_or_resume(self, minion):
        if self.fleet.store.minions.get(minion) is None:
            return
        pause = minion not in self.paused

        def act():
            self.fleet.store.minions.set_paused([minion], pause)
            (self.paused.add if pause else self.paused.discard)(minion)
            self.fleet.reconciler.wake([minion])

        self.act(act)

    @rule(minion=minions, whole=st.booleans())
    def sync(self, minion, whole):
        self.act(lambda: self.fleet.reconciler.request([minion], Request(whole=whole, test=False, user="alice")))

    @rule(
        action=st.sampled_from(["pause", "resume", "abort", "approve", "approve", "promote", "confirm", "retry"]),
        user=people,
    )
    def say_of_the_rollout(self, action, user):
        self.act(lambda: self.change(action, user))

    def change(self, action, user):
        with contextlib.suppress(NotPossible, LookupError):
            changed = self.fleet.rollouts.change(self.fleet.rollouts.find(""), action, user)
            (self.paused_rollouts.add if action == "pause" else self.paused_rollouts.discard)(changed.id)

    @rule()
    def roll_back(self):
        live = self.live_commit()
        if live is not None:
            self.act(lambda: self.fleet.begin(self.take_back()))

    async def take_back(self):
        with contextlib.suppress(CannotRollBack):
            await self.fleet.quarantine.roll_back("", user="alice", why="")

    @rule()
    def let_it_go_live_again(self):
        def act():
            for each in self.fleet.quarantine.records:
                self.fleet.rollouts.forget_rollback(each.digest)
            self.taken_back.clear()
            self.fleet.begin(self.fleet.quarantine.release("", user="alice"))

        self.act(act)

    # --- the model ---

    def live_commit(self):
        digest = self.fleet.live.digest
        return self.fleet.remote.of_digest(digest) if digest else None

    def note_taken_back(self):
        """What the store says was taken back stays so until somebody lets it go live again."""
        known = {self.fleet.remote.of_digest(each.digest).number for each in self.fleet.store.quarantine.all()}
        self.taken_back |= known

    def run_is_sent(self, machine, run):
        """What must never be otherwise when a run is sent to a minion that has not begun it."""
        if run.test or run.kind not in ("apply", "remediate") or machine.knows(run.run_id):
            return
        fleet, now = self.fleet, self.fleet.now()
        record = fleet.store.runs.get(run.run_id)
        person = bool(record.user)
        desired, applied = fleet.store.desired.get(machine.id), fleet.store.applied.get(machine.id)
        commit = fleet.remote.of_digest(desired.revision)
        facts = self.facts[commit.number]
        wrong = []
        if machine.id in self.paused:
            wrong.append("it is paused")
        if facts.is_suspended(machine.id):
            wrong.append("it is suspended")
        if not facts.lets(machine.id, now, person=person):
            wrong.append("its window is not open")
        if run.kind == "apply" and facts.is_manual(machine.id) and not person:
            wrong.append("a person has to begin it")
        if run.digest not in (desired.digest, applied.digest if applied else ""):
            wrong.append("it shall have something else by now")
        numbers = {each.number for each in fleet.remote.commits if each.document_digest(machine.id) == run.digest}
        if numbers and numbers <= self.taken_back:
            wrong.append("it was taken back")
        if applied is not None and run.digest == desired.digest != applied.digest:
            wrong += self.kept_back_by_rollout(machine.id, commit, facts)
        self.wrong += [
            f"{run.kind} of commit {sorted(numbers)} on {machine.id} at {now - BEGIN:.1f}: {each}" for each in wrong
        ]

    def kept_back_by_rollout(self, minion, commit, facts):
        if facts.rollout is None or self.fleet.remote.head.number in self.taken_back:
            return []
        newest = self.fleet.rollouts.newest(1)
        if commit.digest != self.fleet.live.digest:
            return ["another revision is live"]
        if not newest or newest[0].revision != commit.digest:
            return [] if self.fleet.rollouts._planned == commit.digest else ["its rollout is not planned"]
        one = newest[0]
        if one.phase is Phase.COMPLETED:
            return []
        if one.id in self.paused_rollouts:
            return ["somebody has paused its rollout"]
        if one.phase not in RUNNING:
            return [f"the rollout is {one.phase.value}"]
        if len({each.user for each in one.approvals}) < min(facts.rollout.approvals, one.needs):
            return ["it is not approved"]
        if not any(minion in batch.minions for batch in one.released):
            return [f"its batch was not released: {[each.minions for each in one.released]}"]
        return []

    @invariant()
    def nothing_was_wrong(self):
        if self.fleet is None:
            return
        assert not self.fleet.faults, self.fleet.faults
        assert not self.wrong, "\n".join(self.wrong)
        live = self.live_commit()
        assert live is None or live.number not in self.taken_back, f"commit {live.number} was taken back, and is live"

    # --- the end ---

    def comes_to_its_end(self):
        """Everybody is there, nothing fails any more, and people do what policy leaves to them."""
        if self.wrong or self.fleet.faults:
            return
        fleet, self.fails = self.fleet, False
        fleet._writes_left = None
        for minion in sorted(self.paused):
            fleet.store.minions.set_paused([minion], False)
            fleet.reconciler.wake([minion])
        self.paused.clear()
        for hours in range(54):  # people ask last, and in each hour of a day: a window may be closed to them, too
            self.all_connect()
            for action in ("resume", "retry", "approve", "promote", "confirm"):
                for user in ("alice", "bob") if action == "approve" else ("alice",):
                    self.change(action, user)
            self.all_go_on(4)
            if hours >= 26:
                facts = self.facts[self.live_commit().number]
                self.ask_for(facts)
            self.all_go_on(3)
            self.nothing_was_wrong()
            if self.others_than_allowed() == "":
                return
            self.act(lambda: None, seconds=HOUR)
        assert self.others_than_allowed() == ""

    def ask_for(self, facts):
        """`saltern sync` where policy leaves it to people."""
        for minion in MINIONS:
            if facts.is_manual(minion) or facts.limit is not None:
                self.fleet.reconciler.request([minion], Request(whole=False, test=False, user="alice"))

    def others_than_allowed(self):
        """What is not as it shall be in the end; empty where all is."""
        live, head = self.live_commit(), self.fleet.remote.head
        if live is None or (head.number not in self.taken_back and live.number != head.number):
            return f"commit {head.number} is the newest, and {live and live.number} is live"
        facts = self.facts[live.number]
        others = [
            f"{minion} has {machine.text!r}"
            for minion, machine in self.fleet.machines.items()
            if not facts.is_suspended(minion) and machine.text != live.texts[minion]
        ]
        if others and (shut := [minion for minion in MINIONS if self.is_never_open(facts, minion)]):
            if facts.rollout is not None:
                return ""  # it waits for them, and others may come after them
            others = [each for each in others if each.partition(" ")[0] not in shut]
        return f"commit {live.number} is live, and {others}" if others else ""

    def is_never_open(self, facts, minion):
        """Whether windows leave nothing: an hour that one allows, and another denies."""
        person, now = facts.is_manual(minion) or facts.limit is not None, self.fleet.now()
        return not any(facts.lets(minion, now + 600 * step, person=person) for step in range(-54 * 6, 54 * 6))


AnyInterleaving.TestCase.settings = settings(
    max_examples=2000 if effort.FULL else 10,
    stateful_step_count=40,
    deadline=None,
    derandomize=not effort.FULL,
    database=None,
    phases=[Drawing.generate, Drawing.shrink] if effort.FULL else [Drawing.generate],
    suppress_health_check=list(HealthCheck),
)
TestAnyInterleaving = AnyInterleaving.TestCase


seconds = st.sampled_from([0.0, 0.3, 1.2, 60.0, 2 * HOUR])
sequences = st.one_of(
    st.tuples(st.just("a_rollout_is_paused_on_its_way"), st.sampled_from([0, 1]), seconds, st.booleans()),
    st.tuples(
        st.just("a_policy_is_replaced_and_the_controller_killed"),
        st.sampled_from(["*", "web*", "db1"]),
        st.sampled_from([0.0, 0.3, 1.2]),
        st.booleans(),
    ),
    st.tuples(
        st.just("a_window_opens_and_nothing_else_happens"), st.sampled_from(["allow", "deny"]), st.integers(1, 3)
    ),
)


@settings(
    max_examples=100 if effort.FULL else 10,
    deadline=None,
    derandomize=not effort.FULL,
    database=None,
    phases=[Drawing.generate, Drawing.shrink] if effort.FULL else [Drawing.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(sequences, min_size=2, max_size=4), st.booleans())
def test_pauses_restarts_and_windows_in_any_order(found, reconnects):
    machine = AnyInterleaving()
    try:
        machine.begin(PolicyFacts())
        for name, *arguments in found:
            getattr(machine, name)(*arguments)
            machine.nothing_was_wrong()
            if reconnects:
                machine.connect_or_disconnect("web1")
        machine.nothing_was_wrong()
    finally:
        machine.teardown()
