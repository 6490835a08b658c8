"""Pull requests that are applied before their merge: what minions hold, and when they go back."""

import time

import pytest
from effort import steps
from pull_scene import PROJECT, Scene


@pytest.fixture
def make_scene(make_rig, forge):
    def make(policy="apply: true", minions=None, **more):
        scene = Scene(make_rig, forge, minions=minions, **more)
        (scene.rig.work / "states" / "saltern.yaml").write_text(f"previews: {{{policy}}}\n")
        scene.rig.wait_applied(scene.rig.push("policy"))
        return scene

    return make


def config(scene, minion="web1"):
    """The number that a minion has on disk."""
    return (scene.rig.root(minion) / "app.conf").read_text()


def wait_held(scene, pull, *minions):
    def held():
        status = scene.rig.status()
        return all(
            status[each]["sync"] == "Held" and (status[each]["held"] or {}).get("head") == pull.head
            for each in minions or ("web1",)
        )

    scene.rig.wait("the minions to hold it", held)


def wait_back(scene, commit, *minions):
    scene.rig.wait_applied(commit, minions or ("web1",))


@pytest.mark.timeout(300)
def test_applied_held_and_merged(make_scene):
    scene = make_scene()
    pull = scene.open(41)
    scene.wait_report(pull)
    asked = scene.forge.model.comment(pull, "max", "/saltern apply")
    wait_held(scene, pull)
    assert "41" in config(scene)
    scene.wait_comment(pull, "Applied before the merge", "| 1 | 1 | 0 | 0 | 0 |", "/saltern unapply")
    assert asked.given
    line = scene.rig.status()["web1"]["message"]
    assert line.startswith(f"applied from pull request {pull.number} at {pull.head[:8]}, held until ")
    newest = next(each for each in scene.rig.history("web1") if each["kind"] == "apply")
    assert newest["cause"].startswith(f"applied from pull request {pull.number} at {pull.head[:8]}, held until ")
    assert newest["revision"] == f"#{pull.number}@{pull.head[:8]}"
    scene.rig.git("checkout", "-q", "main")
    other = scene.rig.push("other", {"states/app.sls": ("include:", "another:\n  test.nop\n\ninclude:")})
    scene.rig.wait("the push to be compiled", lambda: scene.rig.remotes()[0]["commit"][:8] == other)
    scene.wait_quiet()
    wait_held(scene, pull)
    assert "41" in config(scene), "a push to the base does not end it"
    commit = scene.merge(pull)
    wait_back(scene, commit[:8])
    assert "41" in config(scene)
    scene.wait_comment(pull, "After the merge of", "| 1 | 1 | 0 | 0 | 0 |", "the pull request was merged")


@pytest.mark.timeout(300)
def test_drift_is_of_what_is_held(make_scene):
    """What is changed by hand meanwhile is put back to what the pull request says."""
    scene = make_scene("apply: true}\ndrift: {mode: remediate, interval: 2s, splay: 0")
    pull = scene.open(42)
    scene.wait_report(pull)
    scene.forge.model.comment(pull, "max", "/saltern apply")
    wait_held(scene, pull)
    (scene.rig.root("web1") / "app.conf").write_text("by hand\n")
    scene.rig.wait("the drift to be healed", lambda: "42" in config(scene))
    wait_held(scene, pull)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("end", ["unapply", "close", "time"])
def test_minions_go_back(make_scene, end):
    scene = make_scene("apply: true, apply_hold: 5s" if end == "time" else "apply: true")
    main = scene.rig.git("rev-parse", "--short=8", "main")
    before = config(scene)
    pull = scene.open(43)
    scene.wait_report(pull)
    scene.forge.model.comment(pull, "max", "/saltern apply")
    scene.rig.wait("it to be applied", lambda: "43" in config(scene))
    if end == "unapply":
        scene.forge.model.comment(pull, "max", "/saltern unapply")
    elif end == "close":
        scene.forge.model.close(pull)
    wait_back(scene, main)
    assert config(scene) == before
    said = {"unapply": "/saltern unapply by max", "time": "the time that the policy gives is over"}.get(end)
    if said:
        scene.wait_comment(pull, "Applied before the merge, and released", said)
    scene.wait_quiet()
    assert scene.rig.status()["web1"]["held"] is None


