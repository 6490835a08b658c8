"""The life of pull requests: a real controller and agents, real git, and a stateful forge on this machine."""

import time
import urllib.request

import pytest
from effort import steps
from pull_scene import NUMBER, PROJECT, Scene


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
def test_what_happens_in_the_middle_of_a_look_is_seen(make_scene):
    """Between the two requests of a look, without a webhook, and with nothing that we write after it."""
    scene = make_scene(hook=False)
    pull = scene.open(1)
    scene.wait_report(pull)
    scene.wait_check(pull, "success")
    scene.wait_quiet()
    said, answer = [], scene.forge.answer

    def answer_and_comment(request):
        reply = answer(request)
        if request.method == "GET" and request.path.endswith("/comments") and not said:
            said.append(scene.forge.model.comment(pull, "max", "/saltern help"))
        return reply

    scene.forge.answer = answer_and_comment
    scene.forge.model.touch(pull)
    scene.rig.wait("an answer", lambda: said and said[0].given)


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
@pytest.mark.parametrize("method", steps(["squash", "fast-forward"], 1))
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
    for number, seconds in enumerate(steps(KILLED, 2), 2):
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


@pytest.mark.timeout(300)
def test_retargeted_and_the_base_renamed(make_scene):
    """Into a branch that is no environment's base it is left alone; back again, it is previewed again."""
    scene = make_scene()
    scene.forge.model.projects[PROJECT].branches["release"] = scene.rig.git("rev-parse", "main")
    pull = scene.open(1)
    scene.wait_report(pull)
    scene.wait_check(pull, "success")
    scene.forge.model.retarget(pull, "release")
    scene.wait_quiet()
    made = scene.metric("saltern_pull_request_previews_total")
    scene.push(pull, 2)
    scene.wait_quiet()
    assert scene.metric("saltern_pull_request_previews_total") == made
    assert scene.rig.ask("/pulls")[0]["waiting_for"] == "nothing: release is not previewed"
    scene.forge.model.retarget(pull, "main")
    scene.wait_report(pull)
    scene.wait_check(pull, "success")
    scene.forge.model.rename_branch(PROJECT, "main", "trunk")
    scene.wait_quiet()
    scene.push(pull, 3)
    scene.wait_quiet()
    assert f"→ `{pull.head[:8]}`" not in scene.ours(pull)[0].body, "no remote has trunk as its base"
    scene.forge.model.rename_branch(PROJECT, "trunk", "main")
    scene.wait_report(pull)
    assert len(scene.ours(pull)) == 1


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mode", steps(["hide-and-new", "new"], 1))
def test_a_new_comment_for_each_head(make_scene, mode):
    scene = make_scene(entry={"previews": {"comment": mode}})
    pull = scene.open(1)
    first = scene.wait_report(pull)
    before = first.body
    scene.push(pull, 2)

    def second():
        ours = scene.ours(pull)
        return len(ours) == 2 and f"→ `{pull.head[:8]}`" in ours[1].body

    scene.rig.wait("another comment", second)
    assert first.body == before
    scene.rig.wait("the first to be as the mode says", lambda: first.hidden == (mode == "hide-and-new"))
    scene.wait_quiet()
    assert len(scene.ours(pull)) == 2


@pytest.mark.timeout(300)
def test_restricted_previews_of_strangers(make_scene):
    """At once, without Python of the tree, and no minion is asked for a test run."""
    scene = make_scene(preview_py_renderer=True)
    (scene.rig.work / "states" / "saltern.yaml").write_text("previews: {strangers: restricted}\n")
    scene.rig.wait_applied(scene.rig.push("policy"))
    pull = scene.open(1, fork="eve/states", author="eve")
    scene.wait_report(pull)
    scene.wait_comment(pull, "Restricted preview")
    scene.wait_check(pull, "success")
    git = scene.rig.git
    git("checkout", "-q", "topic")
    (scene.rig.work / "states" / "app.sls").write_text("#!py\ndef run():\n    return {'a': {'test.nop': []}}\n")
    git("commit", "-qam", "Python")
    git("push", "-q", "origin", "topic")
    scene.forge.model.push(pull, git("rev-parse", "HEAD"))
    scene.wait_report(pull)
    scene.wait_check(pull, "neutral")
    assert "Restricted preview" in scene.ours(pull)[0].body
    assert [each for each in scene.rig.history() if each["kind"] == "preview"] == []
    scene.forge.model.comment(pull, "max", f"/saltern preview --commit {pull.head[:12]}")
    scene.wait_check(pull, "success")
    scene.rig.wait("the whole preview", lambda: "Restricted preview" not in scene.ours(pull)[0].body)


@pytest.mark.timeout(300)
def test_merged_by_rebase(make_scene):
    """The base has moved meanwhile, so that none of the commits is one that was seen before."""
    scene = make_scene(limits={"pull_request": {"again_seconds": 1}})
    pull = scene.open(1)
    scene.wait_report(pull)
    scene.rig.git("checkout", "-q", "main")
    scene.rig.wait_applied(
        scene.rig.push("other", {"states/app.sls": ("include:", "another:\n  test.nop\n\ninclude:")})
    )
    scene.wait_check(pull, "success")
    commit = scene.merge(pull, "rebase")
    assert commit != pull.head
    scene.rig.wait_applied(commit[:8])
    scene.wait_comment(pull, "After the merge of", "| 1 | 1 | 0 | 0 | 0 |")


@pytest.mark.timeout(300)
def test_a_command_whose_hook_comes_twice_is_carried_out_once(make_scene):
    scene = make_scene()
    pull = scene.open(1)
    scene.wait_report(pull)
    scene.forge.doubled = 1
    asked = scene.forge.model.comment(pull, "max", "/saltern help")
    scene.wait_report(pull, count=2)
    scene.wait_quiet()
    assert len(scene.ours(pull)) == 2
    assert len(asked.given) == 1


@pytest.mark.timeout(300)
def test_an_answer_is_forbidden_for_a_while(make_scene):
    """403 of the secondary rate limit, and 502 between posting and hearing of it: said once."""
    scene = make_scene()
    pull = scene.open(1)
    scene.wait_report(pull)
    scene.forge.rate_limited(times=2, retry_after=1)
    scene.push(pull, 2)
    scene.wait_report(pull)
    scene.forge.bad_gateway(times=3)
    asked = scene.forge.model.comment(pull, "max", "/saltern help")
    scene.wait_report(pull, count=2)
    scene.rig.wait("a reaction", lambda: asked.given)
    scene.wait_quiet()
    assert len(scene.ours(pull)) == 2
