"""Which comments are commands, whose they are, and what they do to the record of a pull request. Pure.

Only new comments count, and only as they were written: one that was edited is nothing. A command is about the head
that its author saw: the one that the look before it found and that is still there, or the one named by `--commit`.
Called by `controller.pull_requests.decision`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from controller.forges.client import ForgeComment, Permission, PullRequest, PullState
from controller.pull_requests.apply_rules import apply_refusal
from controller.pull_requests.command_records import with_command
from controller.pull_requests.commands import (
    HELP,
    ApplyHead,
    Approve,
    AskPreview,
    CommandRefused,
    Explain,
    Help,
    PullCommand,
    Unapply,
    command_line,
    is_command,
    parse,
)
from controller.pull_requests.explanation import explanation
from controller.pull_requests.instructions import Look, PullRules, Say
from controller.store.pull_requests import CommandRecord, PullRecord

FIRST_SECONDS = 900.0
"""Of comments that stood there when a pull request was first looked at, the newest count; older ones are history."""
MOST_SEEN = 1000
"""Ids of comments that are remembered."""
MOST_COMMANDS = 50
"""Commands of a pull request that are remembered."""
MOST_OPEN = 20
"""Commands of a pull request that wait for an answer; more of them are not taken."""
MOST_OF_USER = 10
"""Remembered commands of one person in `USER_SECONDS`; more of them are not taken."""
USER_SECONDS = 3600.0


def note_commands(
    record: PullRecord, comments: Sequence[ForgeComment], pull: PullRequest, now: float
) -> tuple[tuple[CommandRecord, ...], tuple[str, ...], float, tuple[Say, ...]]:
    """Commands, ids of seen comments, the time after which others are new, and events; after new comments."""
    seen, after = dict.fromkeys(record.seen), record.seen_after
    if not record.head:
        after = now - FIRST_SECONDS
    commands, said = list(record.commands), []
    for comment in comments:
        if comment.id in seen or comment.created <= after:
            continue
        seen[comment.id] = None
        if comment.edited or not is_command(comment.body):
            continue
        command = _command_of(comment, record, pull)
        taken = _may_take(commands, command)
        if taken:
            commands.append(command)
        tag = "command" if taken else "command-dropped"
        said.append(Say(tag, {"user": command.user, "command": command.text, "head": command.head}))
    kept, after = _kept(list(seen), comments, after)
    return _bounded(commands), kept, after, tuple(said)


def resolve(
    look: Look, rules: PullRules, command: CommandRecord, permission: Permission, now: float
) -> tuple[PullRecord, tuple[Say, ...]]:
    """The record after an open command, and what is said of it."""
    record, pull = look.record, look.pull
    try:
        if permission < Permission.WRITE:
            raise CommandRefused("")  # the reaction says it: whoever may not command causes no comments either
        parsed = parse(command.text)
        changed = _carried_out(look, rules, command, parsed, now)
    except CommandRefused as refusal:
        changed = with_command(record, command.comment, state="refused", answer=str(refusal))
    new = next(each for each in changed.commands if each.comment == command.comment)
    data = {"user": command.user, "command": command.text, "head": pull.head, "permission": permission.name.lower()}
    return changed, (Say(f"command-{'refused' if new.state == 'refused' else 'accepted'}", data),)


def _command_of(comment: ForgeComment, record: PullRecord, pull: PullRequest) -> CommandRecord:
    head = pull.head if record.head == pull.head else ""
    text = command_line(comment.body)
    return CommandRecord(comment=comment.id, user=comment.author, text=text, at=comment.created, head=head)


def _may_take(commands: Sequence[CommandRecord], command: CommandRecord) -> bool:
    recent = [each for each in commands if each.user == command.user and each.at > command.at - USER_SECONDS]
    waiting = Counter(each.answered for each in commands)[False]
    return len(recent) < MOST_OF_USER and waiting < MOST_OPEN


def _bounded(commands: Sequence[CommandRecord]) -> tuple[CommandRecord, ...]:
    """Those that are waited for, and the newest others."""
    rest = [each for each in commands if each.answered]
    old = {each.comment for each in rest[: max(0, len(commands) - MOST_COMMANDS)]}
    return tuple(each for each in commands if each.comment not in old)


def _kept(seen: Sequence[str], comments: Sequence[ForgeComment], after: float) -> tuple[tuple[str, ...], float]:
    """The newest ids; what is older than those is not new any more."""
    if len(seen) <= MOST_SEEN:
        return tuple(seen), after
    dropped = set(seen[:-MOST_SEEN])
    return tuple(seen[-MOST_SEEN:]), max([after, *(each.created for each in comments if each.id in dropped)])


def _carried_out(look: Look, rules: PullRules, command: CommandRecord, parsed: PullCommand, now: float) -> PullRecord:
    record, pull, report = look.record, look.pull, look.report
    if isinstance(parsed, Help):
        return with_command(record, command.comment, state="done", answer=HELP)
    if pull.state is not PullState.OPEN:
        raise CommandRefused(f"The pull request is {pull.state.value}.")
    needs_head = isinstance(parsed, Approve | ApplyHead) or pull.from_fork
    _check_head(command, parsed, pull, needs_head=needs_head)
    match parsed:
        case AskPreview(target=target):
            allowed = replace(record, allowed=pull.head) if pull.from_fork or pull.draft else record
            if target:
                return with_command(allowed, command.comment, state="previewing")
            asked = replace(allowed, asked_at=now, failure="", failures=0, retry_at=0.0)
            return with_command(asked, command.comment, state="done")
        case Approve():
            approved = replace(record, approved=pull.head, approved_by=command.user)
            return with_command(approved, command.comment, state="done")
        case ApplyHead():
            if why := apply_refusal(look, rules):
                raise CommandRefused(why)
            return with_command(record, command.comment, state="applying")
        case Unapply():
            return _unapplied(record, command)
        case Explain(minion=minion, state=state):
            if report is None or record.previewed is None or record.previewed.head != pull.head:
                raise CommandRefused("The head commit has not been previewed yet.")
            return with_command(record, command.comment, state="done", answer=explanation(report, minion, state))


def _unapplied(record: PullRecord, command: CommandRecord) -> PullRecord:
    if record.applied is None or record.applied.released:
        raise CommandRefused("Nothing of this pull request is applied.")
    ending = replace(record.applied, ending=f"/saltern unapply by {command.user}")
    return with_command(replace(record, applied=ending), command.comment, state="done")


def _check_head(command: CommandRecord, parsed: PullCommand, pull: PullRequest, *, needs_head: bool) -> None:
    if parsed.commit and not pull.head.startswith(parsed.commit):
        raise CommandRefused(f"The head commit is {pull.head[:12]} now. Look at it before you write the command again.")
    if parsed.commit or not needs_head:
        return
    if command.head != pull.head:
        raise CommandRefused(
            f"It is not known which head commit you saw: it is {pull.head[:12]} now. If you mean that one, add "
            f"`--commit {pull.head[:12]}`."
        )
