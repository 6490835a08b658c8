"""Transcripts: what is decided for one pull request while the forge, previews and time go on."""

import dataclasses
import itertools

import pytest
from pull_transcripts import NOW, A, B, C, Forge, body_of

from controller.forges.client import PullState
from controller.pull_requests.instructions import (
    PullRules,
)
from controller.pull_requests.merge_steps import FINAL_SECONDS, LOOK_SECONDS, SHOW_SECONDS, SOONEST_SECONDS, next_look
from controller.schema.reports import MergeOutcome, MinionErrors, Violation

CLEAN = "Nothing changes on 4 minions"
RUNNING = "running: the preview is being made"


def test_open_push_merge():
    forge = Forge()
    assert forge.look() == ["say new", "preview a", f"check a {RUNNING}"]
    assert forge.look() == [], "nothing is new"
    forge.finish()
    assert forge.look() == [f"check a success: {CLEAN}", "create report a 0"]
    assert forge.look() == [], "identical: not touched"
    forge.push(B)
    assert forge.look() == ["say head", "preview b", f"check b {RUNNING}"]
    forge.finish()
    assert forge.look() == [f"check b success: {CLEAN}", "edit c1 report b 0"]
    forge.change(state=PullState.MERGED, merge_commit=C)
    forge.outcome = MergeOutcome(commit=C, at=NOW)
    assert forge.look() == ["say merged", f"again in {SOONEST_SECONDS:g} s"]
    forge.outcome = MergeOutcome(commit=C, at=NOW, complete=True)
    assert forge.look() == ["edit c1 report b 0 merged 0", "say completed"]
    assert forge.look() == []
    assert forge.record.settled


def test_two_pushes_racing_the_newer_wins():
    forge = Forge()
    forge.look()
    older = forge.running
    forge.push(B)
    assert forge.look() == ["say head", f"check a cancelled: {CANCELLED}", "cancel", "preview b", f"check b {RUNNING}"]
    newer, forge.running = forge.running, older
    forge.finish()  # it ended before it was cancelled
    assert forge.record.previewed is None
    forge.running, forge.report = newer, None
    forge.finish()
    assert forge.look() == [f"check b success: {CLEAN}", "create report b 0"]


CANCELLED = "cancelled: there is nothing to preview any more"


def test_closed_and_opened_again():
    forge = Forge()
    forge.look()
    forge.change(state=PullState.CLOSED)
    assert forge.look() == ["say closed", "cancel", f"check a cancelled: {CANCELLED}"]
    assert forge.look() == []
    forge.now += 100
    forge.change(state=PullState.OPEN)
    assert forge.look() == ["say reopened", "preview a", f"check a {RUNNING}"]
    forge.finish()
    assert forge.look() == [f"check a success: {CLEAN}", "create report a 0"]


def test_retargeted():
    forge = Forge()
    forge.look()
    forge.finish()
    forge.look()
    forge.change(base_branch="stable")
    assert forge.look()[:2] == ["say head", "preview a"]


def test_branch_that_nothing_follows():
    rules = PullRules(check="saltern/preview (base)", branches=frozenset(["main"]))
    forge = Forge(rules, base_branch="feature")
    assert forge.look() == ["say new"]
    forge.change(base_branch="main")
    assert "preview a" in forge.look()
    forge.change(base_branch="feature")
    assert forge.look() == ["say head", "cancel", f"check a cancelled: {CANCELLED}"]


def test_drafts():
    forge = Forge(PullRules(check="x", drafts=False), draft=True)
    assert forge.look() == ["say new"]
    forge.change(draft=False)
    assert "preview a" in forge.look()
    assert "preview a" in Forge(draft=True).look()


def test_drafts_that_somebody_asks_for():
    forge = Forge(PullRules(check="x", drafts=False), draft=True)
    forge.look()
    forge.say("ann", "/saltern preview")
    assert "preview a" not in forge.look(), "she may not"
    forge.say("max", "/saltern preview")
    assert "preview a" in forge.look()
    forge.finish()
    assert forge.look()[-1] == "create report a 0"
    forge.push(B)
    assert forge.look() == ["say head"], "each head is asked for"


