"""What git no longer names: told, removed by policy, and held back where a slip is likely."""

import json

EXTRA = """extra-folder:
  file.directory:
    - name: {{ grains['root'] }}/extra
extra-file:
  file.managed:
    - name: {{ grains['root'] }}/extra/one.conf
    - contents: one
extra-link:
  file.symlink:
    - name: {{ grains['root'] }}/link
    - target: {{ grains['root'] }}/extra/one.conf
"""


def _with_extra(rig, policy="prune: on\n"):
    (rig.work / "states/extra.sls").write_text(EXTRA)
    return rig.push(
        "extra",
        {
            "states/top.sls": ("    - app\n", "    - app\n    - extra\n"),
            "states/saltern.yaml": ("drift:", f"{policy}drift:"),
        },
    )


def _without_extra(rig):
    return rig.push("no extra", {"states/top.sls": ("    - app\n    - extra\n", "    - app\n")})


def test_what_a_push_takes_out_of_git_is_removed_in_its_run(make_rig):
    rig = make_rig(minions={"web1": {}})
    root = rig.root("web1")
    rig.wait_applied(_with_extra(rig))
    assert (root / "extra/one.conf").read_text() == "one\n"
    rig.wait_applied(_without_extra(rig))
    assert not (root / "extra").exists()
    assert not (root / "link").is_symlink()
    assert (root / "app.conf").exists()


def test_report_tells_and_changed_content_stays(make_rig):
    rig = make_rig(minions={"web1": {}})
    root = rig.root("web1")
    rig.wait_applied(_with_extra(rig, policy=""))
    rig.wait_applied(_without_extra(rig))
    assert (root / "extra/one.conf").exists()
    (diff,) = json.loads(rig.saltern("diff", "web1", "--out", "json", check=False).stdout)
    fates = {each["resource"].rpartition("/")[2]: each["fate"] for each in diff["unnamed"]["resources"]}
    assert fates == {"link": "reported", "one.conf": "reported", "extra": "reported"}
    assert "no longer named by any state" in rig.saltern("diff", "web1", check=False).stdout
    assert "no state names 3 resources that it made" in rig.saltern("status", "-v").stdout
    assert "extra-file (file.managed) of extra" in rig.saltern("why", "web1", "extra-file").stdout

    (root / "extra/one.conf").write_text("edited\n")
    rig.wait_applied(rig.push("prune", {"states/saltern.yaml": ("drift:", "prune: on\ndrift:")}))
    assert (root / "extra/one.conf").read_text() == "edited\n"
    assert not (root / "link").is_symlink()
    shown = rig.saltern("diff", "web1", check=False).stdout
    assert "somebody changed it" in shown
    assert "there is something else in it: one.conf" in shown


def test_an_empty_top_file_removes_nothing(make_rig):
    rig = make_rig(minions={"web1": {}})
    root = rig.root("web1")
    rig.wait_applied(_with_extra(rig))
    rig.wait_applied(rig.push("a slip", {"states/top.sls": ("'*'", "'none*'")}))
    assert (root / "extra/one.conf").exists()
    assert (root / "app.conf").exists()
    assert "not removed: the highstate is empty" in rig.saltern("status", "-v").stdout


def test_what_was_overwritten_and_deleted_is_brought_back(make_rig):
    rig = make_rig(minions={"web1": {}})
    root = rig.root("web1")
    mine = root / "extra/one.conf"
    mine.parent.mkdir(parents=True)
    mine.write_text("by hand\n")
    mine.chmod(0o640)
    rig.wait_applied(_with_extra(rig))
    assert mine.read_text() == "one\n"
    run = rig.history("web1")[0]["run_id"]
    listed = json.loads(rig.saltern("restore", "web1", str(mine), "--list", "--out", "json").stdout)
    assert [(one["State"], one["Run"] != "") for one in listed] == [("extra-file (file.managed)", True)]
    foretold = rig.saltern("restore", "web1", str(mine), "--test", check=False)
    assert (foretold.returncode, "+by hand" in foretold.stdout, mine.read_text()) == (2, True, "one\n")
    done = rig.saltern("restore", "web1", str(mine), "--run", listed[0]["Run"])
    assert mine.read_text() == "by hand\n"
    assert "writes it again" in done.stderr
    assert run
    mine.unlink()
    rig.saltern("restore", "web1", str(mine), "--run", listed[0]["Run"])
    assert (mine.read_text(), mine.stat().st_mode & 0o777) == ("by hand\n", 0o640)
    rig.saltern("sync", "web1", "--whole")
    rig.wait_applied(_without_extra(rig))
    assert mine.exists(), "it was there before the state, so nothing removes it"
    missing = rig.saltern("restore", "web1", str(root / "nothing"), check=False)
    assert (missing.returncode, "has no copy" in missing.stderr) == (1, True)


