"""The life of pull requests: a real controller and agents, real git, and a stateful forge on this machine."""

import re
import time
import urllib.request

import pytest
from effort import steps
from forges.github import FakeGitHub

NUMBER = "pillar/numbers.sls"
PROJECT = "org/states"


class Scene:
    """A rig, a forge, and what people do with both."""

    def __init__(self, make_rig, forge, *, hook=True, poll_interval=1, **settings):
        self.forge = forge
        forge.model.project(PROJECT, max="write", ann="read", alice="write")
        entry = {
            "name": "hub",
            "kind": "github",
            "api": forge.api,
            "app_id": "7",
            "private_key": forge.private_key,
            "projects": {"states": PROJECT},
            "poll_interval": poll_interval,
            **settings.pop("forge", {}),
        }
        self.rig = make_rig({"web1": {"roles": ["web"]}}, hook_secret="hook-secret", forges=[entry], **settings)
        self.rig.wait_applied(self.rig.push("first"))
        if hook:
            forge.hook = self.rig.http + "/hook"

    def commit(self, number, *, branch="topic", force=False):
        """A commit with this number on a branch; the whole commit."""
        git = self.rig.git
        git("checkout", "-q", "-B", branch, "main" if force else "HEAD")
        file = self.rig.work / NUMBER
        file.write_text(re.sub(r"number: \S+", f"number: {number}", file.read_text()))
        git("commit", "-q", "--allow-empty", "-am", f"number {number}")
        git("push", "-q", *(["--force"] if force else []), "origin", f"HEAD:{branch}")
        head = git("rev-parse", "HEAD")
        git("checkout", "-q", branch)
        return head

    def open(self, number, **more):
        branch = more.pop("branch", "topic")
        self.rig.git("checkout", "-q", "main")
        return self.forge.model.open(PROJECT, head=self.commit(number, branch=branch), branch=branch, **more)

    def push(self, pull, number, *, force=False):
        self.forge.model.push(pull, self.commit(number, branch=pull.head_branch, force=force), force=force)

    def merge(self, pull, method="merge"):
        git = self.rig.git
        git("checkout", "-q", "main")
        if method == "merge":
            git("merge", "-q", "--no-ff", "-m", "Merge", pull.head)
        elif method == "squash":
            git("merge", "-q", "--squash", pull.head)
            git("commit", "-q", "-m", "Squashed")
        else:
            git("merge", "-q", "--ff-only", pull.head)
        git("push", "-q", "origin", "main")
        commit = git("rev-parse", "HEAD")
        self.forge.model.merge(pull, commit, method=method)
        return commit

    def ours(self, pull):
        return [each for each in pull.visible() if each.author == self.forge.model.robot]

    def wait_comment(self, pull, *texts, count=1):
        """Wait until we have so many comments, and the first has all texts; it."""

        def found():
            ours = self.ours(pull)
            return len(ours) == count and all(text in ours[0].body for text in texts) and ours[0]

        return self.rig.wait(f"the comment with {texts}", found)

    def wait_report(self, pull, *, count=1):
        """Wait until the comment has the report of the head of now."""
        return self.wait_comment(pull, f"→ `{pull.head[:8]}`", count=count)

    def wait_check(self, pull, state, head=""):
        """Wait until the check of a head (the newest) is what it should be."""

        def found():
            check = self.forge.model.checks(PROJECT, head or pull.head).get("saltern/preview (base)")
            return check is not None and self.forge.outcome(check).value == state and check

        return self.rig.wait(f"the check to be {state}", found)

    def wait_quiet(self):
        """Wait until all that happened was looked at: two polls in which nothing is written."""
        self.forge.flush()

        def polls():
            return len(self.forge.asked(r"GET .*/pulls$"))

        seen = polls()
        self.rig.wait("two polls", lambda: polls() >= seen + 3)

    def writes(self):
        return [each for each in self.forge.requests if each.method != "GET" and "graphql" not in each.path]

    def metric(self, name):
        text = urllib.request.urlopen(self.rig.http + "/metrics", timeout=10).read().decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name))


@pytest.fixture
def forge():
    with FakeGitHub(app=True) as fake:
        yield fake


@pytest.fixture
def make_scene(make_rig, forge):
    return lambda **more: Scene(make_rig, forge, **more)


