"""Rollouts and rollbacks with real processes: who gets a push when, what stops it, and what is taken back."""

import json
import time
from itertools import pairwise

import effort
import pytest

NUMBER = {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")}
BREAKS = {"states/app.sls": ("app-config:\n", "broken:\n  cmd.run:\n    - name: 'false'\napp-config:\n")}


def with_rollout(rig, text):
    rig.wait_applied(rig.push("what all have"))
    head = rig.push("policy", {"states/saltern.yaml": ("drift:", f"rollout: {text}\ndrift:")})
    rig.wait("the policy", lambda: {each["applied_revision"] for each in rig.status().values()} == {head})


def applied(rig):
    return {minion for minion in rig.minions if "number 1" in (rig.root(minion) / "app.conf").read_text()}


def shown(rig, name=""):
    return json.loads(rig.saltern("rollout", "show", *([name] if name else []), "--out", "json", check=False).stdout)


def in_phase(rig, phase):
    def there():
        found = rig.ask("/rollouts")
        return found[0] if found and found[0]["phase"] == phase else None

    return rig.wait(f"phase {phase}", there)


def test_waves_come_one_after_another_and_the_next_waits_for_somebody(make_rig):
    rig = make_rig(minions={"test1": {}, "web1": {}, "web2": {}})
    with_rollout(rig, "{waves: [{name: test, target: 'test*'}, {name: web, target: 'web*', approve: true, batch: 1}]}")
    head = rig.push("number 1", NUMBER)
    found = in_phase(rig, "Waiting")
    assert (found["revision"], found["released"], found["minions"]) == (head, 1, 3)
    assert applied(rig) == {"test1"}
    status = rig.status()["web2"]
    assert (status["sync"], status["message"]) == ("OutOfSync", f"waits: rollout {found['id']} is Waiting: web")
    refused = rig.saltern("sync", "web1", "--out", "json", check=False)
    assert (refused.returncode, json.loads(refused.stdout)["web1"]["outcome"]) == (2, "waits-for-rollout")
    assert rig.saltern("rollout", "show", check=False).returncode == 2
    ran = rig.saltern("run", "web1", "state.apply", "--out", "json", check=False)
    assert "rollout" in ran.stdout + ran.stderr

    rig.kill("controller", children=True)
    rig.start_controller()
    rig.wait("the minions", lambda: all(each["connected"] for each in rig.status().values()))
    assert applied(rig) == {"test1"}, "a restart releases nothing"
    assert in_phase(rig, "Waiting")["id"] == found["id"]

    assert "promoted" in rig.saltern("rollout", "promote").stdout
    rig.wait_applied(head)
    assert in_phase(rig, "Completed")["id"] == found["id"]
    assert [(b["wave"], b["minions"], b["state"]) for b in shown(rig)["batches"]] == [
        ("test", 1, "done"),
        ("web", 1, "done"),
        ("web", 1, "done"),
    ]
    rig.wait("the chain of causes", lambda: "rollout" in rig.saltern("why", "web2").stdout)


def test_a_canary_that_fails_stops_it_and_takes_the_revision_back(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {}, "web3": {}})
    with_rollout(rig, "{canary: 1, on_failure: rollback}")
    good = rig.status()["web1"]["applied_revision"]
    bad = rig.push("it breaks", {**BREAKS, **NUMBER})
    found = in_phase(rig, "RolledBack")
    assert found["revision"] == bad
    rig.wait("all to be back", lambda: {each["sync"] for each in rig.status().values()} == {"Synced"})
    assert {each["applied_revision"] for each in rig.status().values()} == {good}
    assert applied(rig) == set(), "the canary has what it had"
    assert {each["minion"] for each in rig.history() if each["outcome"] == "failed"} == {found_canary(rig)}
    [taken] = rig.ask("/quarantine")
    assert (taken["revision"], taken["back_to"]) == (bad, good)

    rig.kill("controller", children=True)
    rig.start_controller()
    rig.wait("the minions", lambda: all(each["connected"] for each in rig.status().values()))
    assert {each["attempted_revision"] for each in rig.status().values()} == {good}, "it stays taken back"

    head = rig.push("it is mended", {"states/app.sls": ("name: 'false'", "name: 'true'")})
    rig.wait_applied(head)
    assert applied(rig) == {"web1", "web2", "web3"}
    assert in_phase(rig, "Completed")["revision"] == head


