"""The fleet by environments and waves, with real processes; times of transitions stand a killed controller."""

import json

ROLLOUT = "rollout: {waves: [{name: test, target: 'test*'}, {name: web, target: 'web*', approve: true}]}\n"
NUMBER = {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")}


def groups(rig, by):
    view = json.loads(rig.saltern("status", "--by", by, "--out", "json").stdout)
    return {each["name"]: each for each in view["groups"]}


def conditions(group):
    return {each["type"]: each for each in group["conditions"]}


def brief(group, kind):
    found = conditions(group)[kind]
    return found["status"], found["reason"]


def test_where_the_fleet_stands_is_told_and_kept_over_a_kill(make_rig):
    rig = make_rig(minions={"test1": {}, "web1": {}, "web2": {}})
    first = rig.push("what all have")
    rig.wait_applied(first)
    head = rig.push("policy", {"states/saltern.yaml": ("drift:", f"{ROLLOUT}drift:")})
    rig.wait("the policy", lambda: {each["applied_revision"] for each in rig.status().values()} == {head})
    fleet = rig.wait(
        "all is well",
        lambda: brief(groups(rig, "fleet")["fleet"], "Synced") == ("True", "Synced") and groups(rig, "fleet"),
    )["fleet"]
    assert (fleet["minions"], fleet["connected"]) == (3, 3)
    assert brief(fleet, "RemotesReachable") == ("True", "Fetched")

    second = rig.push("number 1", NUMBER)
    waiting = rig.wait(
        "the second wave to wait",
        lambda: (
            brief(groups(rig, "fleet")["fleet"], "RolloutProgressing") == ("False", "Waiting") and groups(rig, "wave")
        ),
    )
    assert brief(waiting["test"], "Synced") == ("True", "Synced")
    assert brief(waiting["test"], "RolloutProgressing") == ("False", "Completed")
    assert brief(waiting["web"], "Synced") == ("False", "OutOfSync")
    [reason] = waiting["web"]["reasons"]
    assert (reason["reason"], reason["minions"], reason["names"]) == ("WaitsForRollout", 2, ["web1", "web2"])
    revisions = {each["revision"]: (each["attempted"], each["applied"]) for each in waiting["web"]["revisions"]}
    assert revisions == {second: (2, 0), first: (0, 2)}
    assert set(groups(rig, "environment")) == {"base"}
    text = rig.saltern("status", "--by", "wave").stdout
    assert "2 x WaitsForRollout" in text
    assert max(map(len, text.splitlines())) <= 80

    before = groups(rig, "wave")
    rig.kill("controller", children=True)
    rig.start_controller()
    rig.wait("the minions", lambda: all(each["connected"] for each in rig.status().values()))
    rig.wait("the rollout", lambda: brief(groups(rig, "wave")["web"], "RolloutProgressing") == ("False", "Waiting"))
    after = groups(rig, "wave")
    for name in ("test", "web"):
        for kind in ("Synced", "Healthy", "Compiled", "Suspended", "WindowOpen"):
            then, now = conditions(before[name])[kind], conditions(after[name])[kind]
            assert then == now, (name, kind)

    rig.saltern("rollout", "promote")
    rig.wait_applied(second)
    told = rig.wait(
        "all is well", lambda: brief(groups(rig, "wave")["web"], "Synced") == ("True", "Synced") and groups(rig, "wave")
    )
    assert conditions(told["web"])["Synced"]["last_transition"] > conditions(after["web"])["Synced"]["last_transition"]
    assert conditions(told["test"])["Synced"] == conditions(after["test"])["Synced"]
