"""What a minion gets while another revision is live than the one which it was compiled against."""

import shutil
from dataclasses import replace

import pytest
from policy_model import DailyWindow, PolicyFacts, RolloutFacts
from simulated_fleet import Commit, SimulatedFleet

from controller.reconcile.deciding.instructions import Declined
from controller.reconcile.deciding.observed_state import Request
from controller.rollouts.rollout import Phase
from controller.store import Store

FREE = PolicyFacts()
MANUAL = PolicyFacts(manual="*")
CLOSED = PolicyFacts(windows=(DailyWindow(kind="allow", hour=5, hours=1, zone="UTC", manual=True, target="*"),))
NOON = 1790000000.0 - 1790000000.0 % 86400 + 12 * 3600
PERSON = Request(whole=False, test=False, user="alice")


def commit(number, facts):
    return Commit(number, facts.text, {"web1": f"{number}", "web2": f"{number}"})


@pytest.fixture
def make_fleet(tmp_path):
    fleets = []

    def make(facts):
        path = tmp_path / "store.sqlite"
        Store(f"sqlite:///{path}").close()
        fleet = SimulatedFleet(f"sqlite:///{path}", ("web1", "web2"), commit(0, facts), NOON, lambda machine, run: None)
        fleets.append(fleet)
        for minion in fleet.machines:
            fleet.connect(minion)
        settle(fleet)
        return fleet

    yield make
    for fleet in fleets:
        fleet.close()
    shutil.rmtree(tmp_path)


def settle(fleet, rounds=8):
    """All that is sent arrives, and all runs end well."""
    for _ in range(rounds):
        fleet.loop.pass_time(1.0)
        for machine in fleet.machines.values():
            while machine.inbox:
                machine.take(fleet.say(machine))
            if machine.job is not None:
                machine.end_run(False, fleet.say(machine))


def push(fleet, number, facts):
    fleet.remote.push(commit(number, facts))
    fleet.begin(fleet.go_live())


def texts(fleet):
    return [machine.text for machine in fleet.machines.values()]


def test_the_policy_that_a_push_brings_starts_nothing_of_the_one_before(make_fleet):
    fleet = make_fleet(FREE)
    push(fleet, 1, MANUAL)
    settle(fleet)
    assert texts(fleet) == ["0", "0"]
    push(fleet, 2, FREE)
    fleet.restart()  # before anybody is compiled against it
    fleet.loop.pass_time(0.4)
    assert not [run for run in fleet.store.runs.newest() if run.kind == "apply" and run.finished is None]
    settle(fleet)
    assert texts(fleet) == ["2", "2"]


def test_what_goes_live_while_a_rollout_is_planned_has_its_own_policy(make_fleet):
    fleet = make_fleet(FREE)
    push(fleet, 1, MANUAL)
    settle(fleet)
    planned = fleet.sources.after_compile

    async def push_meanwhile(trees):
        if trees.revision.digest == fleet.remote.commits[2].digest and len(fleet.remote.commits) == 3:
            push(fleet, 3, FREE)
            await fleet.sources.after_compile(fleet.live.trees)
            fleet.loop.call_soon(lambda: None)
        await planned(trees)

    fleet.sources.after_compile = push_meanwhile
    push(fleet, 2, PolicyFacts(manual="*", remediate=True))
    fleet.loop.pass_time(1.2)
    assert {fleet.store.desired.get(minion).revision for minion in fleet.machines} <= {
        each.digest for each in fleet.remote.commits[1:]
    }
    settle(fleet)
    assert texts(fleet) == ["3", "3"]


def test_what_was_taken_back_is_begun_by_nobody_before_they_are_compiled_again(make_fleet):
    fleet = make_fleet(CLOSED)
    fleet.reconciler.request(["web1", "web2"], PERSON)
    settle(fleet)
    push(fleet, 1, CLOSED)
    settle(fleet)
    assert texts(fleet) == ["0", "0"], "the window is closed"
    fleet.begin(fleet.quarantine.roll_back("", user="alice", why=""))
    fleet.loop.pass_time(0.1)
    assert set(fleet.reconciler.request(["web1", "web2"], PERSON).values()) == {Declined.GATED}
    settle(fleet)
    assert texts(fleet) == ["0", "0"]
    assert set(fleet.reconciler.request(["web1"], PERSON).values()) == {Declined.NOTHING_PENDING}


