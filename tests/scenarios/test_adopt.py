"""`saltern adopt`: what a machine has goes to a branch, and after the merge the drift is gone with nothing changed."""

import base64
import json
import os
import pty
import select
import shutil
import subprocess
import time

import pytest
from git_servers import PASSWORD, USER, Backend, serving
from rig import PATIENCE, SALTERN

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

    merged = merge(rig, commit)  # web1 still differs in the other file, which checks find again each second
    rig.wait("both to have it", lambda: {one["applied_revision"] for one in rig.status().values()} == {merged})
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


PACKAGES = """
pin-shell:
  pkg.installed:
    - name: bash
    - version: '0.1'  # why it is pinned

pin-several:
  pkg.installed:
    - pkgs:
      - tar: 0.1
      - grep
      - sed: '0.2'

pin-of-pillar:
  pkg.installed:
    - name: gzip
    - version: {{ pillar['gzip'] }}

pin-range:
  pkg.installed:
    - name: dpkg
    - version: '>=99'

pin-absent:
  pkg.installed:
    - name: saltern-has-no-such-package
    - version: '1'
"""
BY_HAND = "verify: none\ndrift: {interval: 30m}\npolicies: [{name: by hand, target: '*', apply: manual}]\n"


def installed(name):
    return subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.skipif(not shutil.which("dpkg-query"), reason="the packages are Debian's")
def test_installed_versions_go_to_where_they_are_pinned(make_rig):
    """Policy lets nobody install them: git names versions that no machine has."""
    rig = make_rig(minions={"web1": {}})
    states = rig.work / "states"
    (states / "pins.sls").write_text(PACKAGES)
    (states / "saltern.yaml").write_text(BY_HAND)
    (states / "top.sls").write_text("base:\n  '*': [pins]\n")
    numbers = rig.work / "pillar" / "numbers.sls"
    numbers.write_text(numbers.read_text() + "gzip: '0.3'  # see ticket 7\n")
    rig.push("pins")
    written_to(rig, str(rig.remote))
    rig.wait("the compile", lambda: rig.status()["web1"]["message"] == "waits for `saltern sync`")

    code, view = adopt(rig, "web1", "pin-*", "--yes", check=False)
    assert code == 1, "two of them are refused"
    refused = {each["key"].split("_|-")[1]: each["why"] for each in view["refused"]}
    assert refused == {
        "pin-range": "version '>=99' of dpkg is no single version",
        "pin-absent": "saltern-has-no-such-package is not installed",
    }
    assert [each["places"] for each in view["adopted"]] == [
        ["states/pins.sls:5"],
        ["states/pins.sls:10", "states/pins.sls:12"],
        ["pillar/numbers.sls:3 (gzip)"],
    ]
    rig.git("fetch", "-q", "origin", view["commits"][0]["branch"])
    rig.git("merge", "-q", "--ff-only", "FETCH_HEAD")
    text = (states / "pins.sls").read_text()
    assert f"    - version: '{installed('bash')}'  # why it is pinned\n" in text
    assert f"      - tar: {installed('tar')}\n      - grep\n      - sed: '{installed('sed')}'\n" in text
    assert numbers.read_text().endswith(f"gzip: '{installed('gzip')}'  # see ticket 7\n")

    (states / "pins.sls").write_text(text[: text.index("pin-range")])
    rig.push("what is refused is gone")
    rig.wait("the compile", lambda: "pin-range" not in rig.saltern("diff", "web1", check=False).stdout)
    rig.saltern("sync", "web1")
    rig.wait_applied(rig.head())
    assert changed_runs(rig, "web1") == [], "nothing of it was changed on the machine"


