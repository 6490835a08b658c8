"""What was applied before the merge: held by minions, and released. Pure; a part of `decision`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from msgspec.structs import replace

from controller.forges.client import PullState
from controller.pull_requests.apply_rules import apply_refusal
from controller.pull_requests.command_records import with_command
from controller.pull_requests.commands import ApplyHead, parse
from controller.pull_requests.instructions import (
    Look,
    LookAgainAt,
    PlaceHolds,
    PullInstruction,
    PullRules,
    ReadyDocuments,
    Record,
    ReleaseHolds,
    Say,
)
from controller.pull_requests.merge_steps import next_look
from controller.store import HoldRecord
from controller.store.pull_requests import AppliedHead, CommandRecord

LATER_SECONDS = 60.0
"""Between two looks at runs that are waited for, after `FIRST_SECONDS`."""
FIRST_SECONDS = 300.0


def place_steps(look: Look, rules: PullRules, now: float) -> Iterator[PullInstruction]:
    """The next step of the commands to apply: those that cannot be carried out any more, and what is ready."""
    for command in look.record.commands:
        if command.state != "applying":
            continue
        why = apply_refusal(look, rules) if look.pull.state is PullState.OPEN else "The pull request is not open."
        if not why and command.head and command.head != look.pull.head:
            why = "The head commit is another one by now. Look at it before you write the command again."
        if why:
            refused = with_command(look.record, command.comment, state="refused", answer=why)
            yield Record(refused, (Say("command-refused", _about(command, look)),))
            return
        if look.ready is not None and look.ready.command == command.comment:
            yield _placed(look, rules, command, look.ready, now)
            return


def release_steps(look: Look, now: float) -> Iterator[PullInstruction]:
    """Minions go back when somebody says so, when it is closed, and after the merge when what is live has it."""
    applied = look.record.applied
    if applied is None or applied.released:
        return
    why, which = _ending(look, applied)
    if which:
        yield ReleaseHolds(which, why)
    elif not look.holds:
        over = now >= applied.until
        why = why or ("the time that the policy gives is over" if over else "somebody has released all minions")
        ended = replace(look.record, applied=replace(applied, released=why))
        yield Record(ended, (Say("released", {"head": applied.head, "why": why}),))


def watch_steps(look: Look, now: float) -> Iterator[PullInstruction]:
    """Look again at what becomes of it, and when its time is over."""
    applied = look.record.applied
    if applied is None or applied.released:
        return
    waits = look.applied is not None and not look.applied.complete
    later = next_look(applied.at, now) if now - applied.at < FIRST_SECONDS else now + LATER_SECONDS
    yield LookAgainAt(later if waits or look.pull.state is not PullState.OPEN else max(applied.until, now) + 1)


def _ending(look: Look, applied: AppliedHead) -> tuple[str, tuple[HoldRecord, ...]]:
    if look.pull.state is PullState.CLOSED:
        return "the pull request was closed", tuple(look.holds)
    if look.pull.state is PullState.MERGED:
        return "the pull request was merged", tuple(each for each in look.holds if each.minion in look.merged_minions)
    return applied.ending, tuple(look.holds) if applied.ending else ()


def _placed(look: Look, rules: PullRules, command: CommandRecord, ready: ReadyDocuments, now: float) -> PlaceHolds:
    pull, documents, until = look.pull, ready.documents, now + rules.policy.apply_hold
    record = look.record
    name = f"{record.forge}:{record.project}#{record.number}"
    revision = hashlib.sha256(f"pull\0{name}\0{documents.trees.revision.digest}".encode()).hexdigest()
    holds = tuple(
        HoldRecord(
            minion=minion,
            digest=digest,
            revision=revision,
            forge=record.forge,
            project=record.project,
            number=record.number,
            head=pull.head,
            base=documents.base,
            user=command.user,
            at=now,
            until=until,
        )
        for minion, digest in documents.digests.items()
    )
    parsed = parse(command.text)
    applied = AppliedHead(
        head=pull.head,
        user=command.user,
        at=now,
        until=until,
        canary=isinstance(parsed, ApplyHead) and parsed.canary,
        revision=revision,
        minions=tuple(documents.digests),
    )
    done = with_command(record, command.comment, state="done")
    said = Say("applied", {**_about(command, look), "minions": len(holds), "until": until, "canary": applied.canary})
    return PlaceHolds(holds, documents, replace(done, applied=applied), (said,))


def _about(command: CommandRecord, look: Look) -> dict[str, str]:
    return {"user": command.user, "command": command.text, "head": look.pull.head}
