"""`saltern rollback --target` with real processes: some minions go back, and stay until something newer is live."""

import json
import time

NUMBER = {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")}
HEALS = {"states/saltern.yaml": ("drift: {interval: 30m}", "drift: {interval: 0, watch: true, mode: remediate}")}


def in_phase(rig, phase, revision):
    def there():
        found = rig.ask("/rollouts")
        return found[0] if found and (found[0]["phase"], found[0]["revision"]) == (phase, revision) else None

    return rig.wait(f"phase {phase}", there)


def number(rig, minion):
    return (rig.root(minion) / "app.conf").read_text().strip()


def taken_back(rig, minions, revision):
    """Wait until these hold a revision and the others are in sync with what is live."""

    def there():
        found = rig.status()
        held = {name: each["applied_revision"] for name, each in found.items() if each["sync"] == "Held"}
        return held == dict.fromkeys(minions, revision) and all(
            each["sync"] == "Synced" for name, each in found.items() if name not in minions
        )

    rig.wait(f"{minions} at {revision}", there)


def restarted(rig):
    rig.kill("controller", children=True)
    rig.start_controller()
    rig.wait("the minions", lambda: all(each["connected"] for each in rig.status().values()))


def test_some_minions_go_back_and_stay_until_something_newer_is_live(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {}, "db1": {}})
    before = rig.push("what they have", HEALS)
    rig.wait_applied(before)
    bad = rig.push("number 1", NUMBER)
    rig.wait_applied(bad)

    told = rig.saltern("rollback", "--target", "web*", "--why", "the app hangs").stdout
    assert told == f"took 2 minions back from {bad}: {before} is held there until something newer is live\n"
    taken_back(rig, ["web1", "web2"], before)
    assert [number(rig, each) for each in rig.minions] == ["number 0", "number 0", "number 1"]
    status = rig.status()["web1"]
    assert status["message"].startswith(f"taken back to {before} by "), status
    assert status["message"].endswith(": the app hangs"), status
    assert status["taken_back"]["revision"] == status["attempted_revision"] == before
    [listed] = json.loads(rig.saltern("rollback", "--list", "--out", "json").stdout)
    assert (listed["revision"], listed["back_to"], listed["minions"]) == (bad, before, ["web1", "web2"])
    assert "on web1, web2" in rig.saltern("rollback", "--list").stdout
    run = next(each for each in rig.history("web1") if each["kind"] == "apply")
    assert run["revision"] == before
    assert "the app hangs" in run["cause"]

    restarted(rig)
    rig.saltern("remote", "fetch")
    taken_back(rig, ["web1", "web2"], before)
    conf = rig.root("web1") / "app.conf"
    conf.write_text("by hand\n")
    rig.wait("drift from what it holds to be healed to that", lambda: number(rig, "web1") == "number 0")

    assert rig.saltern("rollback", "--undo", "nosuch", "--target", "web2", check=False).returncode == 5
    [undone] = json.loads(rig.saltern("rollback", "--undo", bad, "--target", "web2", "--out", "json").stdout)
    assert undone["minions"] == ["web2"]
    rig.wait("web2 to have what is live", lambda: number(rig, "web2") == "number 1")
    taken_back(rig, ["web1"], before)

    head = rig.push("number 2", {"pillar/numbers.sls": ("number: 1\n", "number: 2\n")})
    rig.wait_applied(head)
    assert {each["sync"] for each in rig.status().values()} == {"Synced"}
    assert {number(rig, each) for each in rig.minions} == {"number 2"}
    assert rig.ask("/quarantine") == []
    told = rig.saltern("events", "saltern/minion/web1/released", "--since", "1h", "-n", "1", "--out", "json").stdout
    assert json.loads(told)["data"]["why"] == "a newer revision is live"


def test_a_revision_that_was_taken_back_too_does_not_come_by_a_rollback_of_all(make_rig):
    rig = make_rig(minions={"web1": {}, "db1": {}})
    rig.wait_applied(rig.push("what they have"))
    before = rig.head()
    middle = rig.push("number 1", NUMBER)
    rig.wait_applied(middle)
    bad = rig.push("number 2", {"pillar/numbers.sls": ("number: 1\n", "number: 2\n")})
    rig.wait_applied(bad)
    rig.saltern("rollback", "--target", "web1", "--to", before)
    taken_back(rig, ["web1"], before)

    rig.saltern("rollback", "--to", middle)
    rig.wait("the others to have the middle one", lambda: number(rig, "db1") == "number 1")
    taken_back(rig, ["web1"], before)
    assert number(rig, "web1") == "number 0", "the middle one was taken back, too"

    rig.saltern("rollback", "--to", before)
    rig.wait_applied(before)
    assert {each["sync"] for each in rig.status().values()} == {"Synced"}, "all have what web1 held"

    refused = rig.saltern("rollback", "--target", "web1", "--to", "nosuch", check=False)
    assert (refused.returncode, "no revision before" in refused.stderr) == (1, True), refused
    assert rig.saltern("rollback", "--target", "nobody*", check=False).returncode == 5


def test_a_rollout_waits_for_no_minion_that_is_held_and_the_next_one_takes_it_along(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {}})
    policy = "rollout: {batch: 1, waves: [{name: web1, target: web1}, {name: web2, target: web2, approve: true}]}\n"
    before = rig.push("policy", {"states/saltern.yaml": ("drift:", f"{policy}drift:")})
    rig.wait_applied(before)
    bad = rig.push("number 1", NUMBER)
    in_phase(rig, "Waiting", bad)
    assert number(rig, "web1") == "number 1"
    rig.saltern("rollback", "--target", "web1")
    rig.wait("web1 to be back", lambda: number(rig, "web1") == "number 0")
    rig.saltern("rollout", "promote")
    in_phase(rig, "Completed", bad)
    taken_back(rig, ["web1"], before)

    head = rig.push("number 2", {"pillar/numbers.sls": ("number: 1\n", "number: 2\n")})
    waiting = in_phase(rig, "Waiting", head)
    rig.wait("web1 to come first", lambda: number(rig, "web1") == "number 2")
    assert number(rig, "web2") == "number 1"
    batches = rig.ask("/rollout", name=waiting["id"])["batches"]
    assert [batch["names"] for batch in batches] == [["web1"], ["web2"]]
    rig.saltern("rollout", "promote")
    in_phase(rig, "Completed", head)
    assert rig.ask("/quarantine") == []


def test_a_minion_that_is_away_finds_what_it_was_taken_back_to_and_a_tree_that_breaks_frees_nobody(make_rig):
    rig = make_rig(minions={"web1": {}, "db1": {}})
    before = rig.push("what they have")
    rig.wait_applied(before)
    rig.wait_applied(rig.push("number 1", NUMBER))
    rig.stop("web1")
    rig.saltern("rollback", "--target", "web1")
    rig.kill("controller", children=True)
    rig.start_controller()
    rig.start_minion("web1")
    taken_back(rig, ["web1"], before)
    assert number(rig, "web1") == "number 0"

    breaks = "{% if grains['id'] == 'web1' %}{{ 1 / 0 }}{% endif %}\ninclude:"
    rig.push("it does not compile for web1", {"states/app.sls": ("include:", breaks)})
    rig.wait("the error", lambda: rig.status()["web1"]["errors"])
    time.sleep(1.0)
    assert number(rig, "web1") == "number 0", "what was compiled for it last is what was taken back"
    rig.push("it does", {"states/app.sls": ("{{ 1 / 0 }}", "")})
    rig.wait("web1 to have it", lambda: number(rig, "web1") == "number 1")
    assert rig.ask("/quarantine") == []