@pytest.mark.timeout(300)
def test_canary_then_all(make_scene):
    scene = make_scene(minions={"web1": {"roles": ["web"]}, "web2": {"roles": ["web"]}, "web3": {"roles": ["web"]}})
    main = scene.rig.git("rev-parse", "--short=8", "main")
    pull = scene.open(44)
    scene.wait_report(pull)

    def held():
        return [name for name, each in scene.rig.status().items() if each["sync"] == "Held"]

    scene.forge.model.comment(pull, "max", "/saltern apply --canary")
    scene.wait_comment(pull, "Applied before the merge", "on 1 minion (canary)", "| 1 | 1 | 0 | 0 | 0 |")
    assert len(held()) == 1
    scene.forge.model.comment(pull, "max", "/saltern apply")
    wait_held(scene, pull, "web1", "web2", "web3")
    scene.wait_comment(pull, "on 3 minions", "| 1 | 3 | 0 | 0 | 0 |")
    other = scene.open(45, branch="other")
    scene.wait_report(other)
    refused = scene.forge.model.comment(other, "max", "/saltern apply")
    scene.rig.wait("an answer", lambda: len(scene.ours(other)) == 2)
    assert f"hub:{PROJECT}#{pull.number}" in scene.ours(other)[1].body
    assert refused.given
    scene.forge.model.close(pull)
    wait_back(scene, main, "web1", "web2", "web3")


@pytest.mark.timeout(300)
def test_refused(make_scene):
    scene = make_scene("apply: false")
    pull = scene.open(46)
    scene.wait_report(pull)
    before = config(scene)
    scene.forge.model.comment(pull, "max", "/saltern apply")
    scene.wait_comment(pull, count=2)
    assert "previews: {apply: true}" in scene.ours(pull)[1].body
    reader = scene.forge.model.comment(pull, "ann", "/saltern apply")
    scene.rig.wait("a reaction", lambda: reader.given)
    stranger = scene.open(47, branch="stranger", fork="eve/states", author="eve")
    scene.forge.model.comment(stranger, "eve", "/saltern apply")
    scene.wait_quiet()
    assert config(scene) == before


KILLED = [0.0, 0.1, 0.3, 0.6, 1.0, 1.5]
"""Seconds after the command."""


@pytest.mark.timeout(400)
def test_killed_at_each_step(make_scene):
    """kill -9 of the controller while it compiles, holds and answers: it is applied once, and held over the restart."""
    scene = make_scene()
    pull = scene.open(50)
    scene.wait_report(pull)
    main = scene.rig.git("rev-parse", "--short=8", "main")
    for number, seconds in enumerate(steps(KILLED, 2), 51):
        scene.push(pull, number)
        scene.wait_report(pull)
        scene.wait_check(pull, "success")
        scene.forge.model.comment(pull, "max", f"/saltern apply --commit {pull.head[:12]}")
        time.sleep(seconds)
        scene.rig.kill("controller", children=True)
        scene.rig.start_controller()
        wait_held(scene, pull)
        assert str(number) in config(scene)
    scene.rig.kill("controller", children=True)
    scene.rig.start_controller()
    wait_held(scene, pull)
    scene.forge.model.comment(pull, "max", "/saltern unapply")
    scene.rig.kill("controller", children=True)
    scene.rig.start_controller()
    wait_back(scene, main)


@pytest.mark.timeout(300)
def test_released_from_the_command_line(make_scene):
    """One minion, then all; the forge is not needed for it, and is told when it is there again."""
    scene = make_scene(minions={"web1": {}, "web2": {}})
    pull = scene.open(48)
    scene.wait_report(pull)
    scene.forge.model.comment(pull, "max", "/saltern apply")
    wait_held(scene, pull, "web1", "web2")
    name = f"{PROJECT}#{pull.number}"
    shown = scene.rig.saltern("pulls").stdout
    assert f"{name} at {pull.head[:8]}, applied by max, is held until " in shown
    assert "by web1, web2" in shown
    [listed] = scene.rig.ask("/pulls")
    assert (listed["preview"], listed["held"][0]["minions"]) == ("done", ["web1", "web2"])
    assert "2 minions" in scene.rig.saltern("preview", "list").stdout
    scene.wait_quiet()
    scene.forge.bad_gateway(times=2)
    assert scene.rig.saltern("unapply", name, "--target", "web1").stdout == "released web1\n"
    base = scene.rig.git("rev-parse", "main")[:8]
    wait_back(scene, base)
    wait_held(scene, pull, "web2")
    assert "48" not in config(scene)
    assert scene.rig.saltern("unapply", f"hub:{name}").stdout == "released web2\n"
    wait_back(scene, base, "web1", "web2")
    scene.wait_comment(pull, "saltern unapply by ")
    assert scene.rig.saltern("unapply", name, check=False).returncode == 1
    assert scene.rig.ask("/pulls")[0]["held"] == []
