"""The decision: what is previewed, said and checked for one pull request now. Pure; `reconciler` carries it out.

Level-triggered, as `controller.reconcile.deciding.decision`: the answer follows from `Look` alone, whatever woke the
loop. The shell carries the instructions out in their order, keeps what came of each (`carried_out`) and asks again
until nothing but a time is left to wait for. Killed anywhere, it asks the same question again: what was posted is found
by its key.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from controller.forges.client import PullState
from controller.pull_requests import checks
from controller.pull_requests.apply_steps import place_steps, release_steps, watch_steps
from controller.pull_requests.check_steps import cancelled_check_steps, check_steps
from controller.pull_requests.command_records import with_command
from controller.pull_requests.command_rules import note_commands
from controller.pull_requests.command_steps import command_steps
from controller.pull_requests.comment_steps import comment_steps, deleted, shows
from controller.pull_requests.instructions import (
    CancelPreview,
    CreateComment,
    EditComment,
    EndCommand,
    HideComment,
    Look,
    LookAgainAt,
    PlaceHolds,
    PostAnswer,
    PullInstruction,
    PullRules,
    React,
    Record,
    ReplaceComment,
    Say,
    SetCheck,
)
from controller.pull_requests.merge_steps import merge_steps
from controller.pull_requests.preview_steps import preview_steps
from controller.pull_requests.wanted_previews import is_served, wanted_preview
from controller.store.pull_requests import PullRecord

LONGEST_TITLE = 200


def decide(look: Look, rules: PullRules, now: float) -> list[PullInstruction]:
    """What to do now: first what is new is recorded, then commands are answered, then the pull request is served."""
    noted, said = _noted(look, now)
    if noted != look.record:
        return [Record(noted, said)]
    steps = command_steps(look, rules, now) or [*release_steps(look, now)] or [*place_steps(look, rules, now)]
    if steps:
        return steps
    served = [*_served(look, rules, now), *watch_steps(look, now)]
    if any(not isinstance(each, LookAgainAt) for each in served) or look.record.updated == look.pull.updated:
        return served
    # Only now: after a crash a poll has to see that the forge's mark is new.
    return [*served, Record(replace(look.record, updated=look.pull.updated))]


def is_known(record: PullRecord) -> bool:
    """Whether a pull request was looked at before."""
    return bool(record.head)


def carried_out(look: Look, instruction: PullInstruction, made: str = "") -> PullRecord:
    """The record after an instruction was carried out; `made`: the id of the comment that the forge made."""
    record = look.record
    match instruction:
        case Record(record=new) | PlaceHolds(record=new):
            return new
        case React(comment=comment):
            return with_command(record, comment, reacted=True)
        case PostAnswer(comment=comment) | EndCommand(comment=comment):
            return with_command(record, comment, answered=True)
        case CreateComment(digest=digest):
            return shows(record, look, made, digest)
        case EditComment(comment=comment, digest=digest):
            listed = any(each.id == comment for each in look.comments)
            return replace(shows(record, look, comment, digest), unlisted=not listed)
        case ReplaceComment(hide=hide):
            return replace(deleted(record), hide=(*record.hide, hide) if hide else record.hide)
        case HideComment(comment=comment):
            return replace(record, hide=tuple(each for each in record.hide if each != comment))
        case SetCheck(head=head, check=check):
            digest = checks.digest_of(head, check)
            return replace(record, check_head=head, check_state=check.state.value, check_digest=digest)
    return record


def gone(record: PullRecord) -> PullRecord:
    """The record when the forge knows no such pull request any more."""
    return replace(record, state="closed", check_state="")


def _noted(look: Look, now: float) -> tuple[PullRecord, tuple[Say, ...]]:
    record, pull, said = look.record, look.pull, []
    commands, seen, after, new = note_commands(record, look.comments, pull, now)
    noted = replace(
        record,
        state=pull.state.value,
        title=pull.title[:LONGEST_TITLE],
        url=pull.url,
        head=pull.head,
        base_branch=pull.base_branch,
        from_fork=pull.from_fork,
        draft=pull.draft,
        merge_commit=pull.merge_commit,
        commands=commands,
        seen=seen,
        seen_after=after,
    )
    if (record.head, record.base_branch) != (pull.head, pull.base_branch):
        noted = replace(noted, failure="", failures=0, retry_at=0.0, head_at=now)
        said.append(Say("head" if is_known(record) else "new", {"head": pull.head, "base": pull.base_branch}))
    if record.state != noted.state:
        reopened = noted.state == "open"
        noted = replace(noted, complete=False, merged_at=now if noted.state == "merged" else 0.0)
        noted = replace(noted, asked_at=now) if reopened else noted
        said.append(Say("reopened" if reopened else noted.state, {"head": pull.head}))
    return noted, (*said, *new)


def _served(look: Look, rules: PullRules, now: float) -> Iterator[PullInstruction]:
    match look.pull.state:
        case PullState.OPEN:
            yield from _open(look, rules, now)
        case PullState.MERGED:
            ended = list(_end(look, rules))
            yield from ended or merge_steps(look, rules, now)
        case PullState.CLOSED:
            yield from _end(look, rules)


def _open(look: Look, rules: PullRules, now: float) -> Iterator[PullInstruction]:
    record = look.record
    wanted = wanted_preview(look, rules)
    if record.check_head and record.check_head != record.head:
        yield from cancelled_check_steps(look, rules)
    if not is_served(look, rules):
        yield from _end(look, rules)
        return
    yield from preview_steps(look, rules, wanted, now)
    yield from check_steps(look, rules, wanted)
    if look.body:
        yield from comment_steps(look, rules)


def _end(look: Look, rules: PullRules) -> Iterator[PullInstruction]:
    """Nothing is previewed any more."""
    if look.running is not None:
        yield CancelPreview()
    yield from cancelled_check_steps(look, rules)
