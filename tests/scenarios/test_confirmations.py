"""`apply: confirm` with real processes: what a push applied stays where somebody confirms it, else it goes back."""

import json

NUMBER = {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")}
LONG = "policies:\n- {name: edge, target: 'web*', apply: confirm, confirm: 1h}\n"
SHORT = LONG.replace("1h", "2s")


def number(rig, minion):
    return (rig.root(minion) / "app.conf").read_text().strip()


def fleet(make_rig, policy):
    rig = make_rig(minions={"web1": {}, "web2": {}, "db1": {}})
    before = rig.push("what they have")
    rig.wait_applied(before)
    rig.wait_applied(rig.push("the policy", {"states/saltern.yaml": ("drift:", f"{policy}drift:")}))
    return rig, before


def waiting(rig):
    return {name: each["unconfirmed"] for name, each in rig.status().items() if each["unconfirmed"]}


def restarted(rig):
    rig.kill("controller", children=True)
    rig.start_controller()
    rig.wait("the minions", lambda: all(each["connected"] for each in rig.status().values()))


def test_what_is_confirmed_stays(make_rig):
    rig, before = fleet(make_rig, LONG)
    assert waiting(rig) == {}, "what it had when the policy came is confirmed"
    head = rig.push("number 1", NUMBER)
    rig.wait_applied(head)
    found = rig.wait("both to wait", lambda: len(waiting(rig)) == 2 and waiting(rig))
    assert {each["back_to"] for each in found.values()} == {before}
    assert sorted(found) == ["web1", "web2"], "others apply as ever"
    assert rig.status()["web1"]["message"].startswith("waits for `saltern confirm web1`, else it goes back at ")

    until = found["web1"]["until"]
    restarted(rig)
    assert waiting(rig)["web1"]["until"] == until, "the time goes on over a restart"
    confirmed = json.loads(rig.saltern("confirm", "web1", "--out", "json").stdout)
    assert confirmed == {"schema_version": 1, "minions": ["web1"]}
    assert "none of these minions waits" in rig.saltern("confirm", "db1").stderr
    assert rig.saltern("confirm", "nobody*", check=False).returncode == 5
    assert sorted(waiting(rig)) == ["web2"]
    assert rig.saltern("confirm", "web*").stdout == "confirmed web2\n"
    assert waiting(rig) == {}
    assert {number(rig, each) for each in rig.minions} == {"number 1"}
    told = rig.saltern("events", "saltern/minion/web2/confirmed", "--since", "1h", "-n", "1", "--out", "json").stdout
    assert json.loads(told)["data"]["id"] == "web2"
    assert "apply" in rig.saltern("policy", "explain", "web1").stdout


def test_what_nobody_confirms_goes_back_and_is_held_until_something_newer_is_live(make_rig):
    rig, before = fleet(make_rig, SHORT)
    bad = rig.push("number 1", NUMBER)
    rig.wait("both to go back", lambda: [each["sync"] for each in rig.status().values()].count("Held") == 2)
    rig.wait("the file", lambda: [number(rig, each) for each in rig.minions] == ["number 0", "number 0", "number 1"])
    status = rig.status()["web1"]
    assert (status["applied_revision"], status["taken_back"]["why"]) == (before, "nobody confirmed it in time")
    listed = json.loads(rig.saltern("rollback", "--list", "--out", "json").stdout)
    assert {(each["revision"], each["back_to"]) for each in listed} == {(bad, before)}
    assert sorted(name for each in listed for name in each["minions"]) == ["web1", "web2"]

    restarted(rig)
    rig.saltern("remote", "fetch")
    assert number(rig, "web1") == "number 0", "it does not come again by itself"

    head = rig.push(
        "number 2",
        {"pillar/numbers.sls": ("number: 1\n", "number: 2\n"), "states/saltern.yaml": ("confirm: 2s", "confirm: 1h")},
    )
    rig.wait("the newer one", lambda: {number(rig, each) for each in rig.minions} == {"number 2"})
    rig.wait("it to wait", lambda: len(waiting(rig)) == 2)
    assert {each["back_to"] for each in waiting(rig).values()} == {before}, "what was confirmed last"
    gone = rig.push("all at once", {"states/saltern.yaml": ("apply: confirm, ", "")})
    rig.wait_applied(gone)
    assert waiting(rig) == {}
    assert head != gone
