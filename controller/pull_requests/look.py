"""One look at one pull request: asks the forge what is true, decides, and carries it out until nothing is left to do.

Called by `reconciler`, one look of a pull request at a time. What came of each instruction is kept before the next one.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog
from msgspec import structs

from controller.forges.client import ForgeClient, ForgeComment, ForgeNotFound, Permission, PullRequest, PullState
from controller.pull_requests import decision, instructions, merge_steps, preview_steps
from controller.pull_requests.bodies import body_of
from controller.pull_requests.comment_steps import deleted
from controller.pull_requests.instructions import Look, PullInstruction, PullRules, ReadyDocuments, Say
from controller.pull_requests.keys import ROOM, CommentKeys
from controller.pull_requests.outcomes import Outcomes, predictions
from controller.pull_requests.preview_queue import Finished, PreviewQueue, PullKey
from controller.pull_requests.records import Records, ReportTooLarge
from controller.reconcile.holds import PullHolds, pull_name, revision_record
from controller.report.comment import CommentOptions, comment
from controller.schema.reports import MergeOutcome, PreviewReport
from controller.store import HoldRecord
from controller.store.holds import DocumentGone
from controller.store.pull_requests import PullRecord

log = structlog.get_logger("saltern.pulls")

_MOST_TIMES_ASKED = 3
"""Of the forge at the beginning of a look, while things happen there."""
_MOST_ROUNDS = 200
"""Of a look; more of them are a mistake of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedForge:
    """A forge as looks use it."""

    client: ForgeClient
    html: bool
    """Whether it hides HTML comments and folds `<details>`."""
    rules_of: Callable[[str], PullRules]
    """The rules for pull requests of a project, as its base says now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookParts:
    """What all looks share."""

    records: Records
    previews: PreviewQueue
    outcomes: Outcomes
    secret: bytes = field(repr=False)
    """For the keys of comments."""
    clock: Callable[[], float]
    predicted: Callable[[int, int], None]
    """Counts predictions that were kept and broken."""
    keep_report: Callable[[PreviewReport], Awaitable[str]]
    """Keeps a whole report for who has its address."""
    report_url: Callable[[PreviewReport], str]
    """The address; empty where reports are not shown."""
    base: Callable[[], str]
    """Names what is live of all remotes; empty while nothing is."""
    holds: PullHolds
    connected: Callable[[], frozenset[str]]
    """The minions that are connected."""
    endings: dict[PullKey, str] = field(default_factory=dict)
    """Why all minions were released here, of pull requests that were not looked at since: a look may be under way."""


class PullLook:
    """A look at a pull request.

    Args:
        parts: what all looks share.
        forge: that has it.
        key: of the pull request.
    """

    def __init__(self, parts: LookParts, forge: LookedForge, key: PullKey) -> None:
        self._parts = parts
        self._forge = forge
        self._key = key
        self._rules = forge.rules_of(key.project)
        self._record = parts.records.get(key)
        self._keys = CommentKeys(secret=parts.secret, html=forge.html, **key._asdict())
        self._permissions: dict[str, Permission] = {}
        self._comments: tuple[ForgeComment, ...] = ()
        self._report: PreviewReport | None = None
        self._outcome: MergeOutcome | None = None
        self._ready: ReadyDocuments | None = None
        self._body: tuple[object, str] = (None, "")

    async def run(self) -> float | None:
        """Do all that there is to do now; the time at which to look again, in seconds since the epoch, or None.

        Raises ForgeError and StoreError: then it is to be done later.
        """
        self._report = await self._parts.records.report(self._record)
        await self._take_preview()
        if self._record.state == "merged" and not self._record.settled and not await self._is_due():
            return merge_steps.next_look(self._record.merged_at, self._parts.clock())
        pull = await self._ask()
        if pull is None:
            return None
        for _ in range(_MOST_ROUNDS):
            decided = decision.decide(await self._look(pull), self._rules, self._parts.clock())
            todo = [each for each in decided if not isinstance(each, instructions.LookAgainAt)]
            if not todo:
                times = [each.time for each in decided if isinstance(each, instructions.LookAgainAt)]
                return min(times, default=None)
            for instruction in todo:
                await self._carry_out(instruction, pull)
        raise RuntimeError(f"{self._key}: no end of what is to be done")

    async def _ask(self) -> PullRequest | None:
        """What the forge has; None when there is no such pull request.

        Comments come first: whoever wrote one of them saw this head, or an older one. What happened between the two
        requests would never be seen, as a poll asks for what is newer than the pull request: so both are asked again
        while it is newer than before.
        """
        client, key, before = self._forge.client, self._key, self._record.updated
        try:
            for _ in range(_MOST_TIMES_ASKED):
                self._comments = tuple(await client.comments(key.project, key.number))
                pull = await client.pull_request(key.project, key.number)
                if pull.updated == before:
                    break
                before, last = pull.updated, before
            else:
                return dataclasses.replace(pull, updated=last)
            return pull
        except ForgeNotFound:
            if not decision.is_known(self._record):
                return None
            log.warning("pull request is gone", pull=str(key))
            self._parts.previews.cancel(key)
            self._parts.holds.release(self._parts.holds.of_pull(*key), "the pull request is gone")
            self._keep(decision.gone(self._record), (Say("gone"),))
            return None

    async def _is_due(self) -> bool:
        await self._read_outcome(self._record)
        look = await self._look(merge_steps.pull_of(self._record))
        return merge_steps.merge_is_due(look, self._parts.clock())

    async def _look(self, pull: PullRequest) -> Look:
        record = self._record
        if pull.state is PullState.MERGED and self._outcome is None and record.merged_at and not record.complete:
            await self._read_outcome(record)
        record = self._with_ending()
        look = Look(
            record=record,
            pull=pull,
            comments=self._comments,
            keys=self._keys,
            permissions=self._permissions,
            running=self._parts.previews.running(self._key),
            report=self._report,
            url="" if self._report is None else self._parts.report_url(self._report),
            base=self._parts.base(),
            outcome=self._outcome,
            ready=self._ready,
            **await self._applied(record),
        )
        return dataclasses.replace(look, body=await self._body_of(look))

    def _with_ending(self) -> PullRecord:
        """The record; it says why minions were released here since the last look."""
        why, applied = self._parts.endings.pop(self._key, ""), self._record.applied
        if why and applied is not None and not applied.released:
            self._keep(structs.replace(self._record, applied=structs.replace(applied, ending=why)))
        return self._record

    async def _applied(self, record: PullRecord) -> dict[str, Any]:
        """What is known of holds, for a look; nothing is read where nothing is applied, nor is to be."""
        wanted = any(each.state in ("open", "applying") for each in record.commands)
        if record.applied is None and not wanted:
            return {}
        holds = (*self._parts.holds.all(), *self._parts.holds.taken_back())
        own = tuple(each for each in holds if (each.forge, each.project, each.number) == self._key)
        found: dict[str, Any] = {
            "holds": own,
            "held_by_others": {
                each.minion: "" if each.rollback else pull_name(each) for each in holds if each not in own
            },
            "connected": self._parts.connected(),
        }
        if record.applied is not None:
            outcomes = self._parts.outcomes
            found["applied"] = await asyncio.to_thread(outcomes.applied, self._report, record.applied)
            if record.state == "merged":
                reached = outcomes.reached
                minions = [each.minion for each in own]
                found["merged_minions"] = await asyncio.to_thread(
                    reached, record.merge_commit, record.merged_at, minions
                )
        return found

    async def _read_outcome(self, record: PullRecord) -> None:
        if self._report is None or not record.merge_commit:
            return
        read = self._parts.outcomes.outcome
        self._outcome = await asyncio.to_thread(read, self._report, record, self._parts.clock())

    async def _body_of(self, look: Look) -> str:
        """The comment, made again only when something that it shows is another."""
        record, pull = look.record, look.pull
        shown = (
            record.previewed,
            record.allowed,
            record.head_at,
            pull.head,
            pull.state,
            pull.draft,
            look.outcome,
            look.applied,
        )
        if self._body[0] != shown:
            budget, html = self._forge.client.comment_bytes, self._forge.html
            self._body = shown, await asyncio.to_thread(body_of, look, self._rules, budget=budget, html=html)
        return self._body[1]

    async def _take_preview(self) -> None:
        """Keep what a preview gave since the last look."""
        finished = self._parts.previews.take(self._key)
        if finished is None:
            return
        if finished.documents is not None:
            self._ready = ReadyDocuments(finished.running.command, finished.documents)
            return
        if finished.running.command:
            await self._answer(finished)
            return
        failure, packed = finished.failure, None
        if finished.report is not None:
            try:
                packed = await self._parts.records.packed(finished.report)
            except ReportTooLarge as error:
                failure = str(error)
        record = preview_steps.previewed(self._record, finished.running, finished.report, failure, self._parts.clock())
        if record == self._record:
            return
        kept = packed if record.previewed == finished.running.preview else None
        if kept is not None and finished.report is not None:
            await self._parts.keep_report(finished.report)
        said = {"head": finished.running.preview.head, "failure": failure}
        self._keep(record, (Say("previewed" if kept else "preview-failed", said),), kept)
        self._report = finished.report if kept else self._report

    async def _answer(self, finished: Finished) -> None:
        what = "Nothing was applied" if finished.running.minions else "The preview could not be made"
        answer = f"{what}: {finished.failure}"
        if finished.report is not None:
            budget = self._forge.client.comment_bytes - ROOM
            options = CommentOptions(budget=budget, html=self._forge.html, commands=False)
            answer = _without_marker(await asyncio.to_thread(comment, finished.report, options))
        done = finished.report is not None
        self._keep(preview_steps.answered(self._record, finished.running.command, answer, done=done))

    async def _carry_out(self, instruction: PullInstruction, pull: PullRequest) -> None:
        said: tuple[Say, ...] = ()
        if isinstance(instruction, instructions.PlaceHolds):
            self._place(instruction)
            return
        try:
            made = await self._do(instruction)
        except ForgeNotFound:
            if not isinstance(instruction, instructions.EditComment):
                raise
            self._keep(deleted(self._record))
            return
        if isinstance(instruction, instructions.Record):
            said = instruction.said
            self._count(instruction)
        look = Look(record=self._record, pull=pull, comments=self._comments, keys=self._keys)
        self._keep(decision.carried_out(look, instruction, made), said)

    def _place(self, placed: instructions.PlaceHolds) -> None:
        """Kept together: that it is applied, and what minions hold. Killed before it, it is compiled again."""
        holds, self._ready = self._parts.holds, None
        revision = revision_record(placed.holds, placed.documents.trees.revision)
        dropped: list[HoldRecord] = []

        def also() -> None:
            dropped.extend(holds.put(placed.holds, revision))

        try:
            event = self._parts.records.put(placed.record, placed.said, also=also)
        except DocumentGone:
            return
        self._record = placed.record
        holds.began(placed.holds, placed.documents.trees.files, event)
        holds.released(dropped, "it is applied to others")

    async def _do(self, instruction: PullInstruction) -> str:
        """Do it at the forge or here; the id of a comment that was made."""
        client, (_, project, number) = self._forge.client, self._key
        match instruction:
            case instructions.AskPermission(user=user):
                self._permissions[user] = await client.permission(project, user)
            case instructions.StartPreview(running=running, target=target):
                self._parts.previews.start(self._key, running, target)
            case instructions.CancelPreview():
                self._parts.previews.cancel(self._key)
            case instructions.React(comment=number_of, reaction=reaction):
                await client.react(project, number, number_of, reaction)
            case instructions.PostAnswer(body=body):
                await self._create(body)
            case instructions.CreateComment(body=body):
                return await self._create(self._with_key(body))
            case instructions.EditComment(comment=edited, body=body):
                text = self._with_key(body)
                await client.edit_comment(project, number, edited, text)
                self._comments = tuple(
                    dataclasses.replace(each, body=text) if each.id == edited else each for each in self._comments
                )
            case instructions.HideComment(comment=hidden):
                await client.hide_comment(project, number, hidden)
            case instructions.ReleaseHolds(holds=holds, why=why):
                self._parts.holds.release(holds, why)
            case instructions.SetCheck(head=head, check=check):
                await client.set_check(project, head, check)
        return ""

    async def _create(self, body: str) -> str:
        made = await self._forge.client.create_comment(self._key.project, self._key.number, body)
        # As we posted it, whatever the forge made of it: the key is looked for in it.
        self._comments = (*self._comments, dataclasses.replace(made, body=body))
        return made.id

    def _with_key(self, body: str) -> str:
        return self._keys.with_key(body, self._keys.report(self._record.serial))

    def _count(self, instruction: instructions.Record) -> None:
        if self._outcome is not None and any(each.what == "completed" for each in instruction.said):
            self._parts.predicted(*predictions(self._outcome))

    def _keep(self, record: PullRecord, said: Sequence[Say] = (), report: bytes | None = None) -> None:
        if record != self._record or said or report is not None:
            self._parts.records.put(record, said, report)
            self._record = record


def _without_marker(text: str) -> str:
    """A report as an answer: the marker is for the comment that stands for the whole fleet."""
    return text.partition("\n")[2].lstrip("\n")
