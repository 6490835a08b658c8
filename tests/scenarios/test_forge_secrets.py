"""Secrets of every place, searched for in all that is said of a pull request: on forges, in logs, by the API."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sqlite3
import subprocess
import urllib.request

import gnupg
import pytest
from forges.all_forges import FAKES
from forges.server import Reply
from git_servers import PASSWORD, USER, serving

PROJECT = "Org/states"
HOOK, TOKEN, URL, OLD, NEW = "hook-canary-1", "token-canary-2", PASSWORD, "pillar-canary-4", "pillar-canary-5"
STATES = """
db:
  file.managed:
    - name: {{ grains.root }}/db.conf
    - makedirs: True
    - contents: |
        number = NUMBER
        password = {{ pillar.password }}
said:
  cmd.run:
    - name: "echo {{ pillar.password }} NUMBER"
    - onchanges: [file: db]
"""
BROKEN = "{{ raise('the password is ' ~ pillar.password) }}\n"


class Secretive:
    """A rig with a secret in every place, and two forges: one by a token in a file, one by the key of an App."""

    def __init__(self, make_rig, forges):
        self.token, self.app = forges
        self.token.token, self.token.secret, self.app.secret = TOKEN, HOOK.encode(), HOOK.encode()
        self.rig = make_rig(minions={"web1": {}}, hook_secret=HOOK)
        self.keys = self.rig.config / "gpgkeys"
        self.keys.mkdir(mode=0o700)
        self.gpg = gnupg.GPG(gnupghome=str(self.keys))
        asked = {"key_type": "RSA", "key_length": 2048, "name_email": "c@example.org", "no_protection": True}
        self.key = self.gpg.gen_key(self.gpg.gen_key_input(**asked)).fingerprint

    def write(self, password, states):
        work = self.rig.work
        message = str(self.gpg.encrypt(password, self.key, always_trust=True))
        (work / "pillar" / "top.sls").write_text("base:\n  '*': [secret]\n")
        (work / "pillar" / "secret.sls").write_text("#!yaml|gpg\n" + json.dumps({"password": message}))
        (work / "states" / "db.sls").write_text(states)
        (work / "states" / "top.sls").write_text("base:\n  '*': [db]\n")

    def restart(self):
        """With the forges, and a remote whose address has a password and that nobody answers any more."""
        rig = self.rig
        bare = rig.directory / "served" / "x.git"
        rig.git("clone", "-q", "--bare", str(rig.remote), str(bare))
        with serving(bare.parent) as port:
            self.configure(f"http://{USER}:{PASSWORD}@127.0.0.1:{port}/x.git")
            rig.stop("controller")
            rig.start_controller()
            rig.wait("both remotes", lambda: [bool(each["commit"]) for each in rig.remotes()] == [True, True])
        self.token.hook = self.app.hook = rig.http + "/hook"

    def configure(self, url):
        rig = self.rig
        (rig.directory / "token").write_text(TOKEN)
        (rig.directory / "app.pem").write_text(self.app.private_key)
        near = {"kind": self.token.kind, "api": self.token.api, "token": {"file": str(rig.directory / "token")}}
        far = {"kind": self.app.kind, "api": self.app.api, **self.app.access}
        far["private_key"] = {"file": f"{rig.directory}/app.pem"}
        own = {str(rig.remote): [{"name": "states"}, {"root": "states"}, {"base": "main"}]}
        away = {url: [{"name": "away"}, {"base": "main"}, {"insecure_auth": True}]}
        rig.configure(
            public_url=rig.http,
            gitfs_remotes=[own, away],
            forges=[
                {"name": "near", **near, "projects": {"states": PROJECT}, "poll_interval": 1},
                {"name": "far", **far, "projects": {"away": PROJECT}, "poll_interval": 1},
            ],
        )

    def open(self, number, password, states):
        git, branch = self.rig.git, f"topic{number}"
        git("checkout", "-q", "-B", branch, "main")
        self.write(password, states)
        git("commit", "-qam", branch)
        git("push", "-q", "origin", branch)
        return self.token.model.open(PROJECT, head=git("rev-parse", "HEAD"), branch=branch)

    def comment(self, pull, *texts, count=1):
        def found():
            ours = [each.body for each in pull.visible() if each.author == self.token.model.robot]
            return len(ours) == count and all(text in "".join(ours) for text in texts) and ours

        return self.rig.wait(f"a comment with {texts}", found)

    def shown(self):
        """Place -> all that somebody can see there."""
        rig, found = self.rig, {}
        for name, forge in (("near", self.token), ("far", self.app)):
            project = forge.model.projects[PROJECT]
            found[f"comments of {name}"] = str([each.body for pull in project.pulls.values() for each in pull.comments])
            found[f"checks of {name}"] = str(project.checks)
        for route in ("/status", "/remotes", "/pulls", "/history", "/keys"):
            found[route] = json.dumps(rig.ask(route))
        found["/metrics"] = urllib.request.urlopen(rig.http + "/metrics", timeout=30).read().decode()
        for link in re.findall(re.escape(rig.http) + r"/[^\s)]+", found["comments of near"]):
            found[link] = urllib.request.urlopen(link, timeout=30).read().decode()
        for words in (
            ("forge", "check"),
            ("forge", "list"),
            ("pulls",),
            ("diff", "web1"),
            ("remote", "check"),
        ):
            done = rig.saltern(*words, check=False)
            found[" ".join(words)] = done.stdout + done.stderr
        for name in ("controller", "web1"):
            found[f"log of {name}"] = rig.log(name, lines=100_000)
        return found | self.kept()

    def kept(self):
        """What the controller keeps of events, results, pull requests and reports, as it keeps it.

        Documents and the keys of the states of a run are what minions need, with their secrets; they are not shown.
        """
        (path,) = (self.rig.directory / "c").rglob("*.sqlite")
        tables = ("events", "run_events", "results", "revisions", "pull_requests", "reports")
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
            return {name: str(store.execute(f"SELECT * FROM {name}").fetchall()) for name in tables}


@pytest.fixture
def secretive(make_rig):
    if shutil.which("gpg") is None:
        pytest.skip("GnuPG is not installed")
    with FAKES["gitlab"]() as near, FAKES["github-app"]() as far:
        for each in (near, far):
            each.model.project(PROJECT, max="write", alice="write")
        made = Secretive(make_rig, (near, far))
        yield made
        subprocess.run(["gpgconf", "--homedir", str(made.keys), "--kill", "gpg-agent"], check=False)


@pytest.mark.timeout(300)
def test_secrets_of_every_place_are_shown_nowhere(secretive):
    scene = secretive
    scene.write(OLD, STATES)
    scene.rig.wait_applied(scene.rig.push("a password"))
    scene.restart()
    rotated = scene.open(1, NEW, STATES.replace("NUMBER", "1"))
    scene.comment(rotated, "<secret ", "password")
    scene.token.model.comment(rotated, "max", "/saltern explain web1 db")
    scene.comment(rotated, "<secret ", count=2)
    broken = scene.open(2, NEW, STATES + BROKEN)
    scene.comment(broken, "Does not compile")
    refusal = Reply(status=403, value={"message": "not your day"})
    scene.token.fault("status", matching="^GET", times=3, reply=refusal)
    scene.token.model.edit_title(broken, "Looked at while the forge refuses")
    scene.rig.wait("a refusal", lambda: "not your day" in scene.rig.log("controller", lines=100_000))
    shown = scene.shown()
    assert [place for place in shown if place.startswith("http")], "the whole report has an address"
    canaries = (HOOK, TOKEN, URL, OLD, NEW, "PRIVATE KEY", scene.app.private_key.splitlines()[3], *scene.app.tokens)
    leaks = {place: [one for one in canaries if one in text] for place, text in shown.items()}
    assert {place: found for place, found in leaks.items() if found} == {}
