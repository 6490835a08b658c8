"""Conditions of a group, and when they became so."""

import pytest

from controller.fleet_status.conditions import FleetFacts, FoundCondition, findings, transition
from controller.fleet_status.standing import Cause, MinionStanding, Reason
from controller.policy.rollout import RolloutPolicy
from controller.reconcile.deciding.observed_state import Health, Sync
from controller.rollouts.rollout import Batch, Phase, Rollout
from controller.store.rollouts.conditions import ConditionRecord


def standing(minion="web1", sync=Sync.SYNCED, health=Health.HEALTHY, **more):
    return MinionStanding(minion=minion, sync=sync, health=health, **{"connected": True, "applied_at": 5.0, **more})


def found(minions, scope="fleet", name="fleet", **facts):
    return {one.type: one for one in findings(scope, name, minions, FleetFacts(**facts))}


def brief(one):
    return one.status, one.reason


def test_all_is_well():
    told = found([standing(), standing("web2", applied_at=7.0)], remotes={"states": ""})
    assert {name: brief(one) for name, one in told.items()} == {
        "Synced": ("True", "Synced"),
        "Healthy": ("True", "Healthy"),
        "Compiled": ("True", "Compiled"),
        "Suspended": ("False", "Active"),
        "WindowOpen": ("True", "NoWindows"),
        "RolloutProgressing": ("False", "NoRollout"),
        "RemotesReachable": ("True", "Fetched"),
    }
    assert told["Synced"].since == 7.0, "since the last minion was"


def test_what_is_wrong_is_counted_and_the_worst_is_the_reason():
    minions = [
        standing(sync=Sync.OUT_OF_SYNC, health=Health.FAILED, causes=(Cause(Reason.RUN_FAILED, "x", 9.0),)),
        standing("web2", sync=Sync.PAUSED, paused=True, causes=(Cause(Reason.PAUSED),)),
        standing("web3", sync=Sync.OUT_OF_SYNC, causes=(Cause(Reason.PENDING, "", 8.0),)),
        standing("web4", health=Health.DRIFTED, causes=(Cause(Reason.DRIFTED, "", 6.0),)),
    ]
    told = found(minions)
    assert brief(told["Synced"]) == ("False", "OutOfSync")
    assert told["Synced"].message == "OutOfSync 2, Paused 1 of 4 minions"
    assert told["Synced"].since == 8.0
    assert brief(told["Healthy"]) == ("False", "Failed")
    assert (told["Healthy"].message, told["Healthy"].since) == ("Failed 1, Drifted 1 of 4 minions", 6.0)
    assert brief(told["Suspended"]) == ("True", "Paused")


def test_minions_in_shadow_are_told_as_such():
    told = found([standing(), standing("web2", sync=Sync.SHADOW, paused=True, causes=(Cause(Reason.SHADOW),))])
    assert brief(told["Synced"]) == ("False", "Shadow")
    assert brief(told["Suspended"]) == ("True", "Shadow")


def test_what_does_not_compile_and_what_is_refused():
    broken = standing(sync=Sync.OUT_OF_SYNC, broken=True, causes=(Cause(Reason.COMPILE_ERROR, "a.sls:1: no", 3.0),))
    told = found([broken, standing("web2")])["Compiled"]
    assert (brief(told), told.since) == (("False", "CompileError"), 3.0)
    assert told.message == "1 of 2 minions: a.sls:1: no"
    assert brief(found([broken], refused="saltern.yaml:2: no key\nmore")["Compiled"]) == ("False", "RevisionRefused")
    environment = found([broken], "environment", "base", refused="saltern.yaml:2: no key")
    assert brief(environment["Compiled"]) == ("False", "CompileError")
    assert "RemotesReachable" not in environment


def test_nobody_and_what_is_not_known_yet():
    assert {brief(found([])[each]) for each in ("Synced", "Healthy", "Compiled")} == {("Unknown", "NoMinions")}
    fresh = standing(sync=Sync.UNKNOWN, compiled=False)
    assert brief(found([fresh])["Synced"]) == ("Unknown", "Unknown")
    assert brief(found([fresh])["Compiled"]) == ("Unknown", "NotCompiled")
    assert brief(found([], fetched=False)["RemotesReachable"]) == ("Unknown", "NotFetched")