def found_canary(rig):
    found = [one for one in rig.ask("/rollouts") if one["phase"] == "RolledBack"]
    [canary] = [batch for batch in rig.ask("/rollout", name=found[0]["id"])["batches"] if batch["canary"]]
    return canary["names"][0]


def test_people_roll_back_and_let_it_go_live_again(make_rig):
    rig = make_rig(minions={"web1": {}})
    rig.wait_applied(rig.push("what it has"))
    before = rig.status()["web1"]["applied_revision"]
    head = rig.push("number 1", NUMBER)
    rig.wait_applied(head)
    told = rig.saltern("rollback", "--why", "too early").stdout
    assert told == f"took {head} back: {before} is live until something newer is pushed\n"
    rig.wait_applied(before)
    assert applied(rig) == set()
    assert "too early" in rig.saltern("rollback", "--list").stdout
    rig.saltern("remote", "fetch")
    assert rig.status()["web1"]["attempted_revision"] == before
    rig.saltern("rollback", "--undo", head)
    rig.wait_applied(head)
    assert applied(rig) == {"web1"}
    refused = rig.saltern("rollback", "--to", "nosuch", check=False)
    assert refused.returncode != 0
    assert "no revision before" in refused.stderr


def test_a_rollback_passes_over_what_does_not_compile(make_rig):
    rig = make_rig(minions={"web1": {}})
    good = rig.push("what it has")
    rig.wait_applied(good)
    broken = rig.push("it does not compile", {"states/app.sls": ("app-config:\n", "{{ pillar['nosuch'] }}:\n")})
    rig.wait("it not to compile", lambda: rig.status()["web1"]["attempted_revision"] == broken)
    head = rig.push("it compiles", {"states/app.sls": ("{{ pillar['nosuch'] }}:\n", "app-config:\n"), **NUMBER})
    rig.wait_applied(head)

    done = rig.saltern("rollback")
    assert done.stdout == f"took {head} back: {good} is live until something newer is pushed\n"
    assert done.stderr == f"passed over what does not compile: {broken}\n"
    rig.wait_applied(good)

    rig.saltern("rollback", "--undo", "all")
    rig.wait_applied(head)
    done = rig.saltern("rollback", "--to", broken)
    assert f"{broken} does not compile for web1: it keeps what it has" in done.stderr


WAVES = "{waves: [{name: test, target: 'test*'}, {name: web, target: 'web*', approve: true}], confirm: 1h, %s}"


def test_a_push_in_each_phase_takes_the_place_of_the_rollout(make_rig):
    rig = make_rig(minions={"test1": {}, "web1": {}, "web2": {}})
    with_rollout(rig, WAVES % "approvals: {count: 1}")

    def number(name):
        return (rig.root(name) / "app.conf").read_text().split()[-1]

    def push(to, then):
        """Push while the rollout before is as it is, and let the new one come to its second wave."""
        before = (rig.ask("/rollouts") or [None])[0]
        head = rig.push(f"number {to}", {"pillar/numbers.sls": (f"number: {to - 1}\n", f"number: {to}\n")})
        rig.wait("a rollout of its own", lambda: [each["revision"] for each in rig.ask("/rollouts")[:1]] == [head])
        in_phase(rig, "Pending")
        if before is not None:
            known = {each["id"]: each["phase"] for each in rig.ask("/rollouts")}
            assert known[before["id"]] == "Superseded"
        for action in then:
            rig.saltern("rollout", action)
            if action == "approve":
                in_phase(rig, "Waiting")
                assert (number("test1"), number("web1"), number("web2")) == (f"{to}", web, web)

    web = "0"
    push(1, [])  # nobody has approved of it when the next comes
    push(2, ["approve"])  # its second wave waits for somebody
    push(3, ["approve", "pause"])  # it is paused
    push(4, ["approve", "promote"])  # all have it, and it waits for its confirmation
    in_phase(rig, "Confirming")
    web = "4"
    assert number("web2") == "4"
    push(5, ["approve", "promote"])
    in_phase(rig, "Confirming")
    rig.saltern("rollout", "confirm")
    in_phase(rig, "Completed")
    assert {number(each) for each in rig.minions} == {"5"}
    for minion in rig.minions:
        done = [run["revision"] for run in rig.history(minion) if run["kind"] == "apply"]
        assert len(set(done)) == len(done), f"{minion} ran a revision twice: {done}"


