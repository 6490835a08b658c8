"""`saltern diff` of a fleet with real processes: what is pending, what drifted, and what lies between two revisions."""

import json

NUMBER = ("number: 0\n", "number: 1\n")
RESTART = """
{% if grains['role'] == 'web' %}
app-restart:
  cmd.run:
    - name: systemctl restart app
    - require:
      - file: app-config
{% endif %}
"""
FLEET = {"web1": {"role": "web"}, "web2": {"role": "web"}, "web3": {"role": "web"}, "db1": {"role": "db"}}


def fleet(make_rig):
    """Applied everywhere: a file with the id of its minion in it."""
    rig = make_rig(minions=FLEET)
    (rig.work / "states" / "app.conf.j2").write_text("{{ grains['id'] }} {{ pillar['number'] }}\n")
    before = rig.push("what they have", {"states/saltern.yaml": ("interval: 30m", "interval: 1s, splay: 0")})
    rig.wait_applied(before)
    return rig, before


def diff(rig, *arguments, code=2):
    done = rig.saltern("diff", *arguments, "--out", "json", check=False)
    assert done.returncode == code, done
    return json.loads(done.stdout)


def found(report):
    """Minions, states and differences of each class."""
    return [
        (each["minions"], [(one["action"], one["title"].split()[0]) for one in each["resources"]])
        for each in report["classes"]
    ]


def expect_the_change(report):
    webs = ["web1", "web2", "web3"]
    changed = ("changed", "app-config"), ("retriggered", "app-told")
    ours = sorted((minions, sorted(states)) for minions, states in found(report))
    assert ours == [(["db1"], sorted(changed)), (webs, sorted([*changed, ("added", "app-restart")]))]
    [web] = [each for each in report["classes"] if each["minions"] == webs]
    [file] = next(one["files"] for one in web["resources"] if one["title"].startswith("app-config"))
    assert "-⟨grains.id⟩ 0\n+⟨grains.id⟩ 1" in file["text"], "rendered, with a hole for what differs by host"
    assert web["holes"][0]["examples"] == {each: each for each in webs}
    [restart] = report["restarts"]
    assert (restart["service"], restart["action"], restart["minions"]) == ("app", "restart", webs)
    assert restart["whole_groups"] == ["role web (3 minions)"]


def test_what_is_pending_is_shown_once_for_all_that_have_it(make_rig):
    rig, before = fleet(make_rig)
    nothing = diff(rig, code=0)
    assert (nothing["kind"], nothing["minions"], nothing["classes"], nothing["drift"]) == ("pending", 4, [], [])
    with (rig.work / "states" / "app.sls").open("a") as sls:
        sls.write(RESTART)
    head = rig.push(
        "number 1", {"pillar/numbers.sls": NUMBER, "states/saltern.yaml": ("drift:", "apply: manual\ndrift:")}
    )
    rig.wait("the push", lambda: {each["attempted_revision"] for each in rig.status().values()} == {head})

    report = diff(rig)
    expect_the_change(report)
    assert (report["base"], report["head"], report["changed"], report["unchanged"]) == (before, head, 4, 0)
    assert any("saltern sync" in each["text"] for each in report["timing"])
    shown = rig.saltern("diff", check=False).stdout
    assert "2 distinct changes on 4 of 4 minions" in shown
    assert "Every minion of role web (3 minions) restarts app at once." in shown
    assert "Saltern diff" in rig.saltern("diff", "--out", "markdown", check=False).stdout
    assert diff(rig, "web1", "db1")["minions"] == 2
    assert [each["minions"] for each in diff(rig, "--target", "role:web", "-G")["classes"]] == [
        ["web1", "web2", "web3"]
    ]
    [one] = diff(rig, "web1")
    assert "app-restart" in one["text"], "of one minion: in full"
    assert rig.saltern("diff", "--target", "nobody*", check=False).returncode == 5
    assert rig.saltern("diff", "nobody", check=False).returncode == 5

    for minion in ("web1", "web2"):
        (rig.root(minion) / "app.conf").write_text("by hand\n")
    rig.wait("the drift", lambda: sum(each["drifted"] for each in rig.status().values()) == 2)
    [drifted] = diff(rig)["drift"]
    assert drifted["minions"] == ["web1", "web2"]
    [state] = drifted["resources"]
    assert state["comment"] == "corrective"
    assert "-by hand\n+⟨grains.id⟩ 0" in state["files"][0]["text"], "it is looked for in what was applied"
    assert "Drift 1 on 2 minions" in rig.saltern("diff", check=False).stdout


def test_two_revisions_are_compared_for_the_fleet(make_rig):
    rig, before = fleet(make_rig)
    with (rig.work / "states" / "app.sls").open("a") as sls:
        sls.write(RESTART.replace("systemctl restart app", "'true # systemctl restart app'"))
    head = rig.push("number 1", {"pillar/numbers.sls": NUMBER})
    rig.wait_applied(head)
    assert diff(rig, code=0)["classes"] == []
    rig.git("tag", "v1", before)
    rig.git("push", "-q", "origin", "v1")

    for asked in (f"{before}..", f"{before}..{head}", f"{before}..main"):
        report = diff(rig, "--rev", asked)
        expect_the_change(report)
        assert (report["kind"], report["violations"]) == ("plan", [])
        assert [each["subject"] for each in report["moved"]] == ["number 1"]
    back = diff(rig, "--rev", f"..{before}", "web2")
    assert (back["minions"], back["classes"][0]["minions"]) == (1, ["web2"])
    assert ("removed", "app-restart") in [
        (one["action"], one["title"].split()[0]) for one in back["classes"][0]["resources"]
    ]
    assert diff(rig, "--rev", f"{head}..main", code=0)["classes"] == []
    assert {each["applied_revision"] for each in rig.status().values()} == {head}, "nothing was changed"
    refused = rig.saltern("diff", "--rev", "nosuch..", check=False)
    assert (refused.returncode, "nosuch" in refused.stderr) == (1, True)
    assert rig.saltern("diff", "--rev", "main", check=False).returncode == 64