def test_base_moves():
    """Previewed again on the newer base, at most each ten minutes; the comment is edited when it says something new."""
    forge = Forge()
    forge.look()
    forge.finish(base="1" * 40)
    forge.look()
    forge.now += 60
    forge.base = "base 2"
    assert forge.look() == ["again in 540 s"]
    forge.now += 300
    forge.base = "base 3"
    assert forge.look() == ["again in 240 s"], "not put off"
    forge.now += 240
    assert forge.look() == ["preview a again"], "the check and the comment stay meanwhile"
    forge.base = "base 4"
    assert forge.look() == [], "it goes on"
    forge.finish(base="3" * 40)
    assert forge.look() == ["again in 600 s"], "the same on another base: the comment stays"
    forge.now += 600
    assert forge.look() == ["preview a again"]
    forge.finish(base="4" * 40, changed=1)
    assert forge.look() == ["check a success: 0 distinct changes on 1 of 4 minions", "edit c1 report a 1"]
    assert forge.look() == []


def test_base_moves_and_a_push_does_not_wait():
    forge = Forge()
    forge.look()
    forge.finish()
    forge.look()
    forge.base = "base 2"
    forge.push(B)
    assert forge.look()[:2] == ["say head", "preview b"]
    forge.finish()
    forge.look()
    forge.base = "base 3"
    forge.now += 600
    assert forge.look() == ["preview b again"]
    forge.push(C)
    assert forge.look()[:3] == ["say head", "cancel", "preview c"]


def test_base_moves_and_the_preview_fails():
    forge = Forge()
    forge.look()
    forge.finish()
    forge.look()
    forge.base = "base 2"
    forge.now += 600
    forge.look()
    forge.finish("no room")
    assert forge.look() == ["again in 10 s"], "what is known still stands there"
    forge.now += 10
    assert forge.look() == ["preview a again"]


def test_base_moves_under_a_stranger():
    forge = Forge(from_fork=True)
    forge.look()
    forge.base = "base 2"
    assert forge.look() == []


def test_deleted_comment_is_made_again():
    forge = Forge()
    forge.look()
    forge.finish()
    forge.look()
    forge.comments.clear()
    assert forge.look() == ["create report a 0"]
    assert forge.look() == []


def test_newer_comment_is_left():
    forge = Forge()
    forge.look()
    forge.finish(changed=1)
    newer = forge.keys.with_key(body_of("newer", B, NOW + 60), forge.keys.report(0))
    forge.say("saltern", newer)
    assert forge.look() == ["check a success: 0 distinct changes on 1 of 4 minions"]
    assert len(forge.comments) == 1
    assert forge.comments[0].body == newer


def test_copied_key_counts_only_without_ours():
    forge = Forge()
    forge.look()
    forge.finish()
    forge.look()
    own = forge.comments[0]
    forge.now += 10
    copied = forge.say("eve", own.body)
    forge.push(B)
    forge.look()
    forge.finish()
    assert f"edit {own.id} report b 0" in forge.look()
    assert next(each for each in forge.comments if each.id == copied).body == own.body


@pytest.mark.parametrize(("mode", "hides"), [("new", False), ("hide-and-new", True)])
def test_new_comment_for_each_head(mode, hides):
    forge = Forge(PullRules(check="x", comment=mode))
    forge.look()
    forge.finish()
    forge.look()
    first = forge.comments[0].id
    forge.push(B)
    forge.look()
    forge.finish()
    lines = forge.look()
    assert lines[1:] == ([f"hide {first}"] if hides else []) + ["create report b 0"]
    assert len(forge.comments) == 2
    assert forge.look() == []


def test_comment_that_says_the_same_is_not_touched():
    forge = Forge()
    forge.look()
    forge.finish()
    forge.look()
    forge.now += 5
    forge.say("max", "/saltern preview")
    assert forge.look()[-2:] == ["preview a", f"check a {RUNNING}"]
    forge.now += 50
    forge.finish()
    assert forge.look() == [f"check a success: {CLEAN}"], "the comment says the same as before"


