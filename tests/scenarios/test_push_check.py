"""After a push that ran a part of a highstate the minion looks at the whole of it once."""

import json
import re
import urllib.request

LATER = """
later:
  file.managed:
    - name: {{ grains['root'] }}/later
    - contents: there
    - onlyif: cd {{ grains['root'] }} && grep -q 'number 1' app.conf
"""
"""Nothing says that it depends on another state: no plan can know it."""
NUMBER = {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")}


def missed(rig):
    with urllib.request.urlopen(rig.http + "/metrics") as answer:
        found = re.search(r"^saltern_missed_by_plan_total (\S+)$", answer.read().decode(), re.MULTILINE)
    return float(found[1])


def with_later(rig, policy=""):
    files = {
        "states/app.sls": ("\napp-told:", f"{LATER}\napp-told:"),
        "states/saltern.yaml": ("drift: {interval: 30m}", f"{policy}drift: {{interval: 0}}"),
    }
    rig.wait_applied(rig.push("later", files))


def test_what_the_plan_of_a_push_missed_is_applied_and_counted(make_rig):
    rig = make_rig(minions={"web1": {}})
    with_later(rig)
    assert missed(rig) == 0
    rig.wait_applied(rig.push("number 1", NUMBER))
    later = rig.root("web1") / "later"
    rig.wait("the state that was missed", later.exists)
    rig.wait("the count", lambda: missed(rig) == 1)
    rig.wait("its end", lambda: rig.history("web1")[0]["state"] == "finished")
    (healed, check, push) = rig.history("web1")[:3]
    assert [run["kind"] for run in (healed, check, push)] == ["remediate", "drift", "apply"]
    assert (check["cause"], healed["cause"]) == (
        f"check after {push['run_id']}",
        f"missed by the plan {check['run_id']}",
    )
    assert (healed["changes"], rig.status()["web1"]["health"]) == (1, "Healthy")


def drift_foretold(rig, head):
    """What a preview of the branch says of the check after its push."""
    rig.push_head("next")
    shown = rig.saltern("preview", "--base", "main", "--head", head, "--live", "--out", "json", check=False)
    tests = [test for each in json.loads(shown.stdout)["classes"] for test in each["tests"]]
    return {test["minion"]: sorted(test["missed"]) for test in tests}


def test_a_preview_foretells_what_the_check_has_applied(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {}})
    with_later(rig)
    (rig.root("web1") / "app.conf").unlink()  # not known as drift yet
    rig.git("checkout", "-q", "-b", "next")
    rig.push(
        "a state more",
        {"states/app.sls": ("\napp-told:", "\nmore: {test.succeed_with_changes: []}\n\napp-told:")},
        branch="next",
    )
    foretold = drift_foretold(rig, "next")
    assert [key.split("_|-")[1] for key in foretold["web1"]][:1] == ["app-config"], foretold
    assert foretold["web2"] == []
    rig.push_head()
    rig.wait("the file", (rig.root("web1") / "app.conf").exists)


NOTES = """
notes:
  file.append:
    - name: {{ grains['root'] }}/notes
    - text: the last line

app-told:"""


def test_what_a_preview_may_not_read_is_foretold_to_be_put_right(make_rig):
    """A file that is no state's as a whole is not read for a branch; whether it drifts, a drift check may say."""
    rig = make_rig(minions={"web1": {}, "web2": {}})
    rig.wait_applied(rig.push("notes", {"states/app.sls": ("\napp-told:", NOTES)}))
    notes = rig.root("web1") / "notes"
    notes.write_text("private-line-of-this-machine\n")
    rig.git("checkout", "-q", "-b", "next")
    rig.push(
        "a state more",
        {"states/app.sls": ("\napp-told:", "\nmore: {test.succeed_with_changes: []}\n\napp-told:")},
        branch="next",
    )
    rig.push_head("next")
    shown = rig.saltern("preview", "--base", "main", "--head", "next", "--live", "--out", "json", check=False).stdout
    [one] = json.loads(shown)["classes"]
    found = {test["minion"]: test["missed"] for test in one["tests"]}
    [(key, entry)] = found["web1"].items()
    assert key.startswith("file_|-notes_|-")
    assert (entry["changes"], entry.get("uncertain")) == ({"content": "is put right"}, None)
    assert found["web2"] == {}
    assert "private-line" not in shown
    rig.push_head()
    rig.wait("the line", lambda: "the last line" in notes.read_text())


def test_policy_may_only_have_it_reported(make_rig):
    rig = make_rig(minions={"web1": {}})
    with_later(rig, "verify: report\n")
    rig.wait_applied(rig.push("number 1", NUMBER))
    rig.wait("the report", lambda: rig.status()["web1"]["health"] == "Drifted")
    assert missed(rig) == 1
    assert not (rig.root("web1") / "later").exists()


def test_a_push_that_policy_wanted_no_check_of_is_not_checked_when_policy_changes(make_rig):
    rig = make_rig(minions={"web1": {}})
    with_later(rig, "verify: none\n")
    rig.wait_applied(rig.push("number 1", NUMBER))
    unchecked = rig.history("web1")[0]["run_id"]
    rig.wait_applied(rig.push("checks", {"states/saltern.yaml": ("verify: none", "verify: apply")}))
    rig.wait_applied(rig.push("number 2", {"pillar/numbers.sls": ("number: 1\n", "number: 2\n")}))
    rig.wait("the check", lambda: rig.history("web1")[0]["kind"] == "drift")
    causes = [run["cause"] for run in rig.history("web1")]
    assert f"check after {unchecked}" not in causes
