"""What is pushed may be wrong: the minions that it breaks stay as they are, the others go on."""

import pytest

BROKEN = {
    "template": ({"states/db.sls": ("{{ pillar['port'] }}", "{{ pillar['prot'] }}")}, "db.sls", "prot"),
    "yaml": ({"states/db.sls": ("    - makedirs: True", "   - makedirs: True")}, "db.sls", ""),
    "requisite": ({"states/db.sls": ("- makedirs: True", "- require: [{file: nowhere}]")}, "db.sls", "nowhere"),
    "include": ({"states/db.sls": ("db-config:", "include: [nosuch]\n\ndb-config:")}, "db.sls", "nosuch"),
}


@pytest.mark.timeout(180)
def test_what_does_not_compile_changes_nothing(make_rig):
    rig = make_rig()
    rig.wait_applied(rig.push("first"))
    for what, (changes, file, word) in BROKEN.items():
        commit = rig.push(f"broken {what}", {**changes, "pillar/numbers.sls": ("number: 0\n", "number: 1\n")})
        rig.wait_applied(commit, ["web1", "web2"])
        db1 = rig.wait("the error to show", lambda: rig.status()["db1"] if rig.status()["db1"]["errors"] else None)
        assert (db1["sync"], db1["health"]) == ("OutOfSync", "Degraded"), what
        assert db1["message"].startswith("compile error"), what
        error = "\n".join(db1["errors"])
        assert file in error, what
        assert word in error, what
        assert "^" in error, what
        [newest, *others] = rig.ask("/revisions", limit=5)["revisions"]
        assert newest["live"], what
        assert newest["compile_error"].startswith("db1: "), what
        assert newest["compile_error"].removeprefix("db1: ") == error.splitlines()[0], what
        assert others[-1]["compile_error"] == "" if what == "template" else True
        assert "live, does not compile" in rig.saltern("rollback", "--revisions").stdout, what
        assert "number 1" in (rig.root("web1") / "app.conf").read_text()
        assert "number 0" in (rig.root("db1") / "app.conf").read_text(), "db1 keeps its last good state"
        rig.git("revert", "--no-edit", "HEAD")
        rig.push_head()
        rig.wait_applied(rig.head())


def test_a_policy_that_cannot_be_read_refuses_the_revision(make_rig):
    rig = make_rig()
    first = rig.push("first")
    rig.wait_applied(first)
    rig.push("typing error", {"states/saltern.yaml": ("drift:", "drfit:")})
    page = rig.wait("the error to show", lambda: [r for r in rig.remotes() if "drfit" in r["error"]])
    assert "did you mean `drift`" in page[0]["error"]
    assert {each["applied_revision"] for each in rig.status().values()} == {first}
    fixed = rig.push("fixed", {"states/saltern.yaml": ("drfit:", "drift:")})
    rig.wait_applied(fixed)
    assert not [r for r in rig.remotes() if r["error"]]