def test_failing_preview_backs_off_and_is_not_run():
    forge = Forge()
    forge.look()
    forge.finish("the ref is not there")
    assert forge.look() == ["again in 10 s"]
    forge.now += 10
    assert forge.look() == ["preview a"]
    forge.finish("the ref is not there")
    assert forge.look() == ["check a neutral: not previewed; it is tried again: the ref is not there", "again in 20 s"]
    forge.push(B)
    assert "preview b" in forge.look(), "a new head is tried at once"


def test_compile_errors_and_violations_fail_the_check():
    forge = Forge()
    forge.look()
    errors = MinionErrors(minions=("web1",), folded="web1", texts=("bad YAML",), places=("web.sls:3",))
    forge.finish(broken=(errors,))
    assert "failure: 1 of 4 minions do not compile" in forge.look()[0]
    forge.push(B)
    forge.look()
    rule = Violation(rule="previews.max_minions", message="412 minions", approvable=True)
    forge.finish(violations=(rule,))
    assert "failure: 1 rule of the policy broken: previews.max_minions" in forge.look()[0]
    forge.now += 5
    comment = forge.say("max", "/saltern approve")
    lines = forge.look()
    assert lines[:3] == ["say command", "say command-accepted", f"react {comment} done"]
    assert lines[3].startswith("check b success")
    forge.push(C)
    forge.look()
    forge.finish(violations=(rule,))
    assert "failure" in forge.look()[0], "the approval was for the head before"


def test_command_of_a_reader():
    forge = Forge()
    forge.look()
    forge.now += 5
    comment = forge.say("ann", "/saltern approve")
    assert forge.look() == ["say command", "say command-refused", f"react {comment} refused"]
    assert len(forge.comments) == 1, "it causes no comment"


def test_edited_and_old_comments_are_no_commands():
    forge = Forge()
    forge.say("max", "/saltern approve", age=86_400)
    forge.say("max", "/saltern approve", edited=True)
    plain = forge.say("max", "fine")
    forge.look()
    forge.comments = [
        dataclasses.replace(each, body="/saltern approve") if each.id == plain else each for each in forge.comments
    ]
    assert forge.look() == []
    assert forge.record.commands == ()


def test_answers():
    forge = Forge()
    forge.look()
    forge.finish()
    forge.look()
    forge.now += 5
    ids = [forge.say("max", f"/saltern {text}") for text in ("help", "apply --canary", "explain web1 nginx", "fly")]
    lines = forge.look()
    assert [line for line in lines if line.startswith("react")] == [
        f"react {ids[0]} done",
        f"react {ids[1]} refused",
        f"react {ids[2]} done",
        f"react {ids[3]} refused",
    ]
    assert len([line for line in lines if line.startswith("answer")]) == 4
    assert forge.look() == []


def test_preview_of_a_target():
    forge = Forge()
    forge.look()
    forge.finish()
    forge.look()
    forge.now += 5
    comment = forge.say("max", "/saltern preview web*")
    assert forge.look() == ["say command", "say command-accepted", "preview a of web*"]
    assert forge.look() == []
    forge.finish()
    assert forge.look() == [f"react {comment} done", f"answer {comment}: the report of the target"]
    assert forge.look() == []


def test_push_ends_the_preview_of_a_target():
    forge = Forge()
    forge.look()
    forge.finish()
    forge.look()
    forge.now += 5
    forge.say("max", "/saltern preview web*")
    forge.look()
    forge.push(B)
    assert forge.look()[:3] == ["say head", "cancel", "preview b"]
    forge.finish()
    assert any(line == "preview b of web*" for line in forge.look())


