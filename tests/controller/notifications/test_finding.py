"""What is found in a look: conditions of minions and the fleet, and what happens once, by its mark."""

from msgspec.structs import replace

from controller.fleet_status.conditions import FleetFacts
from controller.fleet_status.standing import Cause, MinionStanding, Reason
from controller.notifications.finding import SeenFleet, find
from controller.policy.rollout import RolloutPolicy
from controller.reconcile.deciding.observed_state import Health, Sync
from controller.rollouts.rollout import Batch, Phase, Rollout

MARKS = {"rollouts": "[]", "revision": "r0", "leader": "1"}


def standing(minion, *reasons, **more):
    given = {"sync": Sync.SYNCED, "health": Health.HEALTHY, "attempted": "r1", "connected": True, **more}
    return MinionStanding(minion=minion, causes=tuple(Cause(each, "why", 5.0) for each in reasons), **given)


def rollout(phase, name="ro1"):
    batches = (Batch(wave="all", minions=("web1",)),)
    return Rollout(id=name, revision="d", label="r1", created=1.0, policy=RolloutPolicy(), batches=batches, phase=phase)


def kinds(seen, marks=MARKS):
    found, now = find(seen, marks)
    return sorted(found.conditions), sorted(one.key for one in found.happened), now


def test_conditions_of_minions():
    minions = [
        standing("web1", Reason.RUN_FAILED, Reason.DRIFTED, attempted="r0"),
        standing("web2", Reason.UNREACHABLE),
        standing("web3", Reason.COMPILE_ERROR, Reason.PAUSED, paused=True),
        standing("web4", Reason.TAKEN_BACK, Reason.UNCONFIRMED, Reason.WINDOW_CLOSED),
    ]
    found, _ = find(SeenFleet(minions=minions), MARKS)
    assert sorted(found.conditions) == [
        "compile_broken/web3",
        "minion_drifted/web1",
        "minion_failed/web1",
        "minion_lost/web2",
        "minion_taken_back/web4",
        "minion_unconfirmed/web4",
    ]
    assert found.conditions["compile_broken/web3"].acknowledged
    assert not found.conditions["minion_failed/web1"].acknowledged


def test_of_a_minion_that_is_awaited_nothing_is_known():
    minions = [standing("web1", Reason.UNREACHABLE, Reason.DRIFTED, awaited=True)]
    found, _ = find(SeenFleet(minions=minions), MARKS)
    assert list(found.conditions) == ["minion_drifted/web1"]
    lost = replace(found.conditions["minion_drifted/web1"], kind="minion_lost")
    assert (found.unknown(lost), found.unknown(found.conditions["minion_drifted/web1"])) == (True, False)


def test_remotes_that_were_not_fetched_yet_stay_as_they_were():
    facts = FleetFacts(remotes={"states": "no route"}, fetched=False, refused="saltern.yaml:3: no")
    found, _ = find(SeenFleet(facts=facts), MARKS)
    assert sorted(found.conditions) == ["remote_unreachable/states", "revision_refused/fleet"]
    other = replace(found.conditions["remote_unreachable/states"], subject="pillar")
    assert (found.unknown(other), found.unknown(found.conditions["remote_unreachable/states"])) == (True, False)


def test_rollouts():
    for phase, wanted in (
        (Phase.PENDING, ["rollout_waiting/ro1"]),
        (Phase.CONFIRMING, ["rollout_waiting/ro1"]),
        (Phase.FAILED, ["rollout_stopped/ro1"]),
        (Phase.ROLLED_BACK, ["rollout_stopped/ro1"]),
        (Phase.PROGRESSING, []),
    ):
        assert kinds(SeenFleet(rollouts=[rollout(phase)]))[:2] == (wanted, [])
    older = [rollout(Phase.PROGRESSING, "ro2"), rollout(Phase.FAILED)]
    assert kinds(SeenFleet(rollouts=older))[:2] == ([], []), "what an older one wanted is over"


def test_what_happens_once_is_found_once_and_not_at_the_first_look():
    seen = SeenFleet(
        minions=[standing("web1")], rollouts=[rollout(Phase.COMPLETED)], live="r1", leader="2", host="c2", at=9.0
    )
    assert kinds(seen, {})[1] == []
    _, happened, marks = kinds(seen)
    assert happened == ["leader_changed/2", "revision_applied/r1", "rollout_finished/ro1"]
    assert kinds(seen, marks)[1] == []


def test_a_revision_is_applied_when_all_minions_have_it():
    waits = [standing("web1"), standing("web2", sync=Sync.PROGRESSING)]
    older = [standing("web1"), standing("web2", attempted="r0")]
    for minions in (waits, older, []):
        assert kinds(SeenFleet(minions=minions, live="r1"))[1] == []
    _, happened, marks = kinds(SeenFleet(minions=waits, live="r1"), {})
    assert (happened, marks["revision"]) == ([], "")
    assert kinds(SeenFleet(minions=[standing("web1")], live="r1"), marks)[1] == ["revision_applied/r1"]
