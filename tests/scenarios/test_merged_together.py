"""Two pull requests whose merges come with one push of the base, on a real controller."""

import pytest
from pull_scene import PROJECT, Scene


@pytest.mark.timeout(300)
def test_two_merged_together(make_rig, forge):
    scene = Scene(make_rig, forge)
    git = scene.rig.git
    one = scene.open(1, branch="one")
    git("checkout", "-q", "main")
    git("checkout", "-q", "-b", "two")
    file = scene.rig.work / "states/app.sls"
    file.write_text(file.read_text() + "\nadded-by-two:\n  test.succeed_with_changes: []\n")
    git("commit", "-qam", "two")
    git("push", "-q", "origin", "two")
    two = scene.forge.model.open(PROJECT, head=git("rev-parse", "HEAD"), branch="two")
    scene.wait_report(one)
    scene.wait_report(two)
    git("checkout", "-q", "main")
    commits = []
    for pull in (one, two):
        git("merge", "-q", "--no-ff", "-m", "Merge", pull.head)
        commits.append(git("rev-parse", "HEAD"))
    git("push", "-q", "origin", "main")
    for pull, commit in zip((one, two), commits, strict=True):
        scene.forge.model.merge(pull, commit, method="merge")
    scene.rig.wait_applied(commits[1][:8])
    for pull, other in ((one, two), (two, one)):
        told = f"foretold by pull request {other.number}"
        scene.wait_comment(pull, "After the merge of", "| 1 | 1 | 0 | 0 | 0 |", told)
    scene.rig.wait("predictions", lambda: scene.metric('saltern_predictions_total{result="kept"}') == 2)
