"""The decision: what is previewed, said and checked for one pull request now. Pure; `reconciler` carries it out.

Level-triggered, as `controller.reconcile.decision`: the answer follows from `Look` alone, whatever woke the loop. The
shell carries the instructions out in their order, keeps what came of each (`carried_out`) and asks again until nothing
but a time is left to wait for. Killed anywhere, it asks the same question again: what was posted is found by its key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from msgspec.structs import replace

from controller.forges.client import (
    CheckState,
    ForgeCheck,
    ForgeComment,
    Permission,
    PullRequest,
    PullState,
    Reaction,
)
from controller.pull_requests import checks
from controller.pull_requests.command_rules import Say, note_commands, resolve, target_of, with_command
from controller.pull_requests.keys import CommentKeys, find_by_key
from controller.report.marker import parse_marker
from controller.schema.reports import MergeOutcome, PreviewReport
from controller.store.pull_requests import CommandRecord, Previewed, PullRecord

SHOW_SECONDS = 300.0
"""After a merge: until the comment is completed although runs are waited for."""
FINAL_SECONDS = 86_400.0
"""After a merge: until nothing more is waited for."""
LOOK_SECONDS = 10.0
"""After a merge: between two looks at the runs."""
FAILURES_SHOWN = 2
"""Failures in a row of a preview after which the check says so."""
LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRules:
    """What the decision depends on beside the facts."""

    check: str
    """Name of the check: `saltern/preview (base)`."""
    comment: Literal["update", "new", "hide-and-new"] = "update"
    strangers: Literal["none", "restricted"] = "none"
    """What a pull request of a fork gets before somebody with write access asks for a preview."""
    drafts: bool = True
    """Whether drafts are previewed."""
    branches: frozenset[str] = frozenset()
    """Base branches whose pull requests are previewed; empty: all."""
    controller: str = ""
    """Its name in comments."""
    environment: str = "base"
    template: str = ""
    """Of the comment, from the base's tree; empty: the one of Saltern."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningPreview:
    """A preview that waits or is made."""

    preview: Previewed
    command: str = ""
    """Id of the comment that asked for it with a target; empty: it is for the comment and the check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """All that the decision depends on."""

    record: PullRecord
    pull: PullRequest
    comments: Sequence[ForgeComment]
    """All that the forge shows, ours among them."""
    keys: CommentKeys
    permissions: Mapping[str, Permission] = field(default_factory=dict)
    """Of people whose commands are open, as far as they were asked for."""
    running: RunningPreview | None = None
    report: PreviewReport | None = None
    """What is stored about `record.previewed`."""
    body: str = ""
    """The comment that should stand there, with its marker and without its key; empty: none yet."""
    url: str = ""
    """Of the whole report."""
    outcome: MergeOutcome | None = None
    """What is known of the merge."""


@dataclass(frozen=True, slots=True)
class Record:
    """Keep this record, and say what happened."""

    record: PullRecord
    said: tuple[Say, ...] = ()


@dataclass(frozen=True, slots=True)
class AskPermission:
    """Ask the forge what somebody may do."""

    user: str


@dataclass(frozen=True, slots=True)
class StartPreview:
    """Make a preview of the head; of these minions only where there is a target."""

    running: RunningPreview
    target: str = ""


@dataclass(frozen=True, slots=True)
class CancelPreview:
    """End the preview that is being made."""


@dataclass(frozen=True, slots=True)
class React:
    """Answer a command by a reaction."""

    comment: str
    reaction: Reaction


@dataclass(frozen=True, slots=True)
class PostAnswer:
    """Answer a command by a comment."""

    comment: str
    """Id of the command's comment."""
    body: str


@dataclass(frozen=True, slots=True)
class EndCommand:
    """A command needs no comment as its answer, or it stands there."""

    comment: str


@dataclass(frozen=True, slots=True)
class CreateComment:
    """Post the comment with the report; the shell adds the key by which it is found again."""

    body: str


@dataclass(frozen=True, slots=True)
class EditComment:
    """Replace the text of our comment. Where somebody has deleted it, another one is made."""

    comment: str
    body: str


@dataclass(frozen=True, slots=True)
class ReplaceComment:
    """Leave our comment as it is: another one follows it."""

    hide: str
    """Id of the comment, where it is to be hidden."""


