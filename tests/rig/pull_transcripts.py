"""One pull request of a forge in memory: what is decided for it, line by line, while people and time go on."""

import dataclasses
from typing import Any

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
from controller.pull_requests.preview_steps import answered, previewed
from controller.pull_requests.wanted_previews import is_current, waits_for_maintainer, wanted_preview
from controller.report.marker import marker_line, marker_of
from controller.schema.reports import MergeOutcome, PreviewReport
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