def test_stranger_waits_for_a_maintainer():
    forge = Forge(from_fork=True)
    waiting = f"neutral: not previewed: a maintainer has to write /saltern preview --commit {A[:12]}"
    assert forge.look() == ["say new", f"check a {waiting}", "create waiting"]
    forge.now += 5
    refused = forge.say("ann", "/saltern preview")
    assert forge.look() == ["say command", "say command-refused", f"react {refused} refused"]
    forge.now += 5
    comment = forge.say("max", "/saltern preview")
    lines = forge.look()
    assert lines == ["say command", "say command-accepted", f"react {comment} done", "preview a", f"check a {RUNNING}"]
    forge.finish()
    assert forge.look() == [f"check a success: {CLEAN}", "edit c1 report a 0"]
    forge.push(B)
    assert "edit c1 waiting" in forge.look(), "the command was for the head before"


def test_command_is_bound_to_the_head_that_its_author_saw():
    forge = Forge(from_fork=True)
    forge.look()
    forge.now += 5
    comment = forge.say("max", "/saltern preview")
    forge.push(B)  # before the controller looks
    lines = forge.look()
    assert f"react {comment} refused" in lines
    assert not any(line.startswith("preview") for line in lines)
    forge.now += 5
    forge.say("max", f"/saltern preview --commit {A[:8]}")
    assert not any(line.startswith("preview") for line in forge.look())
    forge.now += 5
    forge.say("max", f"/saltern preview --commit {B[:8]}")
    assert "preview b" in forge.look()


def test_stranger_with_a_restricted_compile():
    forge = Forge(PullRules(check="x", strangers="restricted"), from_fork=True)
    assert "preview a restricted" in forge.look()
    forge.finish()
    forge.look()
    forge.now += 5
    forge.say("max", "/saltern preview")
    assert "preview a" in forge.look()


def test_commands_of_one_person_are_bounded():
    forge = Forge()
    forge.look()
    for _ in range(30):
        forge.say("ann", "/saltern help")
    lines = forge.look()
    assert lines.count("say command") == 10
    assert lines.count("say command-dropped") == 20


def test_merged_while_runs_are_waited_for():
    forge = Forge()
    forge.look()
    forge.finish()
    forge.look()
    forge.change(state=PullState.MERGED, merge_commit=C)
    forge.outcome = MergeOutcome(commit=C, at=NOW)
    forge.look()
    forge.now += SHOW_SECONDS
    assert forge.look() == ["edit c1 report a 0 merged 0", f"again in {LOOK_SECONDS:g} s"]
    assert forge.look() == [f"again in {LOOK_SECONDS:g} s"]
    forge.now += FINAL_SECONDS
    assert forge.look() == ["say completed"]


def test_merged_without_a_preview():
    forge = Forge(state=PullState.MERGED, merge_commit=C)
    assert forge.look() == ["say new", "say merged"]
    assert forge.record.settled


@pytest.mark.parametrize("steps", range(12))
def test_killed_after_each_step(steps):
    """Whatever was done and not recorded, the next looks do the rest and nothing twice."""
    forge = Forge()
    life(forge, steps, lambda: None)
    life(forge, steps, forge.finish)
    forge.now += 5
    forge.say("max", "/saltern help")
    life(forge, steps, lambda: None)
    bodies = [each.body for each in forge.comments if each.author == "saltern"]
    assert len([body for body in bodies if "report a" in body]) == 1
    assert len([body for body in bodies if "Commands, for people" in body]) == 1
    assert forge.look() == []


def life(forge, steps, then):
    """Killed after so many steps, then alive."""
    forge.look(crash_after=steps)
    forge.look()
    then()
    forge.look(crash_after=steps)
    if forge.running is None and forge.record.previewed is None:
        forge.look()
        forge.finish()
    forge.look()


def test_runs_are_looked_at_often_at_first():
    looks = [100.0]
    while looks[-1] < 200.0:
        looks.append(next_look(100.0, looks[-1]))
    assert [b - a for a, b in itertools.pairwise(looks)][:4] == [SOONEST_SECONDS] * 4
    assert looks[-1] - looks[-2] == LOOK_SECONDS
    assert len(looks) < 25