@dataclass(frozen=True, slots=True)
class HideComment:
    """Fold an older comment of ours."""

    comment: str


@dataclass(frozen=True, slots=True)
class SetCheck:
    """Set the check on a commit."""

    head: str
    check: ForgeCheck


@dataclass(frozen=True, slots=True)
class LookAgainAt:
    """Look again at this time, in seconds since the epoch."""

    time: float


PullInstruction: TypeAlias = (
    Record
    | AskPermission
    | StartPreview
    | CancelPreview
    | React
    | PostAnswer
    | EndCommand
    | CreateComment
    | EditComment
    | ReplaceComment
    | HideComment
    | SetCheck
    | LookAgainAt
)


def decide(look: Look, rules: PullRules, now: float) -> list[PullInstruction]:
    """What to do now: first what is new is recorded, then commands are answered, then the pull request is served."""
    noted, said = _noted(look, now)
    if noted != look.record:
        return [Record(noted, said)]
    commands = _commands(look, now)
    if commands:
        return commands
    served = list(_served(look, rules, now))
    if any(not isinstance(each, LookAgainAt) for each in served) or look.record.updated == look.pull.updated:
        return served
    # Only now: after a crash a poll has to see that the forge's mark is new.
    return [*served, Record(replace(look.record, updated=look.pull.updated))]


def is_known(record: PullRecord) -> bool:
    """Whether a pull request was looked at before."""
    return bool(record.head)


def backoff(failures: int) -> float:
    """Seconds until a preview is tried again after so many failures in a row: 10 s doubling to an hour."""
    return float(min(3600, 10 * 2 ** min(max(failures, 1) - 1, 10)))


def wanted_preview(look: Look, rules: PullRules) -> Previewed | None:
    """What should be previewed; None while nobody has asked for it who may, or nothing is to be previewed."""
    record, pull = look.record, look.pull
    if not _is_served(pull, rules):
        return None
    restricted = pull.from_fork and record.allowed != pull.head
    if restricted and rules.strangers != "restricted":
        return None
    return Previewed(head=pull.head, base_branch=pull.base_branch, restricted=restricted, at=record.asked_at)


def waits_for_maintainer(look: Look, rules: PullRules) -> bool:
    """Whether it is a stranger's, and nobody with write access has asked for a preview of its head."""
    pull = look.pull
    is_open = pull.state is PullState.OPEN and _is_served(pull, rules)
    return is_open and pull.from_fork and wanted_preview(look, rules) is None


def is_current(record: PullRecord, wanted: Previewed | None) -> bool:
    """Whether the stored report is about what is wanted."""
    return wanted is not None and record.previewed is not None and _same(record.previewed, wanted)


def previewed(record: PullRecord, running: RunningPreview, failure: str, now: float) -> PullRecord:
    """The record after a preview for the comment has ended; `failure`: why there is no report, empty when there is."""
    if running.preview.head != record.head:
        return record  # there is a newer head
    if not failure:
        return replace(record, previewed=running.preview, failure="", failures=0, retry_at=0.0)
    failures = record.failures + 1
    return replace(record, failure=failure, failures=failures, retry_at=now + backoff(failures))


def answered(record: PullRecord, comment: str, answer: str, *, done: bool) -> PullRecord:
    """The record after a preview that a command asked for with a target has ended."""
    state: Literal["done", "refused"] = "done" if done else "refused"
    return with_command(record, comment, state=state, answer=answer)


def merge_is_due(record: PullRecord, outcome: MergeOutcome | None, body: str, now: float) -> bool:
    """Whether there is something to tell of a merge; until then the forge is not asked for anything."""
    age = now - record.merged_at
    if outcome is None or outcome.complete or age >= FINAL_SECONDS:
        return True
    return age >= SHOW_SECONDS and record.comment_digest != body_digest(body)


def carried_out(look: Look, instruction: PullInstruction, made: str = "") -> PullRecord:
    """The record after an instruction was carried out; `made`: the id of the comment that the forge made."""
    record = look.record
    match instruction:
        case Record(record=new):
            return new
        case React(comment=comment):
            return with_command(record, comment, reacted=True)
        case PostAnswer(comment=comment) | EndCommand(comment=comment):
            return with_command(record, comment, answered=True)
        case CreateComment(body=body):
            return _shows(record, look, made, body)
        case EditComment(comment=comment, body=body):
            listed = any(each.id == comment for each in look.comments)
            return replace(_shows(record, look, comment, body), unlisted=not listed)
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


