"""saltern.yaml for some minions: who is applied to by itself, when, and what people see of it."""

import json

NUMBER = {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")}
NEVER = "{schedule: '0 0 29 2 *', duration: 1m}"
"""A window that is not open but for a minute in some years."""


def with_policies(rig, text):
    rig.wait_applied(rig.push("what all have"))
    head = rig.push("policies", {"states/saltern.yaml": ("drift:", f"{text}\ndrift:")})
    rig.wait("the policies", lambda: {each["applied_revision"] for each in rig.status().values()} == {head})


def applied(rig, minion):
    return "number 1" in (rig.root(minion) / "app.conf").read_text()


def test_a_push_goes_to_those_that_policy_lets_and_waits_for_the_others(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {"env": "prod"}, "db1": {}, "db2": {}})
    with_policies(
        rig,
        f"""policies:
- {{name: production, target: 'G@env:prod', apply: manual}}
- {{name: nightly, target: db1, windows: [{NEVER}]}}
- {{name: frozen, target: db2, suspend: true}}""",
    )
    head = rig.push("number 1", NUMBER)
    rig.wait_applied(head, ["web1"])
    found = rig.status()
    assert [found[each]["sync"] for each in ("web1", "web2", "db1", "db2")] == [
        "Synced",
        "OutOfSync",
        "OutOfSync",
        "Paused",
    ]
    assert found["web2"]["message"] == "waits for `saltern sync`"
    assert found["db1"]["message"].startswith("waits for its window: outside of allow window '0 0 29 2 *' for 1m (UTC)")
    assert found["db2"]["message"] == "suspended in saltern.yaml"
    assert [applied(rig, each) for each in ("web1", "web2", "db1", "db2")] == [True, False, False, False]

    synced = rig.saltern("sync", "*", "--out", "json", check=False)
    outcomes = {minion: each["outcome"] for minion, each in json.loads(synced.stdout).items()}
    assert outcomes == {"web1": "ok", "web2": "changed", "db1": "outside-window", "db2": "paused"}
    assert synced.returncode == 2, "something still waits"
    assert [applied(rig, each) for each in ("web1", "web2", "db1", "db2")] == [True, True, False, False]

    told = rig.saltern("policy", "explain", "db1").stdout
    assert "now: closed: outside of allow window" in told
    assert "(nightly (saltern.yaml:3))" in told
    view = json.loads(rig.saltern("policy", "explain", "web2", "--out", "json").stdout)
    [apply] = [each for each in view["keys"] if each["key"] == "apply"]
    assert (apply["value"], apply["source"]) == ("manual", "production (saltern.yaml:2)")

    lifted = {"states/saltern.yaml": (f", windows: [{NEVER}]", ", push: changed")}
    rig.wait_applied(rig.push("the window is gone", lifted), ["db1"])
    assert applied(rig, "db1")


def test_a_window_that_lets_people_pass(make_rig):
    rig = make_rig(minions={"web1": {}})
    with_policies(rig, "windows: [{schedule: '0 0 29 2 *', duration: 1m, manual: true}]")
    rig.push("number 1", NUMBER)
    rig.wait("the push", lambda: rig.status()["web1"]["message"].startswith("waits for its window"))
    assert not applied(rig, "web1")
    assert rig.saltern("sync", "web1").returncode == 0
    assert applied(rig, "web1")


def test_drift_is_healed_where_policy_says_so(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {}})
    with_policies(rig, "policies:\n- {name: healed, target: web2, drift: {mode: remediate}}")
    for minion in ("web1", "web2"):
        (rig.root(minion) / "app.conf").write_text("by hand\n")
        rig.saltern("run", minion, "state.apply", "test=True", check=False)
    rig.push("a check", {"states/saltern.yaml": ("interval: 30m", "interval: 1, splay: 0")})
    rig.wait("web2 to be healed", lambda: "by hand" not in (rig.root("web2") / "app.conf").read_text())
    rig.wait("web1 to be found", lambda: rig.status()["web1"]["health"] == "Drifted")
    assert (rig.root("web1") / "app.conf").read_text() == "by hand\n"
    assert "to heal it: saltern sync web1 --whole" in rig.status()["web1"]["message"]


def test_a_preview_says_who_waits(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {}})
    with_policies(rig, f"policies:\n- {{name: nightly, target: web2, windows: [{NEVER}]}}")
    rig.git("checkout", "-q", "-b", "next")
    rig.push("number 1", NUMBER, branch="next")
    shown = rig.saltern("preview", "--base", "main", "--head", "next", "--out", "json", check=False)
    timing = json.loads(shown.stdout)["timing"]
    [waits] = [each for each in timing if "waits for a window" in each["text"]]
    assert waits["minions"] == ["web2"]


def outcomes(rig, *call):
    """Minion -> what came of a job."""
    rig.saltern("run", "*", *call, check=False)
    shown = json.loads(rig.saltern("jobs", "last", "--out", "json", check=False).stdout)
    return {each["minion"]: each["outcome"] for each in shown["minions"]}