@pytest.mark.timeout(300)
def test_the_life_of_a_pull_request(make_scene):
    scene = make_scene()
    pull = scene.open(1)
    first = scene.wait_report(pull)
    scene.wait_check(pull, "success")
    [listed] = scene.rig.ask("/pulls")
    assert (listed["number"], listed["head"], listed["changed"], listed["minions"]) == (pull.number, pull.head, 1, 1)
    before = first.body
    old = pull.head
    scene.push(pull, 2)
    edited = scene.wait_report(pull)
    assert edited.id == first.id, "updated in place"
    assert edited.body != before
    scene.wait_check(pull, "success")
    scene.push(pull, 3, force=True)
    scene.wait_report(pull)
    scene.wait_check(pull, "success")
    assert scene.forge.model.checks(PROJECT, old)["saltern/preview (base)"].history[-1] != "in_progress"
    scene.wait_quiet()
    writes = len(scene.writes())
    scene.wait_quiet()
    assert len(scene.writes()) == writes, "nothing is written while nothing changes"
    scene.forge.model.close(pull)
    scene.wait_quiet()
    assert scene.rig.ask("/pulls") == []
    assert len(scene.writes()) == writes, "closed: nothing more"
    scene.forge.model.reopen(pull)
    scene.rig.wait("another preview", lambda: scene.metric("saltern_pull_request_previews_total") == 4)
    scene.wait_check(pull, "success")
    commit = scene.merge(pull)
    scene.rig.wait_applied(commit[:8])
    scene.wait_comment(pull, "After the merge of", "| 1 | 1 | 0 | 0 | 0 |")
    scene.rig.wait("the prediction to count", lambda: scene.metric('saltern_predictions_total{result="kept"}') == 1)
    assert len(scene.ours(pull)) == 1


@pytest.mark.timeout(300)
def test_hook_lost_and_twice_and_the_forge_in_trouble(make_scene):
    scene = make_scene()
    scene.forge.lost = 1
    pull = scene.open(1)
    scene.wait_report(pull)
    scene.forge.doubled = 1
    scene.forge.bad_gateway(times=2)
    scene.push(pull, 2)
    scene.wait_report(pull)
    scene.forge.rate_limited(times=1, retry_after=1)
    scene.push(pull, 3)
    scene.wait_report(pull)
    scene.wait_check(pull, "success")
    scene.forge.model.delete_comment(pull, scene.ours(pull)[0])
    scene.wait_report(pull)
    assert len(scene.ours(pull)) == 1


@pytest.mark.timeout(300)
def test_strangers_and_commands(make_scene):
    scene = make_scene()
    pull = scene.open(1, fork="eve/states", author="eve")
    scene.wait_comment(pull, "waiting for a maintainer", pull.head[:12])
    scene.wait_check(pull, "neutral")
    refused = scene.forge.model.comment(pull, "ann", "/saltern preview")
    scene.rig.wait("a reaction", lambda: refused.given)
    assert len(scene.ours(pull)) == 1, "a reader causes no comment"
    assert scene.metric("saltern_pull_request_previews_total") == 0
    accepted = scene.forge.model.comment(pull, "max", "/saltern preview")
    scene.wait_report(pull)
    scene.rig.wait("a reaction", lambda: accepted.given)
    scene.push(pull, 2)
    scene.wait_comment(pull, "waiting for a maintainer", pull.head[:12])
    scene.forge.model.comment(pull, "max", "/saltern help")
    scene.wait_comment(pull, "waiting", count=2)
    edited = scene.forge.model.comment(pull, "max", "looks good")
    scene.wait_quiet()
    scene.forge.model.edit_comment(pull, edited, "/saltern preview")
    scene.wait_quiet()
    assert "waiting" in scene.ours(pull)[0].body, "an edited comment is no command"
    asked = scene.forge.model.comment(pull, "max", f"/saltern preview --commit {pull.head[:10]}")
    scene.wait_report(pull, count=2)
    assert asked.given
    explain = scene.forge.model.comment(pull, "max", "/saltern explain web1 app-config")
    scene.wait_report(pull, count=3)
    assert explain.given
    assert "app-config" in scene.ours(pull)[2].body
    said = scene.rig.ask("/history", limit=10)
    assert said, "the controller answers"