def pull_of(record: PullRecord) -> PullRequest:
    """A merged pull request as it was seen last, while the forge need not be asked."""
    return PullRequest(
        project=record.project,
        number=record.number,
        title=record.title,
        author="",
        state=PullState(record.state),
        head=record.head,
        base_branch=record.base_branch,
        merge_commit=record.merge_commit,
        updated=record.updated,
        url=record.url,
    )


def _shows(record: PullRecord, look: Look, comment: str, body: str) -> PullRecord:
    digest = body_digest(body)
    return replace(record, comment=comment, comment_head=look.pull.head, comment_digest=digest, unlisted=False)


def deleted(record: PullRecord) -> PullRecord:
    """The record after the forge said that our comment is gone: the next one has another key."""
    return replace(record, comment="", comment_head="", comment_digest="", unlisted=False, serial=record.serial + 1)


def body_digest(body: str) -> str:
    """Equal for comments that say the same, whenever they were made and whatever head they were made for."""
    first, _, rest = body.partition("\n")
    said = rest if parse_marker(first) is not None else body
    return hashlib.sha256(said.strip().encode()).hexdigest()


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


def _commands(look: Look, now: float) -> list[PullInstruction]:
    """The next step of what people asked for in comments."""
    unknown = {each.user: None for each in look.record.commands if each.state == "open"}
    asks: list[PullInstruction] = [AskPermission(user) for user in unknown if user not in look.permissions]
    if asks:
        return asks
    for command in look.record.commands:
        if command.state == "open":
            record, said = resolve(look.record, command, look.pull, look.permissions[command.user], look.report, now)
            return [Record(record, said)]
    return [each for command in look.record.commands for each in _answers(look, command)]


def _answers(look: Look, command: CommandRecord) -> Iterator[PullInstruction]:
    if command.state not in ("done", "refused"):
        return
    if not command.reacted:
        yield React(command.comment, Reaction.DONE if command.state == "done" else Reaction.REFUSED)
    if command.answered:
        return
    key = look.keys.answer(command.comment)
    if not command.answer or find_by_key(look.comments, key) is not None:
        yield EndCommand(command.comment)
        return
    yield PostAnswer(command.comment, look.keys.with_key(command.answer, key))


def _served(look: Look, rules: PullRules, now: float) -> Iterator[PullInstruction]:
    match look.pull.state:
        case PullState.OPEN:
            yield from _open(look, rules, now)
        case PullState.MERGED:
            yield from _merged(look, rules, now)
        case PullState.CLOSED:
            yield from _end(look, rules)


def _is_served(pull: PullRequest, rules: PullRules) -> bool:
    return (rules.drafts or not pull.draft) and (not rules.branches or pull.base_branch in rules.branches)


def _open(look: Look, rules: PullRules, now: float) -> Iterator[PullInstruction]:
    record, running = look.record, look.running
    wanted = wanted_preview(look, rules)
    if record.check_head and record.check_head != record.head:
        yield from _cancelled_check(look, rules)
    if not _is_served(look.pull, rules):
        yield from _end(look, rules)
        return
    stale = running is not None and not running.command and (wanted is None or not _same(running.preview, wanted))
    if stale or _is_orphan(look, running):
        yield CancelPreview()
        running = None
    if wanted is not None and not is_current(record, wanted):
        yield from _preview(record, wanted, running, now)
    elif running is None:
        yield from _targeted(look)
    yield from _check(look, rules, wanted)
    if look.body:
        yield from _comment(look, rules)


def _is_orphan(look: Look, running: RunningPreview | None) -> bool:
    """Whether a preview with a target runs, and its command is not waited for any more or is about an older head."""
    if running is None or not running.command:
        return False
    waiting = {each.comment for each in look.record.commands if each.state == "previewing"}
    return running.command not in waiting or running.preview.head != look.record.head


