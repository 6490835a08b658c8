"""Who comes when: waves, batches, canaries of every class of change on every system."""

from __future__ import annotations

import pytest

from controller.policy.reading import PolicyInvalid, read_policy
from controller.policy.rollout import Approvals, RolloutPolicy, Wave
from controller.rollouts.planning import RolloutMember, plan_rollout
from highstate.desired import Desired
from highstate.files import MemoryFiles
from highstate.types import Chunk, Minion


def chunk(name, **arguments):
    state, fun = ("pkg", "installed") if name.startswith("pkg") else ("file", "managed")
    return Chunk(state=state, fun=fun, id=name, name=name, arguments={"name": name, **arguments}, order=1, sls="s")


DOCUMENTS = {
    "old": Desired(chunks={"a": chunk("conf", mode="1")}),
    "conf": Desired(chunks={"a": chunk("conf", mode="2")}),
    "pkg": Desired(chunks={"a": chunk("conf", mode="1"), "b": chunk("pkg-x")}),
}


def member(name, desired="conf", connected=True, **grains):
    return RolloutMember(minion=Minion(id=name, grains=grains), connected=connected, applied="old", desired=desired)


def document(digest):
    if digest not in DOCUMENTS:
        raise LookupError(digest)
    return DOCUMENTS[digest]


def planned(policy, *members):
    found = plan_rollout(policy, members, document)
    return [(each.title, each.minions) for each in found.batches]


def test_without_waves_all_come_in_batches():
    members = [member(f"m{number}") for number in range(5)]
    assert planned(RolloutPolicy(batch=2), *members) == [
        ("all", ("m0", "m1")),
        ("all", ("m2", "m3")),
        ("all", ("m4",)),
    ]
    assert planned(RolloutPolicy(batch="20%"), *members)[0] == ("all", ("m0",))


def test_a_minion_is_in_the_first_wave_that_means_it_and_the_others_come_last():
    waves = (Wave(name="test", target="t* or G@env:test"), Wave(name="web", target="*w*", batch=1))
    found = planned(RolloutPolicy(waves=waves), member("w1"), member("tw"), member("db"), member("x", env="test"))
    assert found == [("test", ("tw", "x")), ("web", ("w1",)), ("rest", ("db",))]


def test_canaries_are_of_each_class_of_change_on_each_system_and_connected_where_that_is_possible():
    members = [
        member("a", connected=False, os="Debian"),
        member("b", os="Debian"),
        member("c", os="Fedora"),
        member("d", desired="pkg", os="Debian"),
        member("e", os="Debian"),
    ]
    first, second = plan_rollout(RolloutPolicy(canary=1), members, document).batches
    assert (first.canary, first.minions) == (True, ("b", "c", "d"))
    assert second.minions == ("e", "a"), "those that are connected first"


def test_what_cannot_be_compared_is_classed_by_its_role():
    members = [member("a", "gone", role="web"), member("b", "gone", role="web"), member("c", "gone", role="db")]
    assert plan_rollout(RolloutPolicy(canary=1), members, document).batches[0].minions == ("a", "c")
    assert plan_rollout(RolloutPolicy(approvals=Approvals()), members, document).functions is None


def test_functions_that_a_push_touches():
    found = plan_rollout(RolloutPolicy(approvals=Approvals()), [member("a"), member("d", "pkg")], document)
    assert found.functions == {"file.managed", "pkg.installed"}
    assert Approvals(states=("pkg.*",)).concern(found.functions)
    assert not Approvals(states=("user.*",)).concern(found.functions)


def read(text):
    return read_policy(MemoryFiles({"base": {"saltern.yaml": text.encode()}}), {"webs": "web*"}).rollout


def test_how_it_is_written():
    found = read(
        "rollout: {soak: 5m, waves: [{name: a, target: N@webs, soak: 1h, gates: [{event: 'x/*', quiet: 2m}]}]}"
    )
    assert (found.soak, found.waves[0].soak, found.waves[0].gates[0].quiet) == (300.0, 3600.0, 120.0)
    assert "web*" in found.waves[0].target


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{batch: some}", "neither a number nor a percentage"),
        ("{batch: 0}", "is nobody"),
        ("{max_failures: 200%}", "neither a number nor a percentage"),
        ("{waves: [{name: a}, {name: a}]}", "two waves with the name 'a'"),
        ("{waves: [{name: a, after: [b]}]}", "'a' is after 'b', which does not stand above it"),
        ("{waves: [{name: a, target: 'I@x:y'}]}", "asks for pillar"),
        ("{gates: [{prometheus: up, command: x}]}", "a gate is one of"),
        ("{gates: [{event: x, quiet: 11m}]}", "`quiet` is longer than `gate_timeout`"),
        ("{soak: soon}", "rollout.soak"),
        ("{canaries: 1}", "unknown field `canaries`"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_its_line(text, said):
    with pytest.raises(PolicyInvalid) as refused:
        read(f"apply: auto\nrollout: {text}")
    assert said in str(refused.value)
    assert "saltern.yaml" in str(refused.value)
