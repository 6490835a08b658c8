"""`saltern why` with real processes: a push, a broken push, drift that is remediated, and a person."""

import json
import os
import pwd


def why(rig, minion="web1"):
    return json.loads(rig.saltern("why", minion, "--out", "json").stdout)["steps"]


def kinds(rig):
    return [step["step"] for step in why(rig)]


def test_the_chain_of_each_kind_of_run(make_rig):
    rig = make_rig(minions={"web1": {}})
    often = {"states/saltern.yaml": ("interval: 30m", "interval: 1s, splay: 0")}
    rig.wait_applied(rig.push("first", often))
    rig.push("A second one", {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")})
    rig.wait_applied(rig.head())
    steps = rig.wait("the result", lambda: (s := why(rig))[-1]["step"] == "applied" and s)
    assert [step["step"] for step in steps] == [
        "fetch", "revision", "compile", "run", "start", "result", "applied",
    ]  # fmt: skip
    assert steps[1]["details"] == ["A second one"]
    assert rig.head().startswith(steps[1]["revision"][:7])
    ids = {step["id"] for step in steps}
    assert all(step["cause"] in ids for step in steps[1:]), "each names what it follows from"
    lines = rig.saltern("why", "web1").stdout.splitlines()
    assert len(lines) == sum(1 + len(step["details"]) for step in steps), "what is piped is not wrapped"

    rig.push("Broken", {"states/app.sls": ("app-told:", "app-told: [")})
    broken = rig.wait("the error", lambda: (s := why(rig))[-1]["text"].startswith("does not compile") and s)
    assert [step["step"] for step in broken] == ["fetch", "revision", "compile"]
    assert "app.sls:" in " ".join(broken[-1]["details"])

    fixed = {
        "states/app.sls": ("app-told: [", "app-told:"),
        "states/saltern.yaml": ("drift: {", "drift: {mode: remediate, "),
    }
    rig.wait_applied(rig.push("Fixed", fixed))
    (rig.root("web1") / "app.conf").write_text("by hand\n")
    healed = rig.wait("it to be healed", lambda: (s := why(rig))[0]["text"].startswith("drift") and len(s) > 3 and s)
    assert [step["step"] for step in healed][:3] == ["result", "run", "start"]
    assert healed[1]["text"].startswith("remediate of the whole highstate")
    rig.wait("the end of it", lambda: kinds(rig)[-1] == "applied")

    rig.saltern("sync", "web1", "--whole")
    asked = rig.wait("the run of a person", lambda: (s := why(rig))[0]["step"] == "request" and s)
    assert asked[0]["text"] == f"{pwd.getpwuid(os.geteuid()).pw_name}: saltern sync web1 --whole"
    assert asked[1]["text"].startswith("apply of the whole highstate")
    assert rig.saltern("why", "nobody", check=False).returncode == 5


def test_the_chain_outlives_a_restart(make_rig):
    rig = make_rig(minions={"web1": {}})
    rig.wait_applied(rig.push("first"))
    before = rig.wait("the result", lambda: (s := why(rig))[-1]["step"] == "applied" and s)
    rig.stop("controller")
    rig.start_controller()
    rig.wait("it to be back", lambda: rig.status()["web1"]["connected"])
    assert why(rig) == before, "whose document holds still is not compiled again"
    rig.wait_applied(rig.push("second", {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")}))
    after = rig.wait("the result", lambda: (s := why(rig))[-1]["step"] == "applied" and s != before and s)
    assert min(int(step["id"]) for step in after) > int(before[-1]["id"]), "ids go on"
    assert [step["step"] for step in after][:3] == ["fetch", "revision", "compile"]
