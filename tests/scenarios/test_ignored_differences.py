"""`ignore_differences`: what policy ignores is shown, is no drift, and is left as it is while the rest is put right."""

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
    (diff,) = json.loads(rig.saltern("diff", "web1", "--out", "json").stdout)
    (shown,) = diff["ignored"]
    assert next(iter(shown["ignored"].values()))["reason"] == "until the audit"
    assert diff["drift"] == []
    assert "ignored, as saltern.yaml says:" in rig.saltern("diff", "web1").stdout
    assert "ignored: what differs in 1 state" in rig.saltern("status", "-v").stdout
    assert "ignores state 'file.managed', field 'mode'" in rig.saltern("policy", "explain", "web1").stdout

    conf.write_text("edited\n")
    rig.wait("healing", lambda: conf.read_text() == wanted)
    assert conf.stat().st_mode & 0o777 == other