def test_states_of_jobs_and_reactions_keep_to_windows_too(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {}, "db1": {}})
    lax = NEVER.replace("}", ", manual: true}")
    text = f"""policies:
- {{name: nightly, target: web2, windows: [{lax}]}}
- {{name: frozen, target: db1, suspend: true}}
rules:
- name: apply
  tag: my/apply
  do: [{{local.state.apply: {{tgt: '*'}}}}]"""
    with_policies(rig, text)
    for minion in ("web1", "web2", "db1"):
        (rig.root(minion) / "app.conf").write_text("by hand\n")
    assert outcomes(rig, "state.apply", "test=True") == {"web1": "ok", "web2": "ok", "db1": "ok"}
    rig.saltern("run", "web1", "event.send", "my/apply")
    rig.wait("the reaction", lambda: "by hand" not in (rig.root("web1") / "app.conf").read_text())
    rig.wait("its end", lambda: all(run["state"] == "finished" for run in rig.history()))
    refused = [run for run in rig.history() if "nothing was run" in run["summary"]]
    assert sorted(run["minion"] for run in refused) == ["db1", "web2"]
    assert (rig.root("web2") / "app.conf").read_text() == "by hand\n"
    assert outcomes(rig, "state.apply") == {"web1": "ok", "web2": "changed", "db1": "refused"}
    assert (rig.root("db1") / "app.conf").read_text() == "by hand\n"


def test_drift_is_healed_while_a_push_waits(make_rig):
    rig = make_rig(minions={"web1": {}})
    with_policies(rig, "apply: manual")
    rig.push("healed", {"states/saltern.yaml": ("interval: 30m", "interval: 1, splay: 0, mode: remediate")})
    rig.wait("the new schedule", lambda: rig.status()["web1"]["sync"] == "OutOfSync")
    rig.wait("it to be applied", lambda: rig.saltern("sync", "web1", check=False).returncode == 0)
    rig.push("number 1", NUMBER)
    rig.wait("the push", lambda: rig.status()["web1"]["sync"] == "OutOfSync")
    (rig.root("web1") / "app.conf").write_text("by hand\n")
    rig.wait("what it had before", lambda: "number 0" in (rig.root("web1") / "app.conf").read_text())
    rig.wait("the run to end", lambda: rig.status()["web1"]["message"] == "waits for `saltern sync`")
    assert [each["kind"] for each in rig.history("web1") if each["kind"] == "remediate"] == ["remediate"]
    rig.saltern("sync", "web1")
    assert applied(rig, "web1")


def test_in_shadow_all_is_shown_and_nothing_applied_until_a_group_is_let_out(make_rig):
    rig = make_rig(minions={"web1": {}, "db1": {}})
    rig.wait_applied(rig.push("what all have"))
    rig.push("shadow", {"states/saltern.yaml": ("drift:", "shadow: true\ndrift:")})
    rig.wait("the shadow", lambda: {each["sync"] for each in rig.status().values()} == {"Shadow"})
    rig.wait("a look", lambda: all("would change no state" in each["message"] for each in rig.status().values()))

    rig.push("number 1", NUMBER)
    rig.wait("a look at the push", lambda: all("change 1 state" in each["message"] for each in rig.status().values()))
    assert {(each["health"], each["drifted"]) for each in rig.status().values()} == {("Drifted", 1)}
    assert "in shadow: nothing is applied" in rig.saltern("diff", "web1", check=False).stdout
    assert not applied(rig, "web1")
    assert not applied(rig, "db1")

    synced = rig.saltern("sync", "*", "--out", "json", check=False)
    assert {each["outcome"] for each in json.loads(synced.stdout).values()} == {"paused"}
    assert "app.conf" in rig.saltern("sync", "web1", "--test", check=False).stdout
    for words in (["cmd.run", "echo no"], ["state.apply"], ["state.single", "test.nop", "x"]):
        done = rig.saltern("run", "web1", *words, check=False)
        assert done.returncode != 0, words
        assert "in shadow by saltern.yaml" in done.stdout + done.stderr, words
    assert "True" in rig.saltern("run", "web1", "test.ping").stdout
    assert "app.conf" in rig.saltern("run", "web1", "state.apply", "test=True", check=False).stdout

    group = "shadow: true\npolicies: [{name: moved, target: 'web*', shadow: false}]"
    head = rig.push("one group", {"states/saltern.yaml": ("shadow: true", group)})
    rig.wait_applied(head, ["web1"])
    assert [applied(rig, each) for each in ("web1", "db1")] == [True, False]
    lines = [line.split() for line in rig.saltern("minions").stdout.splitlines()]
    assert {line[0] for line in lines if "Shadow" in line} == {"db1"}
    head = rig.push("all", {"states/saltern.yaml": (group, "shadow: false")})
    rig.wait_applied(head)
    assert applied(rig, "db1")