def test_a_preview_foretells_what_is_removed(make_rig):
    rig = make_rig(minions={"web1": {}})
    root = rig.root("web1")
    rig.wait_applied(_with_extra(rig))
    rig.git("checkout", "-q", "-b", "less")
    (rig.work / "states/top.sls").write_text("base:\n  '*':\n    - app\n")
    rig.push("no extra", branch="less")
    said = rig.saltern("preview", "--base", "main", "--head", "less", "--out", "json", check=False)
    report = json.loads(said.stdout)
    (one,) = report["classes"]
    assert {each["prune"] for each in one["resources"]} == {"on"}
    (test,) = one["tests"]
    assert sorted(key.split("_|-")[1] for key in test["states"]) == [
        "prune:extra-file",
        "prune:extra-folder",
        "prune:extra-link",
    ]
    (folder,) = [entry for key, entry in test["states"].items() if "extra-folder" in key]
    assert folder["comment"].startswith("What it would do is not known"), "a preview reads no names of a folder"
    assert not test["drift"]
    assert (root / "extra/one.conf").exists()
    shown = rig.saltern("preview", "--base", "main", "--head", "less", check=False).stdout
    assert "what it made is removed" in shown


def test_kill_9_of_the_minion_loses_no_ownership(make_rig):
    rig = make_rig(minions={"web1": {}})
    root = rig.root("web1")
    slow = "".join(
        f"slow-{number}:\n  file.managed:\n    - name: {{{{ grains['root'] }}}}/many/{number}\n"
        f"    - contents: x\n    - makedirs: True\n"
        f"wait-{number}:\n  cmd.run:\n    - name: sleep 0.2\n    - onchanges: [{{file: slow-{number}}}]\n"
        for number in range(8)
    )
    (rig.work / "states/extra.sls").write_text(slow)
    top = ("    - app\n", "    - app\n    - extra\n")
    policy = ("drift:", "prune: on\nprune_limit: 100%\ndrift:")
    commit = rig.push("many", {"states/top.sls": top, "states/saltern.yaml": policy})
    rig.wait("some files", lambda: (root / "many/3").exists())
    rig.kill("web1", children=True)
    rig.start_minion("web1")
    rig.wait_applied(commit)
    assert len(list((root / "many").iterdir())) == 8
    gone = rig.push("none", {"states/top.sls": (top[1], top[0])})
    rig.wait("the first removal", lambda: len(list(root.glob("many/*"))) < 8)
    rig.kill("web1", children=True)
    rig.start_minion("web1")
    rig.wait_applied(gone)
    assert not (root / "many").exists()


def test_a_push_that_waits_for_a_person_removes_nothing_before(make_rig):
    rig = make_rig(minions={"web1": {}})
    root = rig.root("web1")
    first = _with_extra(rig, policy="apply: manual\nprune: on\n")
    rig.wait("the compile", lambda: rig.status()["web1"]["attempted_revision"] == first)
    rig.saltern("sync", "web1")
    rig.wait_applied(first)
    assert (root / "extra/one.conf").exists()
    commit = _without_extra(rig)
    rig.wait("the compile", lambda: rig.status()["web1"]["attempted_revision"] == commit)
    shown = rig.saltern("diff", "web1", check=False).stdout
    assert "- extra-file [" in shown
    assert "what it made is removed, unless another state names it" in shown
    foretold = rig.saltern("sync", "web1", "--test", "--out", "json", check=False)
    states = json.loads(foretold.stdout)["web1"]["states"]
    assert {key.split("_|-")[1]: one["result"] for key, one in states.items()} == {
        "prune:extra-file": None,
        "prune:extra-folder": None,
        "prune:extra-link": None,
    }
    assert (root / "extra/one.conf").exists()
    rig.saltern("sync", "web1")
    rig.wait_applied(commit)
    assert not (root / "extra").exists()
    listed = json.loads(rig.saltern("restore", "web1", str(root / "extra/one.conf"), "--list", "--out", "json").stdout)
    assert [one["State"] for one in listed] == ["prune:extra-file (file.absent)"]
    rig.saltern("restore", "web1", str(root / "extra/one.conf"))
    assert (root / "extra/one.conf").read_text() == "one\n"
