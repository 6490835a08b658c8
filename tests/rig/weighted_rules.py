"""Sequences for the machine of `test_any_interleaving` that single steps seldom come to in the right order.

Each does what people and machines may do, one after another; that nothing goes on that must not is looked at by the
machine as ever.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from policy_model import DailyWindow, PolicyFacts, RolloutFacts

HOUR = 3600.0


class WeightedRules:
    """A mixin of the machine."""

    fleet: Any
    facts: Any
    wrong: list[str]

    def nothing_is_in_the_way(self: Any) -> None:
        """Everybody is there, and nobody keeps anything back but policy."""
        self.fleet._writes_left = None
        for minion in sorted(self.paused):
            self.fleet.store.minions.set_paused([minion], False)
            self.fleet.reconciler.wake([minion])
        self.paused.clear()
        self.all_connect()
        self.all_go_on(2)

    def a_rollout_is_paused_on_its_way(self: Any, canary: int, seconds: float, resumes: bool) -> None:
        """Its first batch is released; somebody pauses it; runs end, and time goes on."""
        self.nothing_is_in_the_way()
        self.push_commit(PolicyFacts(rollout=RolloutFacts(batch=1, canary=canary)), set(self.fleet.machines), set())
        self.act(lambda: None, seconds=5.0)
        self.act(lambda: self.change("pause", "alice"))
        self.all_go_on(2)
        self.act(lambda: None, seconds=seconds)
        self.all_go_on(1)
        if resumes:
            self.act(lambda: self.change("resume", "bob"))
            self.all_go_on(3)

    def a_policy_is_replaced_and_the_controller_killed(self: Any, manual: str, seconds: float, drifts: bool) -> None:
        """What waits for a person was compiled under one policy; the next lets it, and nobody is compiled with it."""
        self.nothing_is_in_the_way()
        self.push_commit(PolicyFacts(manual=manual), set(self.fleet.machines), set())
        self.all_go_on(2)
        before = self.fleet.remote.head.digest
        if drifts:
            self.somebody_changes_a_machine("web1")
        self.push_commit(PolicyFacts(remediate=drifts), set(), set())
        self.act(lambda: None, seconds=seconds)
        self.the_controller_is_killed()
        self.act(lambda: None, seconds=0.3)
        store = self.fleet.store
        begun = [run for run in store.runs.newest() if run.finished is None and run.kind in ("apply", "remediate")]
        for run in begun:
            if drifts and run.minion == "web1" and store.desired.get("web1").revision == before:
                self.wrong.append(f"{run.kind} on web1 under the policy of a revision that it was not compiled against")

    def a_window_opens_and_nothing_else_happens(self: Any, kind: str, hours: int) -> None:
        """A push comes while it is closed; nobody connects, asks or pushes until it is open."""
        self.nothing_is_in_the_way()
        now = self.fleet.now()
        hour = datetime.fromtimestamp(now, UTC).hour
        window = DailyWindow(kind=kind, hour=hour, hours=hours, zone="UTC", manual=False, target="*")
        if kind == "allow":
            window = replace(window, hour=(hour + hours) % 24, hours=1)
        self.push_commit(PolicyFacts(windows=(window,)), set(self.fleet.machines), set())
        self.all_go_on(2)
        live, head = self.live_commit(), self.fleet.remote.head
        opens = now - now % HOUR + hours * HOUR
        if live is not head or self.fleet.now() >= opens:
            return
        there = [machine for machine in self.fleet.machines.values() if machine.connected and machine.job is None]
        waiting = [machine for machine in there if machine.text != live.texts[machine.id]]
        self.act(lambda: None, seconds=opens - self.fleet.now() + 30.0)
        self.all_go_on(1)
        late = [machine.id for machine in waiting if machine.text != live.texts[machine.id]]
        if late and self.live_commit() is live:
            self.wrong.append(f"the window is open, and nothing began on {late}")