def test_a_run_that_goes_on_is_no_trouble():
    told = found([standing(health=Health.PROGRESSING)])["Healthy"]
    assert brief(told) == ("True", "Healthy")


def test_a_remote_that_does_not_answer():
    told = found([], remotes={"a": "no route\nmore", "b": "x", "c": ""})["RemotesReachable"]
    assert (brief(told), told.message) == (("False", "FetchFailed"), "a: no route (+1 more)")


def test_windows():
    shut = standing(window="outside of 0 2 * * * for 1h", windows=True)
    assert brief(found([shut, standing("web2")])["WindowOpen"]) == ("False", "WindowClosed")
    assert brief(found([standing(windows=True)])["WindowOpen"]) == ("True", "WindowOpen")


@pytest.mark.parametrize(
    ("change", "fleet", "test", "web"),
    [
        (
            {"released_at": 1.0},
            ("True", "Progressing"),
            ("True", "Progressing"),
            ("False", "WaitsForEarlierWaves"),
        ),
        ({"current": 1, "released_at": 1.0}, ("True", "Progressing"), ("False", "Completed"), ("True", "Progressing")),
        (
            {"current": 1, "phase": Phase.WAITING},
            ("False", "Waiting"),
            ("False", "Completed"),
            ("False", "Waiting"),
        ),
        ({"current": 2, "phase": Phase.COMPLETED}, *[("False", "Completed")] * 3),
        ({"released_at": 1.0, "phase": Phase.FAILED}, *[("False", "Failed")] * 3),
    ],
)
def test_rollouts(change, fleet, test, web):
    batches = (Batch(wave="test", minions=("t1",)), Batch(wave="web", minions=("w1", "w2")))
    rollout = Rollout(id="7", revision="r", label="abc", created=1.0, policy=RolloutPolicy(), batches=batches)
    rollout = type(rollout)(**{name: getattr(rollout, name) for name in rollout.__struct_fields__} | change)
    assert brief(found([], rollout=rollout)["RolloutProgressing"]) == fleet
    assert brief(found([], "wave", "test", rollout=rollout)["RolloutProgressing"]) == test
    assert brief(found([], "wave", "web", rollout=rollout)["RolloutProgressing"]) == web
    assert brief(found([], "wave", "rest", rollout=rollout)["RolloutProgressing"]) == ("False", "NoRollout")


def record(status, since, reason="x"):
    return ConditionRecord(scope="fleet", name="fleet", type="Synced", status=status, reason=reason, since=since)


@pytest.mark.parametrize(
    ("known", "status", "since", "became"),
    [
        (None, "True", None, 100.0),
        (None, "True", 30.0, 30.0),
        (record("True", 40.0), "True", 90.0, 40.0),
        (record("True", 60.0), "False", 90.0, 90.0),
        (record("True", 60.0), "False", None, 100.0),
        (record("True", 60.0), "False", 20.0, 60.0),
        (record("True", 40.0), "False", 20.0, 50.0),
        (record("True", 40.0), "False", 120.0, 100.0),
    ],
    ids=["new", "new-and-told", "same", "told", "not-told", "not-before-it", "not-before-the-start", "not-after-now"],
)
def test_the_time_of_a_transition(known, status, since, became):
    finding = FoundCondition(type="Synced", status=status, reason="y", since=since)
    after = transition(known, finding, "fleet", "fleet", (50.0, 100.0))
    assert (after.status, after.reason, after.since) == (status, "y", became)


def test_minions_that_have_no_time_to_connect_again_after_a_start_change_nothing():
    away = standing(health=Health.UNREACHABLE, connected=False, awaited=True)
    known = ConditionRecord(scope="fleet", name="fleet", type="Healthy", status="True", reason="Healthy", since=40.0)
    finding = found([away, standing("web2")])["Healthy"]
    assert transition(known, finding, "fleet", "fleet", (50.0, 100.0)) is known
    assert transition(None, finding, "fleet", "fleet", (50.0, 100.0)).status == "Unknown"
    failed = standing("web3", health=Health.FAILED, causes=(Cause(Reason.RUN_FAILED, "x", 60.0),))
    assert brief(found([away, failed])["Healthy"]) == ("False", "Failed")