@pytest.mark.timeout(300)
def test_errors_fail_the_check_and_stand_on_the_line(make_scene):
    scene = make_scene()
    scene.rig.git("checkout", "-q", "-b", "topic")
    scene.rig.push("broken", {"states/app.sls": ("include:", "include: [\n{{ nothing(")}, branch="topic")
    head = scene.rig.git("rev-parse", "HEAD")
    pull = scene.forge.model.open(PROJECT, head=head)
    check = scene.wait_check(pull, "failure")
    scene.wait_comment(pull, "app.sls")
    (found,) = check.annotations
    assert found["path"] == "states/app.sls", "as it is called in the repository, which has the states below a root"
    lines = (scene.rig.work / found["path"]).read_text().splitlines()
    assert lines[found["start_line"] - 1] == "app-config:", "where the parser of Jinja gave up"
    assert "Jinja syntax error" in found["message"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("method", ["squash", "fast-forward"])
def test_merge_methods(make_scene, method):
    scene = make_scene()
    pull = scene.open(1)
    scene.wait_report(pull)
    commit = scene.merge(pull, method)
    scene.rig.wait_applied(commit[:8])
    scene.wait_comment(pull, "After the merge of", "| 1 | 1 | 0 | 0 | 0 |")


KILLED = [0.0, 0.1, 0.3, 0.6, 1.0, 1.5]
"""Seconds after a push to a pull request."""


@pytest.mark.timeout(400)
def test_killed_at_each_step(make_scene):
    """kill -9 of the controller while it looks, previews and posts: nothing is lost, and nothing said twice."""
    scene = make_scene()
    pull = scene.open(1)
    for number, seconds in enumerate(steps(KILLED, 3), 2):
        scene.push(pull, number)
        time.sleep(seconds)
        scene.rig.kill("controller", children=True)
        scene.rig.start_controller()
        scene.wait_report(pull)
        scene.wait_check(pull, "success")
    asked = scene.forge.model.comment(pull, "max", "/saltern help")
    scene.rig.wait("a reaction", lambda: asked.given)
    scene.rig.kill("controller", children=True)
    scene.rig.start_controller()
    scene.wait_report(pull, count=2)
    commit = scene.merge(pull)
    scene.rig.kill("controller", children=True)
    scene.rig.start_controller()
    scene.rig.wait_applied(commit[:8])
    scene.wait_comment(pull, "After the merge of", "| 1 | 1 | 0 | 0 | 0 |", count=2)
    assert sum("Commands, for people" in each.body for each in scene.ours(pull)) == 1


@pytest.mark.timeout(300)
def test_pushes_racing_and_tokens_expired(make_scene):
    scene = make_scene()
    pull = scene.open(1)
    older = pull.head
    scene.push(pull, 2)
    scene.forge.expire_tokens()
    scene.push(pull, 3)
    scene.wait_report(pull)
    scene.wait_check(pull, "success")
    scene.wait_quiet()
    assert pull.head[:8] in scene.ours(pull)[0].body, "the newer wins"
    running = scene.forge.model.checks(PROJECT, older).get("saltern/preview (base)")
    assert running is None or scene.forge.outcome(running).value != "running"


@pytest.mark.timeout(300)
def test_a_forge_that_hangs_delays_nothing_else(make_scene):
    scene = make_scene()
    pull = scene.open(1)
    scene.wait_report(pull)
    scene.forge.fault("hang", times=100)
    scene.push(pull, 2)
    scene.rig.git("checkout", "-q", "main")
    scene.rig.wait_applied(scene.rig.push("live", {NUMBER: ("number: 0", "number: 9")}))


@pytest.mark.timeout(300)
def test_secrets_are_nowhere(make_scene):
    """A password in a tree, and the keys of the forge and of its hook, in all that is said and kept."""
    scene = make_scene()
    canary = "canary7c1f0b"
    git = scene.rig.git
    git("checkout", "-q", "-b", "topic")
    state = f"\nwith-password:\n  user.present:\n    - name: nobody\n    - password: {canary}\n"
    file = scene.rig.work / "states" / "app.sls"
    file.write_text(file.read_text() + state)
    git("commit", "-qam", "a password")
    git("push", "-q", "origin", "topic")
    pull = scene.forge.model.open(PROJECT, head=git("rev-parse", "HEAD"))
    scene.wait_report(pull)
    scene.forge.model.comment(pull, "max", "/saltern explain web1 with-password")
    scene.wait_report(pull, count=2)
    text = urllib.request.urlopen(scene.rig.http + "/metrics", timeout=10).read().decode()
    checks = scene.forge.model.checks(PROJECT, pull.head)
    said = str([each.body for each in scene.ours(pull)]) + str(checks) + text
    log = (scene.rig.directory / "controller.log").read_text()
    for secret in (canary, "hook-secret", "PRIVATE KEY", *scene.forge.tokens):
        assert secret not in said + log


@pytest.mark.timeout(300)
def test_previewed_again_when_the_base_moves(make_scene):
    """Another commit on main that touches nothing of the pull request's: the comment stays; one that does: it tells."""
    scene = make_scene(limits={"pull_request": {"again_seconds": 1}})
    pull = scene.open(1)
    before = scene.wait_report(pull).body
    scene.wait_check(pull, "success")
    made = scene.metric("saltern_pull_request_previews_total")
    git, file = scene.rig.git, scene.rig.work / "states" / "top.sls"
    git("checkout", "-q", "main")
    file.write_text(file.read_text() + "\n# a comment\n")
    scene.rig.push("a comment")
    scene.rig.wait("another preview", lambda: scene.metric("saltern_pull_request_previews_total") == made + 1)
    scene.wait_quiet()
    assert scene.ours(pull)[0].body == before, "it says the same, on the base that it names"
    moved = scene.rig.push("other", {"states/app.sls": ("include:", "another:\n  test.nop\n\ninclude:")})
    git("checkout", "-q", "topic")
    git("merge", "-q", "main")
    scene.push(pull, 2)
    scene.wait_comment(pull, f"`{moved}` → `{pull.head[:8]}`")


@pytest.mark.timeout(300)
def test_drafts_wait_where_the_policy_says_so(make_scene):
    scene = make_scene()
    (scene.rig.work / "states" / "saltern.yaml").write_text("previews: {drafts: false}\n")
    scene.rig.git("checkout", "-q", "main")
    scene.rig.wait_applied(scene.rig.push("policy"))
    pull = scene.open(1, draft=True)
    scene.wait_quiet()
    assert scene.ours(pull) == []
    asked = scene.forge.model.comment(pull, "max", "/saltern preview")
    scene.wait_report(pull)
    assert asked.given
    scene.push(pull, 2)
    scene.wait_quiet()
    assert f"→ `{pull.head[:8]}`" not in scene.ours(pull)[0].body
    scene.forge.model.ready(pull)
    scene.wait_report(pull)
