"""Minions counted together."""

from types import MappingProxyType

from controller.fleet_status.conditions import FleetFacts
from controller.fleet_status.rollup import MOST_GROUPS, KnownConditions, roll_up
from controller.fleet_status.standing import Cause, MinionStanding, Reason
from controller.reconcile.deciding.observed_state import Health, Sync
from controller.schema.fleet.status import ReasonCount, RevisionCount


def standing(minion, sync=Sync.SYNCED, health=Health.HEALTHY, **more):
    return MinionStanding(
        minion=minion, sync=sync, health=health, connected=True, **{"attempted": "b", "applied": "b", **more}
    )


def rolled(minions, waves=MappingProxyType({}), known=MappingProxyType({})):
    return roll_up(minions, waves, FleetFacts(), KnownConditions(known), 100.0)


def test_a_minion_counts_in_each_of_its_environments_and_in_its_wave():
    minions = [
        standing("db1", saltenvs=("base",)),
        standing("new1", saltenvs=()),
        standing("web1", saltenvs=("base", "prod"), sync=Sync.OUT_OF_SYNC, applied="a"),
    ]
    groups = rolled(minions, {"web1": "canary", "db1": "rest"}).groups
    assert [(one.scope, one.name, one.minions) for one in groups] == [
        ("fleet", "fleet", 3),
        ("environment", "(none)", 1),
        ("environment", "base", 2),
        ("environment", "prod", 1),
        ("wave", "canary", 1),
        ("wave", "rest", 1),
    ]
    assert groups[0].revisions == (
        RevisionCount(revision="b", attempted=3, applied=2),
        RevisionCount(revision="a", attempted=0, applied=1),
    )
    assert [(one.sync, one.health, one.minions) for one in groups[0].states] == [
        ("Synced", "Healthy", 2),
        ("OutOfSync", "Healthy", 1),
    ]


def test_reasons_are_grouped_and_the_worst_comes_first():
    minions = [
        standing(f"web{number}", causes=(Cause(Reason.PENDING, "", 10.0 - number),), sync=Sync.OUT_OF_SYNC)
        for number in range(7)
    ]
    minions += [standing("db1", causes=(Cause(Reason.COMPILE_ERROR, "a.sls:1", 4.0), Cause(Reason.UNREACHABLE)))]
    reasons = rolled(minions).groups[0].reasons
    assert reasons == (
        ReasonCount(reason="CompileError", message="a.sls:1", minions=1, since=4.0, names=("db1",)),
        ReasonCount(reason="Unreachable", minions=1, names=("db1",)),
        ReasonCount(reason="Pending", minions=7, since=4.0, names=("web0", "web1", "web2", "web3", "web4")),
    )


def test_what_is_told_is_bounded():
    minions = [
        standing(
            f"m{number:03}",
            attempted=str(number),
            saltenvs=(f"env{number:03}", "base", "e" * 400),
            causes=(Cause(Reason.RUN_FAILED, str(number)),),
        )
        for number in range(300)
    ]
    found = rolled(minions)
    fleet, *environments = found.groups
    assert (len(fleet.reasons), fleet.more_reasons) == (10, 290)
    assert (len(fleet.revisions), fleet.more_revisions) == (10, 291)
    assert len(environments) == MOST_GROUPS
    others = next(one for one in environments if one.name == "(others)")
    assert others.minions == 300 - (MOST_GROUPS - 3)
    assert max(len(each.name) for each in found.conditions) == 255


def test_conditions_are_kept_until_their_status_changes():
    well, ill = standing("web1", applied_at=7.0), standing("web1", sync=Sync.OUT_OF_SYNC)
    first = rolled([well])
    known = {(one.scope, one.name, one.type): one for one in first.conditions}
    assert known["fleet", "fleet", "Synced"].since == 7.0
    assert rolled([well], known=known).conditions == first.conditions
    [synced] = [one for one in rolled([ill], known=known).groups[0].conditions if one.type == "Synced"]
    assert (synced.status, synced.reason, synced.last_transition) == ("False", "OutOfSync", 100.0)