def _preview(
    record: PullRecord, wanted: Previewed, running: RunningPreview | None, now: float
) -> Iterator[PullInstruction]:
    if running is not None and not running.command:
        return
    if record.retry_at > now:
        yield LookAgainAt(record.retry_at)
        return
    if running is not None:
        yield CancelPreview()
    yield StartPreview(RunningPreview(preview=replace(wanted, at=now)))


def _targeted(look: Look) -> Iterator[PullInstruction]:
    command = next((each for each in look.record.commands if each.state == "previewing"), None)
    if command is None:
        return
    preview = Previewed(head=look.record.head, base_branch=look.record.base_branch, at=command.at)
    yield StartPreview(RunningPreview(preview=preview, command=command.comment), target_of(command))


def _check(look: Look, rules: PullRules, wanted: Previewed | None) -> Iterator[PullInstruction]:
    record = look.record
    check = _check_of(look, rules, wanted)
    if record.check_digest != checks.digest_of(record.head, check):
        yield SetCheck(record.head, check)


def _check_of(look: Look, rules: PullRules, wanted: Previewed | None) -> ForgeCheck:
    record = look.record
    if wanted is None:
        return checks.waiting_check(rules.check, record.head)
    if look.report is not None and is_current(record, wanted):
        approved_by = record.approved_by if record.approved == record.head else ""
        return checks.check_of(look.report, rules.check, approved_by=approved_by, url=look.url)
    if record.failures >= FAILURES_SHOWN:
        return checks.failed_check(rules.check, record.failure)
    return checks.running_check(rules.check)


def _comment(look: Look, rules: PullRules) -> Iterator[PullInstruction]:
    """The comment as it should be, from what stands there."""
    record, digest = look.record, body_digest(look.body)
    for comment in record.hide:
        yield HideComment(comment)
    if record.hide:
        return
    own = _own_comment(look)
    if own is not None and _is_newer(own, look.body):
        return
    if own is None and not record.comment:
        yield CreateComment(look.body)
        return
    known = record.comment or (own.id if own is not None else "")
    same = record.comment == known and record.comment_digest == digest
    if same and (own is not None or record.unlisted):
        return
    if rules.comment != "update" and record.comment_head not in ("", look.pull.head) and not same:
        yield ReplaceComment(known if rules.comment == "hide-and-new" else "")
        return
    yield EditComment(known, look.body)


def _own_comment(look: Look) -> ForgeComment | None:
    known = next((each for each in look.comments if each.id == look.record.comment), None)
    return known or find_by_key(look.comments, look.keys.report(look.record.serial))


def _is_newer(own: ForgeComment, body: str) -> bool:
    """Whether what stands there was made after what we have to say, by another controller or before a restore."""
    theirs, ours = parse_marker(own.body), parse_marker(body)
    return theirs is not None and ours is not None and theirs.same_place(ours) and theirs.time > ours.time


def _merged(look: Look, rules: PullRules, now: float) -> Iterator[PullInstruction]:
    ended = list(_end(look, rules))
    yield from ended
    record, outcome = look.record, look.outcome
    if ended or record.complete:
        return
    if look.report is None or not record.comment or outcome is None:
        yield Record(replace(record, complete=True))
        return
    age = now - record.merged_at
    final = outcome.complete or age >= FINAL_SECONDS
    shown = list(_comment(look, rules)) if final or age >= SHOW_SECONDS else []
    yield from shown
    if shown:
        return
    if final:
        yield Record(replace(record, complete=True), (Say("completed", {"commit": outcome.commit}),))
    else:
        yield LookAgainAt(now + LOOK_SECONDS)


def _end(look: Look, rules: PullRules) -> Iterator[PullInstruction]:
    """Nothing is previewed any more."""
    if look.running is not None:
        yield CancelPreview()
    yield from _cancelled_check(look, rules)


def _cancelled_check(look: Look, rules: PullRules) -> Iterator[PullInstruction]:
    if look.record.check_state == CheckState.RUNNING.value:
        yield SetCheck(look.record.check_head, checks.cancelled_check(rules.check))


def _same(one: Previewed, wanted: Previewed) -> bool:
    """Whether a preview answers what is wanted."""
    what = (one.head, one.base_branch, one.restricted) == (wanted.head, wanted.base_branch, wanted.restricted)
    return what and one.at >= wanted.at
