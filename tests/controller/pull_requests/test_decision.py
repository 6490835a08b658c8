"""Transcripts: what is decided for one pull request while the forge, previews and time go on."""

import dataclasses
from typing import Any

import pytest

from controller.forges.client import CheckState, ForgeComment, Permission, PullRequest, PullState
from controller.pull_requests.comment_steps import deleted
from controller.pull_requests.decision import carried_out, decide
from controller.pull_requests.instructions import (
    AskPermission,
    CancelPreview,
    CreateComment,
    EditComment,
    HideComment,
    Look,
    LookAgainAt,
    PostAnswer,
    PullRules,
    React,
    Record,
    SetCheck,
    StartPreview,
)
from controller.pull_requests.keys import CommentKeys
from controller.pull_requests.merge_steps import FINAL_SECONDS, LOOK_SECONDS, SHOW_SECONDS
from controller.pull_requests.preview_steps import (
    answered,
    is_current,
    previewed,
    waits_for_maintainer,
    wanted_preview,
)
from controller.report.marker import marker_line, marker_of
from controller.schema.reports import MergeOutcome, MinionErrors, PreviewReport, Violation
from controller.store.pull_requests import PullRecord

A, B, C = "a" * 40, "b" * 40, "c" * 40
NOW = 1_000_000.0


class Forge:
    """One pull request, in memory, and the previews of its heads: what the shell does with what is decided."""

    def __init__(self, rules: PullRules | None = None, **pull: Any) -> None:
        self.rules = rules or PullRules(check="saltern/preview (base)")
        fields: dict[str, Any] = {
            "project": "org/states",
            "number": 7,
            "title": "A change",
            "author": "ann",
            "state": PullState.OPEN,
            "head": A,
            "base_branch": "main",
            "updated": "1",
        }
        self.pull = PullRequest(**{**fields, **pull})
        self.record = PullRecord(forge="hub", project="org/states", number=7)
        self.keys = CommentKeys(secret=b"secret", forge="hub", project="org/states", number=7)
        self.comments: list[ForgeComment] = []
        self.permissions = {"ann": Permission.READ, "max": Permission.WRITE}
        self.asked: dict[str, Permission] = {}
        self.checks: dict[str, CheckState] = {}
        self.reactions: list[tuple[str, str]] = []
        self.running = None
        self.target = ""
        self.report: PreviewReport | None = None
        self.outcome: MergeOutcome | None = None
        self.now = NOW
        self.lines: list[str] = []
        self.numbers = iter(range(1, 1000))
        self.hidden: list[str] = []
        self.base = "base 1"

    # --- what people do ---

    def push(self, head: str, **more: Any) -> None:
        self.change(head=head, **more)

    def change(self, **changes: Any) -> None:
        self.pull = dataclasses.replace(self.pull, updated=str(next(self.numbers) + 100), **changes)

    def say(self, author: str, body: str, *, edited: bool = False, age: float = 0.0) -> str:
        comment = ForgeComment(
            id=f"c{next(self.numbers)}", author=author, body=body, created=self.now - age, edited=edited
        )
        self.comments.append(comment)
        return comment.id

    # --- what previews do ---

    def finish(self, failure: str = "", **report: Any) -> None:
        running, self.running = self.running, None
        assert running is not None, "no preview runs"
        if running.command:
            self.record = answered(self.record, running.command, "the report of the target", done=not failure)
            return
        made = None if failure else report_of(running.preview.head, made_at=self.now, **report)
        self.record = previewed(self.record, running, made, failure, self.now)
        self.report = made or self.report

    # --- the shell ---

    def look(self, crash_after: int = 10_000) -> list[str]:
        """Look until nothing is left to do; the lines of what was done. `crash_after`: instructions, then kill -9."""
        lines: list[str] = []
        self.asked = {}
        for _ in range(50):
            done = False
            for instruction in decide(self._look(), self.rules, self.now):
                if isinstance(instruction, LookAgainAt):
                    lines.append(f"again in {instruction.time - self.now:g} s")
                    continue
                done = True
                made = self._do(instruction, lines)
                crash_after -= 1
                if crash_after < 0:
                    self.running = None
                    return lines  # what was done is not recorded
                if made is not None:
                    self.record = carried_out(self._look(), instruction, made)
            if not done:
                return lines
            lines = [line for line in lines if not line.startswith("again")]
        raise AssertionError(f"no end: {lines}")

    def _look(self) -> Look:
        look = Look(
            record=self.record,
            pull=self.pull,
            comments=tuple(self.comments),
            keys=self.keys,
            permissions=self.asked,
            running=self.running,
            report=self.report,
            base=self.base,
            outcome=self.outcome,
        )
        return dataclasses.replace(look, body=self._body(look))

    def _body(self, look: Look) -> str:
        if waits_for_maintainer(look, self.rules):
            return body_of("waiting", look.pull.head, look.record.head_at)
        wanted = wanted_preview(look, self.rules)
        if look.report is None or not (is_current(look.record, wanted) or look.pull.state is PullState.MERGED):
            return ""
        merged = f" merged {len(look.outcome.classes)}" if look.outcome else ""
        return body_of(
            f"report {look.report.head[0]} {look.report.changed}{merged}\non {look.report.base[:8]}",
            look.report.head,
            self.report_at(),
        )

    def report_at(self) -> float:
        assert self.report is not None
        return self.report.made_at

    def _do(self, instruction: Any, lines: list[str]) -> str | None:
        match instruction:
            case Record(said=said):
                lines += [f"say {each.what}" for each in said]
            case AskPermission(user=user):
                self.asked[user] = self.permissions.get(user, Permission.NONE)
            case StartPreview(running=running, target=target):
                restricted = " restricted" if running.preview.restricted else ""
                again = " again" if running.again else ""
                lines.append(f"preview {running.preview.head[0]}{restricted}{' of ' + target if target else ''}{again}")
                self.running, self.target = running, target
            case CancelPreview():
                lines.append("cancel")
                self.running = None
            case React(comment=comment, reaction=reaction):
                lines.append(f"react {comment} {reaction.value}")
            case PostAnswer(comment=comment, body=body):
                lines.append(f"answer {comment}: {body.splitlines()[0]}")
                self.say("saltern", body)
            case CreateComment(body=body):
                lines.append(f"create {body.splitlines()[1]}")
                return self.say("saltern", self.keys.with_key(body, self.keys.report(self.record.serial)))
            case EditComment(comment=comment, body=body):
                found = [number for number, each in enumerate(self.comments) if each.id == comment]
                if not found:
                    self.record = deleted(self.record)
                    return None
                lines.append(f"edit {comment} {body.splitlines()[1]}")
                text = self.keys.with_key(body, self.keys.report(self.record.serial))
                self.comments[found[0]] = dataclasses.replace(self.comments[found[0]], body=text, edited=True)
            case HideComment(comment=comment):
                lines.append(f"hide {comment}")
                self.hidden.append(comment)
            case SetCheck(head=head, check=check):
                lines.append(f"check {head[0]} {check.state.value}: {check.title}")
        return ""


def body_of(text: str, head: str, at: float) -> str:
    return f"{marker_line(marker_of('ctl', 'base', head, at))}\n{text}"


def report_of(head: str, **fields: Any) -> PreviewReport:
    return PreviewReport(**{"made_at": NOW, "base": "0" * 40, "head": head, "minions": 4, **fields})


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
    assert forge.look() == ["say merged", f"again in {LOOK_SECONDS:g} s"]
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
