"""`saltern adopt`: what a machine has goes to a branch, and after the merge the drift is gone with nothing changed."""

import base64
import json

from git_servers import PASSWORD, USER, Backend, serving

FILES = """
motd:
  file.managed:
    - name: {{ grains['root'] }}/motd
    - source: salt://motd
    - mode: '0644'

limits:
  file.managed:
    - name: {{ grains['root'] }}/limits.conf
    - contents: |
        # kept
        soft 10
        hard 20
"""


POLICY = "verify: none\ndrift: {interval: 1s, splay: 0}\n"
"""Drift is found by checks alone: that of a push would have it applied, as something that the plan has missed."""


def with_files(rig):
    """The tree of the scenarios, with files of each kind."""
    (rig.work / "states" / "files.sls").write_text(FILES)
    (rig.work / "states" / "motd").write_text("welcome\n")
    (rig.work / "states" / "saltern.yaml").write_text(POLICY)
    top = rig.work / "states" / "top.sls"
    top.write_text(top.read_text().replace("'*':\n    - app\n", "'*':\n    - app\n    - files\n"))
    rig.wait_applied(rig.push("files"))


def written_to(rig, url, states=None):
    """The controller is started again, with a way to write to its remotes."""
    of_states = [{"name": "states"}, {"root": "states"}, {"base": "main"}, *(states or [{"push_url": url}])]
    of_pillar = [{"root": "pillar"}, {"env": "base"}, {"push_url": str(rig.remote)}]
    remotes = {"gitfs_remotes": [{url: of_states}], "ext_pillar": [{"git": [{f"main {rig.remote}": of_pillar}]}]}
    rig.configure(gitfs_update_interval=1, **remotes)  # a server tells of no push
    rig.stop("controller")
    rig.start_controller()
    rig.wait("the minions", lambda: all(one["connected"] for one in rig.status().values()))


def adopt(rig, *words, check=True):
    done = rig.saltern("adopt", *words, "--out", "json", check=check)
    return done.returncode, json.loads(done.stdout)


def branches(rig):
    return rig.git("for-each-ref", "--format=%(refname:short)", "refs/heads/", cwd=rig.remote).split()


def merge(rig, commit):
    """Merge the branch that was pushed to the remote, as a forge does."""
    rig.git("fetch", "-q", "origin", commit["branch"])
    rig.git("merge", "-q", "--no-ff", "-m", "adopted", "FETCH_HEAD")
    rig.push_head()
    return rig.head()


def changed_runs(rig, minion):
    return [run["run_id"] for run in rig.history(minion) if run["kind"] != "drift" and run["outcome"] == "changed"]


def test_files_edited_by_hand_become_a_branch_and_stay(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {}})
    with_files(rig)
    written_to(rig, str(rig.remote))
    root = rig.root("web1")
    (root / "motd").write_text("by hand\n")
    (root / "motd").chmod(0o600)
    (root / "limits.conf").write_text("# kept\nsoft 11\nhard 20\nmore\n")
    before = changed_runs(rig, "web1")
    code, view = adopt(rig, "web1", "motd", "--yes", "--shared", "--author", "A. Dmin <a@example.org>")
    assert code == 0, view
    (commit,) = view["commits"]
    assert commit["pushed"]
    assert commit["branch"].startswith("adopt/web1/motd-")
    (state,) = view["adopted"]
    assert state["places"][0] == "states/motd"
    assert state["places"][1].startswith("states/files.sls:6")
    assert len(view["effects"]) == 1, view["effects"]
    (effect,) = view["effects"]
    assert effect["minions"] == ["web2"], "the file of the other minion changes, too"
    assert rig.git("log", "-1", "--format=%an <%ae>", commit["commit"], cwd=rig.remote) == "A. Dmin <a@example.org>"
    changed = rig.git("diff", "--name-only", commit["base"], commit["commit"], cwd=rig.remote).split()
    assert changed == ["states/files.sls", "states/motd"]

    rig.wait_applied(merge(rig, commit))
    assert (root / "motd").read_text() == "by hand\n"
    assert (rig.root("web2") / "motd").read_text() == "by hand\n"
    done = changed_runs(rig, "web1")
    assert done == before, "nothing of it was changed on the machine"

    code, view = adopt(rig, "web1", str(root / "limits.conf"), "--yes", "--shared")
    assert view["adopted"][0]["places"] == ["states/files.sls:11"]
    rig.wait_applied(merge(rig, view["commits"][0]))
    assert (root / "limits.conf").read_text() == "# kept\nsoft 11\nhard 20\nmore\n"
    assert "        soft 11\n        hard 20\n        more\n" in (rig.work / "states" / "files.sls").read_text()
    code, view = adopt(rig, "web1", "limits", check=False)
    assert (code, view["adopted"], len(view["unchanged"])) == (2, [], 1)


