"""The path as people use it: pushes, drift, policy, previews, the hook, metrics."""

import json
import re
import urllib.error
import urllib.request

import pytest


def number(rig, minion):
    return (rig.root(minion) / "app.conf").read_text()


def bump(old, new):
    return {"pillar/numbers.sls": (f"number: {old}\n", f"number: {new}\n")}


def applies(rig, minion):
    return [run for run in rig.history(minion) if run["kind"] == "apply"]


def metrics(rig):
    with urllib.request.urlopen(rig.http + "/metrics") as answer:
        return answer.read().decode()


def value(text, series):
    found = re.search(rf"^{re.escape(series)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else None


def test_a_push_runs_what_it_changes_and_nothing_else(make_rig):
    rig = make_rig()
    rig.wait_applied(rig.push("first"))
    assert [run["outcome"] for run in applies(rig, "db1")] == ["changed"]
    port = rig.push("another port", {"pillar/numbers.sls": ("port: 5432", "port: 5433")})
    rig.wait_applied(port)
    assert (rig.root("db1") / "db.conf").read_text() == "port 5433\n"
    assert len(applies(rig, "web1")) == 1, "a pillar value that no chunk of it uses runs nothing"
    (run, _) = applies(rig, "db1")
    view = json.loads(rig.saltern("show", run["run_id"], "--out", "json").stdout)
    assert [key.split("_|-")[1] for key in view["keys"]] == ["db-config"]
    # The minion holds the new pillar all the same.
    answer = rig.saltern("run", "web1", "pillar.get", "port", "--out", "json")
    assert json.loads(answer.stdout) == {"web1": 5433}


def test_a_revert_brings_the_old_state_back(make_rig):
    rig = make_rig()
    rig.wait_applied(rig.push("first"))
    rig.wait_applied(rig.push("second", bump(0, 1)))
    rig.git("revert", "--no-edit", "HEAD")
    rig.push_head()
    rig.wait_applied(rig.head())
    assert {number(rig, minion) for minion in rig.minions} == {"number 0\n"}


def test_a_failed_apply_shows_and_a_later_push_heals_it(make_rig):
    rig = make_rig(minions={"web1": {}})
    rig.wait_applied(rig.push("first"))
    told = {"states/app.sls": ("- name: echo", "- name: false && echo")}
    rig.push("a command that fails", {**told, **bump(0, 1)})
    failed = rig.wait("it to fail", lambda: [s for s in rig.status().values() if s["health"] == "Failed"])
    assert failed[0]["sync"] == "OutOfSync"
    assert "app-told" in failed[0]["message"]
    fixed = rig.push("fixed", {"states/app.sls": ("- name: false && echo", "- name: echo")})
    rig.wait_applied(fixed)
    newest = applies(rig, "web1")[0]
    assert newest["outcome"] in ("ok", "changed")
    view = json.loads(rig.saltern("show", newest["run_id"], "--out", "json").stdout)
    assert view["keys"] is None, "after a failure everything is looked at"


def test_drift_is_reported_then_remediated_when_policy_says_so(make_rig):
    rig = make_rig(minions={"web1": {}})
    often = {"states/saltern.yaml": ("interval: 30m", "interval: 1s, splay: 0")}
    rig.wait_applied(rig.push("first", often))
    (rig.root("web1") / "app.conf").write_text("by hand\n")
    rig.wait("the drift to show", lambda: rig.status()["web1"]["health"] == "Drifted")
    status = rig.status()["web1"]
    assert status["sync"] == "Synced"
    assert status["drifted"] >= 1
    assert "by hand" in rig.saltern("diff", "web1", check=False).stdout
    assert number(rig, "web1") == "by hand\n", "reported, not touched"
    assert value(metrics(rig), 'saltern_minion_drifted_states{minion="web1"}') >= 1
    heal = rig.push("heal", {"states/saltern.yaml": ("drift: {", "drift: {mode: remediate, ")})
    rig.wait("it to be healed", lambda: number(rig, "web1") == "number 0\n")
    rig.wait_applied(heal)
    assert [run["kind"] for run in rig.history("web1") if run["kind"] == "remediate"] == ["remediate"]


def test_under_manual_drift_is_looked_for_in_what_was_applied(make_rig):
    rig = make_rig(minions={"web1": {}})
    often = {"states/saltern.yaml": ("interval: 30m", "interval: 1s, splay: 0")}
    rig.wait_applied(rig.push("first", often))
    rig.push("manual", {"states/saltern.yaml": ("drift:", "apply: manual\ndrift:"), **bump(0, 1)})
    rig.wait("it to wait", lambda: rig.status()["web1"]["sync"] == "OutOfSync")
    assert rig.saltern("sync", "web1", "--test", check=False).returncode == 2
    (rig.root("web1") / "app.conf").write_text("by hand\n")
    rig.wait("the drift to show", lambda: rig.status()["web1"]["health"] == "Drifted")
    [diff] = json.loads(rig.saltern("diff", "web1", "--out", "json", check=False).stdout)
    [difference] = [one["changes"]["diff"] for one in diff["drift"]]
    assert "+number 0" in difference, "the text that was applied, not that which is to come"


def test_manual_policy_waits_for_sync_and_a_pause_holds(make_rig):
    rig = make_rig()
    rig.wait_applied(rig.push("first"))
    manual = rig.push("manual", {"states/saltern.yaml": ("drift:", "apply: manual\ndrift:"), **bump(0, 1)})
    rig.wait("it to wait", lambda: all(s["sync"] == "OutOfSync" for s in rig.status().values()))
    assert {number(rig, minion) for minion in rig.minions} == {"number 0\n"}
    assert "content changes" in rig.saltern("diff", "web1", check=False).stdout
    tested = rig.saltern("sync", "web1", "--test", check=False)
    assert tested.returncode == 2, tested.stdout + tested.stderr
    assert number(rig, "web1") == "number 0\n"
    rig.saltern("sync", "web1")
    rig.wait_applied(manual, ["web1"])
    assert number(rig, "web1") == "number 1\n"
    assert number(rig, "web2") == "number 0\n"
    rig.saltern("pause", "web2")
    auto = rig.push("auto again", {"states/saltern.yaml": ("apply: manual\n", "")})
    rig.wait_applied(auto, ["web1", "db1"])
    assert rig.status()["web2"]["sync"] == "Paused"
    assert number(rig, "web2") == "number 0\n"
    rig.saltern("resume", "web2")
    rig.wait_applied(auto)


def test_a_preview_changes_nothing(make_rig):
    rig = make_rig()
    first = rig.push("first")
    rig.wait_applied(first)
    rig.git("checkout", "-q", "-b", "feature")
    rig.push("feature", bump(0, 7), branch="feature")
    asked = ("preview", "--base", "main", "--head", "feature", "--out", "json", "--exit-code")
    done = rig.wait("the branch", lambda: (d := rig.saltern(*asked, check=False)).returncode == 2 and d)
    page = json.loads(done.stdout)
    text = json.dumps(page)
    assert "number 7" in text, "the connected minions show the file's difference"
    assert '"changed": 3' in text
    assert {number(rig, minion) for minion in rig.minions} == {"number 0\n"}
    assert {each["applied_revision"] for each in rig.status().values()} == {first}
    unknown = rig.saltern("preview", "--base", "main", "--head", "featrue", check=False)
    assert unknown.returncode == 1
    assert "feature" in unknown.stderr, "near names are shown"


def test_a_preview_shows_what_drifted_apart(make_rig):
    rig = make_rig(minions={"web1": {}})
    rig.wait_applied(rig.push("first"))
    (rig.root("web1") / "app.conf").write_text("by hand\n")
    rig.git("checkout", "-q", "-b", "feature")
    rig.push("feature", bump(0, 7), branch="feature")
    asked = ("preview", "--base", "main", "--head", "feature", "--out", "json", "--exit-code")
    done = rig.wait("the branch", lambda: (d := rig.saltern(*asked, check=False)).returncode == 2 and d)
    [test] = json.loads(done.stdout)["classes"][0]["tests"]
    [drift] = [entry for key, entry in test["drift"].items() if "app-config" in key]
    assert "-by hand\n+number 0" in drift["changes"]["diff"], "the base would put it right"
    [change] = [entry for key, entry in test["states"].items() if "app-config" in key]
    assert "-by hand\n+number 7" in change["changes"]["diff"]
    assert (rig.root("web1") / "app.conf").read_text() == "by hand\n"


def test_the_hook_is_a_hint_to_fetch(make_rig):
    rig = make_rig(minions={"web1": {}}, gitfs_update_interval=3600, hook_secret="correct horse")
    rig.wait_applied(rig.push("first"))
    for headers in ({}, {"X-Gitlab-Token": "wrong"}):
        request = urllib.request.Request(rig.http + "/hook", data=b"{}", headers=headers, method="POST")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        assert refused.value.code in (401, 403)
        refused.value.close()
    good = {"X-Gitlab-Token": "correct horse", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(rig.http + "/hook", b"{}", good, method="POST")) as answer:
        assert answer.status in (200, 202)


def test_metrics_name_what_matters(make_rig):
    rig = make_rig()
    rig.wait_applied(rig.push("first"))
    text = metrics(rig)
    assert value(text, 'saltern_minions{health="Healthy",sync="Synced"}') == 3
    assert value(text, 'saltern_minion_sync{minion="web1",sync="Synced"}') == 1
    assert value(text, 'saltern_minion_health{health="Healthy",minion="db1"}') == 1
    assert value(text, 'saltern_runs_total{kind="apply",outcome="changed"}') == 3
    assert value(text, "saltern_compile_seconds_count") >= 3
    assert value(text, "saltern_reconciles_total") >= 3
    assert value(text, 'saltern_applied_revision_age_seconds{minion="web1"}') >= 0
    assert value(text, 'saltern_bus_messages_total{direction="out",type="DesiredUpdate"}') == 3
    assert value(text, 'saltern_git_fetch_errors_total{remote="states"}') >= 1, "it was empty at first"


def test_a_rejected_key_is_cut_off_and_a_new_one_starts_afresh(make_rig):
    rig = make_rig(minions={"web1": {}})
    rig.wait_applied(rig.push("first"))
    rig.saltern("key", "reject", "web1", "--yes")
    rig.wait("it to be cut off", lambda: not rig.status()["web1"]["connected"])
    rig.push("second", bump(0, 1))
    asked = rig.saltern("run", "web1", "test.ping", check=False)
    assert asked.returncode == 5, "a minion whose key is not accepted matches nothing"
    rig.saltern("key", "accept", "web1", "--yes")
    rig.wait_applied(rig.head())
    assert number(rig, "web1") == "number 1\n"


def test_a_minion_that_was_away_catches_up(make_rig):
    rig = make_rig()
    rig.wait_applied(rig.push("first"))
    rig.stop("web1")
    rig.wait("it to be gone", lambda: rig.status()["web1"]["health"] == "Unreachable")
    second = rig.push("second", bump(0, 1))
    rig.wait_applied(second, ["web2", "db1"])
    assert rig.status()["web1"]["sync"] == "OutOfSync"
    assert rig.saltern("run", "web1", "test.ping", check=False).returncode != 0
    rig.start_minion("web1")
    rig.wait_applied(second)