@pytest.mark.parametrize("moment", ["canary", "batch", "promotion", "confirmation"])
def test_a_push_in_each_phase_of_a_rollout_takes_its_place(make_fleet, moment):
    facts = PolicyFacts(rollout=RolloutFacts(canary=1, confirm=True, promote=False))
    fleet = make_fleet(facts)
    push(fleet, 1, facts)
    {
        "canary": lambda: fleet.loop.pass_time(1.5),
        "batch": lambda: settle(fleet, 3),
        "promotion": lambda: settle(fleet, 1),
        "confirmation": lambda: settle(fleet),
    }[moment]()
    push(fleet, 2, facts)
    settle(fleet, 12)
    newest, before = fleet.rollouts.newest(2)
    assert (newest.revision, newest.phase.value) == (fleet.remote.head.digest, "Confirming")
    assert before.phase.value == "Superseded"
    assert texts(fleet) == ["2", "2"]


def test_who_is_in_a_run_of_another_revision_waits_for_the_rollout_of_what_was_applied_before(make_fleet):
    facts = PolicyFacts(rollout=RolloutFacts(batch=2, approvals=1))
    fleet = make_fleet(facts)
    push(fleet, 1, facts)
    fleet.loop.pass_time(1.5)
    fleet.rollouts.change(fleet.rollouts.find(""), "approve", "alice")
    fleet.loop.pass_time(1.5)
    for machine in fleet.machines.values():
        while machine.inbox:
            machine.take(fleet.say(machine))
    assert all(machine.job is not None for machine in fleet.machines.values())
    fleet.remote.push(fleet.remote.commits[0])
    fleet.begin(fleet.go_live())
    settle(fleet)
    assert texts(fleet) == ["1", "1"], "as nobody has approved of going back"
    newest = fleet.rollouts.find("")
    assert (newest.revision, newest.size) == (fleet.remote.commits[0].digest, 2)
    fleet.rollouts.change(newest, "approve", "alice")
    settle(fleet)
    assert texts(fleet) == ["0", "0"]


def test_a_rollout_that_cannot_be_taken_back_has_failed(make_fleet):
    """The first revision of all went live again by a forced push: there is none before it."""
    facts = PolicyFacts(rollout=RolloutFacts(batch=1, on_failure="rollback"))
    fleet = make_fleet(facts)
    push(fleet, 1, FREE)
    settle(fleet)
    assert texts(fleet) == ["1", "1"]
    fleet.remote.push(commit(0, facts))
    fleet.begin(fleet.go_live())
    for _ in range(8):
        fleet.loop.pass_time(1.0)
        for machine in fleet.machines.values():
            while machine.inbox:
                machine.take(fleet.say(machine))
            if machine.job is not None:
                machine.end_run(True, fleet.say(machine))
    for _ in ("at once", "after a restart"):
        newest = fleet.rollouts.newest(1)[0]
        assert newest.phase is Phase.FAILED
        assert "it cannot be taken back: nothing was live before" in newest.why
        assert fleet.faults == []
        fleet.restart()
        fleet.loop.pass_time(1.0)


def test_a_rollout_that_is_over_lets_nothing_through_that_was_live_before(make_fleet):
    """What is live is compiled for them later: what they were to have before is no part of its rollout."""
    facts = PolicyFacts(rollout=RolloutFacts(batch=1))
    fleet = make_fleet(FREE)
    for number in (1, 2):
        push(fleet, number, facts)
        settle(fleet, 16)
        assert fleet.rollouts.newest(1)[0].phase is Phase.COMPLETED
    [row] = fleet.store.minions.status(["web1"])
    assert fleet.rollouts.waits(row) == ""
    before = replace(row, desired=replace(row.desired, revision=fleet.remote.commits[1].digest))
    assert "is live no more" in fleet.rollouts.waits(before)
    assert fleet.rollouts.waits(replace(before, applied=None)) == "", "a new minion waits for nothing"