def test_a_value_of_pillar_goes_to_its_key(make_rig):
    rig = make_rig(minions={"db1": {}})
    (rig.work / "states" / "saltern.yaml").write_text(POLICY)
    rig.wait_applied(rig.push("first"))
    (rig.root("db1") / "db.conf").write_text("port 6000\n")
    written_to(rig, str(rig.remote))
    _, view = adopt(rig, "db1", "db-config", "--yes")
    assert view["adopted"][0]["places"] == ["pillar/numbers.sls:2 (port)"]
    rig.wait_applied(merge(rig, view["commits"][0]))
    assert (rig.work / "pillar" / "numbers.sls").read_text() == "number: 0\nport: 6000\n"
    assert (rig.root("db1") / "db.conf").read_text() == "port 6000\n"
    rig.wait("no drift", lambda: rig.status()["db1"]["health"] == "Healthy")


WRITER = "Basic " + base64.b64encode(b"writer:may-write").decode()


class TwoUsers(Backend):
    """One user may read and another may write, and neither may do what the other does."""

    writes = 0

    def is_let_in(self):
        """By what is asked for."""
        if "git-receive-pack" in self.path:
            is_writer = self.headers.get("Authorization") == WRITER
            type(self).writes += is_writer
            return is_writer
        return super().is_let_in()


def test_a_drift_is_pushed_with_credentials_of_its_own_and_gone_after_the_merge(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {}})
    with_files(rig)
    with serving(rig.directory, handler=TwoUsers) as port:
        url = f"http://127.0.0.1:{port}/remote.git"
        reading = [{"user": USER}, {"password": PASSWORD}, {"insecure_auth": True}]
        written_to(rig, url, reading)
        limits = rig.root("web1") / "limits.conf"
        limits.write_text("# kept\nsoft 11\nhard 20\n")
        rig.wait("the drift", lambda: rig.status()["web1"]["health"] == "Drifted")

        code, view = adopt(rig, "web1", "--yes", "--shared", check=False)
        assert (code, TwoUsers.writes) == (1, 0)
        assert "no way to write to states" in view["commits"][0]["error"]

        written_to(rig, url, [*reading, {"push_user": "writer"}, {"push_password": "may-write"}])
        code, view = adopt(rig, "web1", "--yes", check=False)
        assert code == 1
        assert "it changes other minions, too: web2" in view["commits"][0]["error"]
        shown = rig.saltern("adopt", "web1", "--dry-run", "--shared")
        assert "-        soft 10\n+        soft 11\n" in shown.stdout
        assert branches(rig) == ["main"]

        words = ("--branch", "fix/limits", "--message", "Keep the limit of web1")
        code, view = adopt(rig, "web1", "--yes", "--shared", *words)
        assert code == 0, view
        assert TwoUsers.writes > 0
        assert branches(rig) == ["fix/limits", "main"]
        (commit,) = view["commits"]
        message = rig.git("log", "-1", "--format=%B", "fix/limits", cwd=rig.remote)
        assert message.startswith("Keep the limit of web1\n\nAdopted-by: ")
        before = changed_runs(rig, "web1")
        rig.wait_applied(merge(rig, commit))
        rig.wait("no drift", lambda: {one["health"] for one in rig.status().values()} == {"Healthy"})
        assert {one["sync"] for one in rig.status().values()} == {"Synced"}
        assert limits.read_text() == "# kept\nsoft 11\nhard 20\n"
        assert (rig.root("web2") / "limits.conf").read_text() == limits.read_text()
        assert changed_runs(rig, "web1") == before, "nothing of it was changed on the machine"
