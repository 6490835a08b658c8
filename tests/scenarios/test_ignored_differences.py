"""Drift: its classes; what policy ignores is shown, is none, and is left while the rest is put right."""

import json

RULE = """ignore_differences:
- {state: file.managed, field: mode, expires: 2099-12-31, reason: until the audit}
drift: {mode: remediate, interval: 1s, splay: 0}
"""


def test_an_ignored_mode_is_shown_and_stays(make_rig):
    rig = make_rig(minions={"web1": {}})
    conf = rig.root("web1") / "app.conf"
    source = "    - source: salt://app.conf.j2\n"
    with_mode = {"states/app.sls": (source, f"{source}    - mode: '0644'\n")}
    rig.wait_applied(rig.push("policy", {"states/saltern.yaml": ("drift: {interval: 30m}\n", RULE), **with_mode}))
    wanted, other = conf.read_text(), 0o600
    conf.chmod(other)
    found = rig.wait("the check", lambda: rig.status()["web1"]["ignored"] and rig.status()["web1"])
    assert (found["health"], found["drifted"], found["ignored"]) == ("Healthy", 0, 1)
    (diff,) = json.loads(rig.saltern("diff", "web1", "--out", "json", check=False).stdout)
    (shown,) = diff["ignored"]
    assert next(iter(shown["ignored"].values()))["reason"] == "until the audit"
    assert diff["drift"] == []
    assert "ignored, as saltern.yaml says:" in rig.saltern("diff", "web1", check=False).stdout
    assert "ignored: what differs in 1 state" in rig.saltern("status", "-v").stdout
    assert "ignores state 'file.managed', field 'mode'" in rig.saltern("policy", "explain", "web1").stdout

    conf.write_text("edited\n")
    rig.wait("healing", lambda: conf.read_text() == wanted)
    assert conf.stat().st_mode & 0o777 == other


STATE = """def painted(name):
    done = {"name": name, "changes": {"color": {"old": "red", "new": "blue"}}, "comment": "painted"}
    return {**done, "result": None if __opts__["test"] else True}
"""


def test_a_state_that_acts_each_time_is_no_drift_and_an_edited_file_is(make_rig):
    rig = make_rig(minions={"web1": {}})
    conf = rig.root("web1") / "app.conf"
    policy = ("drift: {interval: 30m}\n", "drift: {mode: remediate, interval: 1s, splay: 0}\n")
    painted = {"states/app.sls": ("app-told:\n", "wall:\n  mine.painted\n\napp-told:\n")}
    (rig.work / "states/_states").mkdir()
    (rig.work / "states/_states/mine.py").write_text(STATE)
    rig.wait_applied(rig.push("painted", {"states/saltern.yaml": policy, **painted}))
    found = rig.wait("the check", lambda: rig.status()["web1"]["classes"] and rig.status()["web1"])
    assert (found["health"], found["drifted"], found["classes"]) == ("Healthy", 0, {"not-convergent": 1})
    wanted = conf.read_text()
    conf.write_text("edited\n")
    rig.wait("healing", lambda: conf.read_text() == wanted)
    kinds = [run["kind"] for run in rig.history("web1")]
    assert kinds.count("remediate") <= 1, "the state that acts was remediated"
    why = json.loads(rig.saltern("why", "web1", "app-config", "--out", "json").stdout)
    (state,) = why["states"]
    assert "drifted" in [what for _, what in state["seen"]]
    assert "not-convergent" in rig.saltern("why", "web1", "wall").stdout