def test_a_patch_and_a_branch_in_a_clone_are_the_commit_that_was_tried(make_rig, tmp_path):
    rig = make_rig(minions={"web1": {}, "web2": {}})
    with_files(rig)
    limits = rig.root("web1") / "limits.conf"
    limits.write_text("# kept\nsoft 11\nhard 20\n")
    patch, clone = tmp_path / "adopted.patch", tmp_path / "clone"
    rig.git("clone", "-q", str(rig.remote), str(clone))

    done = rig.saltern("adopt", "web1", "limits", "--patch", str(patch), check=False)
    assert done.returncode == 1
    assert "it changes 1 other minion, too: web2" in done.stderr
    assert not patch.exists()
    for words in (("--yes", "--patch", "x"), ("--dry-run", "--repo", str(clone)), ("--patch", "-", "--out", "json")):
        assert rig.saltern("adopt", "web1", *words, check=False).returncode == 64

    words = ("--shared", "--repo", str(clone), "--patch", str(patch), "--branch", "fix/limits")
    code, view = adopt(rig, "web1", "limits", *words)
    (commit,) = view["commits"]
    assert (code, commit["pushed"], branches(rig)) == (0, False, ["main"])
    assert rig.git("rev-parse", "fix/limits", cwd=clone) == commit["commit"]
    assert rig.git("status", "--porcelain", cwd=clone) == "", "the work tree stays as it is"
    rig.git("am", "-q", str(patch), cwd=clone)
    assert rig.git("diff", "HEAD", "fix/limits", cwd=clone) == ""
    assert "soft 11" in rig.git("show", "HEAD:states/files.sls", cwd=clone)
    told = rig.saltern("adopt", "web1", "limits", "--shared", "--patch", "-")
    assert told.stdout.startswith("From ")
    assert "limits" in told.stderr

    again = rig.saltern("adopt", "web1", "limits", *words[:3], "--branch", "fix/limits", check=False)
    assert again.returncode == 1
    assert "no branch fix/limits in" in again.stderr
    stale = tmp_path / "stale"
    rig.git("clone", "-q", str(rig.remote), str(stale))
    rig.wait_applied(rig.push("newer", {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")}), ["web2"])
    behind = rig.saltern("adopt", "web1", "limits", "--shared", "--repo", str(stale), check=False)
    assert behind.returncode == 1
    assert "git fetch there first" in behind.stderr


class Terminal:
    """`saltern adopt` at a terminal of its own, in which somebody types."""

    def __init__(self, rig, *words):
        self._ours, theirs = pty.openpty()
        command = [*SALTERN, "adopt", *words, "-c", str(rig.config)]
        self._process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        self.said = ""

    def until(self, text):
        """Wait until it has said something."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.said:
            assert time.monotonic() < deadline, self.said
            assert self._read(), self.said

    def _read(self):
        if not select.select([self._ours], [], [], 1.0)[0]:
            return True
        try:
            self.said += os.read(self._ours, 65536).decode(errors="replace")
        except OSError:  # its end
            return False
        return True

    def types(self, line):
        """Type a line; the exit code."""
        os.write(self._ours, line.encode() + b"\n")
        deadline = time.monotonic() + PATIENCE
        while self._read() and time.monotonic() < deadline:
            pass
        os.close(self._ours)
        return self._process.wait(PATIENCE)


def test_somebody_at_a_terminal_is_shown_it_and_asked(make_rig):
    rig = make_rig(minions={"web1": {}})
    with_files(rig)
    limits = rig.root("web1") / "limits.conf"
    limits.write_text("# kept\nsoft 11\nhard 20\n")

    at = Terminal(rig, "web1", "limits")
    assert at.types("") == 0, "nothing is asked without a way to write"
    assert "it is not pushed: the controller has no way to write to states" in at.said
    assert "[y/N]" not in at.said

    written_to(rig, str(rig.remote))
    at = Terminal(rig, "web1", "limits")
    at.until("[y/N]")
    assert "+        soft 11" in at.said
    assert "Push adopt/web1/limits-" in at.said
    at.types("n")
    assert branches(rig) == ["main"]

    at = Terminal(rig, "web1", "limits")
    at.until("[y/N]")
    limits.write_text("# kept\nsoft 12\nhard 20\n")
    assert at.types("y") == 1
    assert "it was shown; nothing was pushed" in " ".join(at.said.split())
    assert branches(rig) == ["main"]

    at = Terminal(rig, "web1", "limits", "--branch", "fix/limits")
    at.until("[y/N]")
    assert at.types("y") == 0
    assert "pushed fix/limits to states" in at.said
    assert branches(rig) == ["fix/limits", "main"]
    assert "soft 12" in rig.git("show", "fix/limits:states/files.sls", cwd=rig.remote)