def test_approval_and_confirmation(make_rig):
    rig = make_rig(minions={"web1": {}})
    with_rollout(rig, "{confirm: 1h, approvals: {count: 1, states: ['file.*']}}")
    head = rig.push("number 1", NUMBER)
    in_phase(rig, "Pending")
    assert applied(rig) == set()
    rig.saltern("rollout", "pause")
    rig.saltern("rollout", "resume")
    rig.saltern("rollout", "approve")
    found = in_phase(rig, "Confirming")
    rig.wait_applied(head)
    run = next(each for each in rig.history("web1") if each["revision"] == head and each["kind"] == "apply")
    view = json.loads(rig.saltern("show", run["run_id"], "--out", "json").stdout)
    assert view["plan"], "what it was planned to do"
    assert (view["rollout"], [one["user"] for one in view["approvals"]]) == (found["id"], found["approvals"])
    steps = [step["step"] for step in view["steps"]]
    assert [each for each in dict.fromkeys(steps) if each in ("fetch", "revision", "rollout", "run", "result")] == [
        "fetch", "revision", "rollout", "run", "result",
    ]  # fmt: skip
    told = json.loads(rig.saltern("history", "web1", "-n", "100", "--out", "json").stdout)
    (entry,) = [each for each in told if each["run_id"] == run["run_id"]]
    assert {name: entry[name] for name in ("plan", "rollout", "approvals")} == {
        name: view[name] for name in ("plan", "rollout", "approvals")
    }
    assert [step["step"] for step in entry["steps"]] == steps
    text = rig.saltern("show", run["run_id"]).stdout
    assert f"rollout:   {found['id']}" in text
    assert "approved:  " in text
    assert "because:" in text.splitlines()
    assert rig.saltern("rollout", "watch", check=False).returncode == 2
    rig.saltern("rollout", "confirm")
    assert rig.saltern("rollout", "show").returncode == 0
    again = rig.saltern("rollout", "confirm", check=False)
    assert "it does not go on" in again.stderr


@pytest.mark.timeout(900)
def test_a_fleet_with_failures_and_a_controller_that_is_killed(make_rig, swarm, tmp_path):
    count = 1000 if effort.FULL else 60
    rig = make_rig(minions={})
    rig.push("what all have")
    token = rig.saltern("key", "token", "create", "--id", "load-*", "--count", str(count), "--out", "json").stdout
    words = ["--minions", str(count), "--id-prefix", "load-", "--token", json.loads(token)["token"]]
    swarm(rig, *words, "--fail-percent", "2", "--delay", "0.1", "--grains", str(grains_file(tmp_path)))
    rig.wait("all to have something", lambda: synced(rig) == count, patience=300)
    text = "{canary: 1, batch: 20%, max_failures: 50%, waves: [{name: some, target: 'load-*1*'}]}"
    rig.push("policy", {"states/saltern.yaml": ("drift:", f"retry: {{duration: 1s}}\nrollout: {text}\ndrift:")})
    head = rig.push("number 1", NUMBER)
    rig.wait("the rollout to be on its way", lambda: released(rig, head) > count // 4)
    rig.kill("controller", children=True)
    rig.start_controller()
    rig.wait("its end", lambda: rig.ask("/rollouts")[0]["phase"] == "Completed", patience=300)
    rig.wait("all to have it", lambda: synced(rig) == count, patience=300)
    assert {each["applied_revision"] for each in rig.status().values()} == {head}

    one = rig.ask("/rollouts")[0]
    assert (one["revision"], one["released"], one["minions"]) == (head, count, count)
    batches = rig.ask("/rollout", name=one["id"])["batches"]
    waves = [batch["wave"] for batch in batches]
    assert waves == sorted(waves, key=["some", "rest"].index), "waves come in order"
    assert {batch["state"] for batch in batches} == {"done"}
    first = {}
    for run in reversed(rig.history(limit=20 * count)):
        if run["revision"] == head and run["kind"] == "apply":
            first.setdefault(run["minion"], run["created"])
    begun = [[first[name] for name in batch["names"]] for batch in batches]
    assert all(max(one) <= min(two) for one, two in pairwise(begun)), "nobody came before the batch before was begun"


def grains_file(folder):
    made = folder / "grains.json"
    made.write_text(json.dumps({"root": str(folder / "nowhere"), "os": "Debian", "osmajorrelease": 12}))
    return made


def synced(rig):
    if effort.FULL:
        time.sleep(2.0)  # to look at a thousand minions takes the controller a while
    return sum(each["sync"] == "Synced" for each in rig.status().values())


def released(rig, head):
    found = rig.ask("/rollouts")
    return found[0]["released"] if found and found[0]["revision"] == head else 0
