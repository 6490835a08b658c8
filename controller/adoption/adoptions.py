"""The way of `saltern adopt`: ask the machine, change the trees in memory, make a commit, try it, push it.

1. The states are those that are named, or that drifted; the minion is asked what it has of them.
2. What differs is written where git says otherwise (`edits`), and a commit of it is made in the mirror, in a process;
   no ref names it, so that nothing of it can go live.
3. Two previews of that commit say what it changes in the fleet, and whether the drift is gone on the machine: the
   minion plans the adopted states with it. States of which that is not true are refused, and the rest is made anew.
4. With `push` the commit goes to its remote as a new branch, in a process with a deadline, with credentials for that.

Called by the service. Decides nothing that the modules below it decide.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from msgspec import structs

from controller.adoption.branch import (
    BadAuthor,
    BadBranch,
    author_of,
    branch_of,
    checked_branch,
    committer_of,
    digest_of,
    message_of,
    own_message,
)
from controller.adoption.differences import Difference, differences
from controller.adoption.edits import RepositoryFiles, TreeEditor
from controller.adoption.expected import expected_content, refuse_unshown, secret_in
from controller.adoption.machine_state import ALLOWED, machine_state, questions_of
from controller.adoption.refusal import NotAdopted
from controller.adoption.verification import effects, others_in, refuse_broken, still_drifting
from controller.compilation.compile_messages import RenderQuestion
from controller.compilation.fact_queries import FactQueries
from controller.compilation.workers.budget import CompileBudget
from controller.config.limits import AdoptionLimits
from controller.observe.blame import Blamer
from controller.preview.contents.sides import rendering
from controller.preview.preview import Previews
from controller.reconcile.status import Status, is_named
from controller.schema.errors import ServiceError
from controller.schema.fleet.adoption import (
    AdoptCommit,
    AdoptedState,
    AdoptEffect,
    AdoptQuestion,
    AdoptView,
    RefusedState,
)
from controller.schema.preview_stream import PreviewFinished
from controller.schema.reports import PreviewReport
from controller.schema.requests import PreviewQuestion
from controller.schema.targets import TargetExpression
from gitfs.config.urls import redact
from gitfs.errors import FetchFailed
from gitfs.mirror.file_commits import CommitIdentity, EditedCommit, FileEdits
from gitfs.source import MergedTrees, Source, Trees
from highstate.desired import Desired
from highstate.redaction import Redaction
from highstate.types import Chunk, Value
from options.limits import CountRefusal

_ROUNDS = 3
"""Commits that are tried: each time without the states that still drifted."""


@dataclass(slots=True, kw_only=True)
class _Asked:
    """One adoption that is under way."""

    question: AdoptQuestion
    user: str
    author: CommitIdentity
    trees: Trees
    desired: Desired
    redaction: Redaction
    evidence: Mapping[str, Mapping[str, object]]
    unchanged: list[str] = field(default_factory=list)
    refused: dict[str, RefusedState] = field(default_factory=dict)

    def refuse(self, key: str, error: NotAdopted) -> None:
        """A state stays as git has it; what is told of it holds no secret."""
        told = map(self.redaction.text, (error.why, error.hint, error.diff))
        why, hint, diff = told
        self.refused[key] = RefusedState(key=self.redaction.text(key), why=why, hint=hint, diff=diff)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What was made of some states."""

    adopted: tuple[AdoptedState, ...] = ()
    commits: tuple[tuple[str, AdoptCommit], ...] = ()
    """With the mirror of each."""
    effects: tuple[AdoptEffect, ...] = ()


@dataclass(slots=True, kw_only=True)
class Adoptions:
    """Makes commits of what machines have."""

    reports: Status
    source: Source
    previews: Previews
    facts: FactQueries
    limits: AdoptionLimits
    on_refusal: CountRefusal
    clock: Callable[[], float]
    page: Callable[[str, str, str, str], str]
    """Where a pull request is opened: name and URL of a remote, base, branch -> URL or nothing."""
    running: int = 0
    """That are under way."""

    async def adopt(self, question: AdoptQuestion, user: str) -> AdoptView:
        """See `ControllerApi`."""
        if self.running >= self.limits.at_once:
            self.on_refusal("at-once")
            raise ServiceError(
                "conflict", f"{self.running} adoptions are under way", hint="try again when one has ended"
            )
        self.running += 1
        try:
            asked, keys = await self._asked(question, user)
            found = await self._differences(asked, keys)
            made = await self._made(asked, found)
            commits = await self._pushed(asked, made)
        finally:
            self.running -= 1
        return AdoptView(
            minion=question.minion,
            adopted=made.adopted,
            refused=tuple(asked.refused.values()),
            unchanged=tuple(map(asked.redaction.text, asked.unchanged)),
            commits=tuple(commits),
            effects=made.effects,
        )

    async def _asked(self, question: AdoptQuestion, user: str) -> tuple[_Asked, list[str]]:
        """What is needed for the question, and the keys of the states that are meant."""
        try:
            author = author_of(question.author, user, self.previews.name)
            if question.branch:
                checked_branch(question.branch, self.source.remotes)
        except (BadAuthor, BadBranch) as error:
            raise ServiceError("bad-request", str(error)) from None
        row, trees = self.reports.known(question.minion), self.previews.requests.live.trees
        if row.desired is None or not row.desired.digest or trees is None:
            hint = f"`saltern status {question.minion}` says why"
            raise ServiceError("not-found", f"nothing was compiled for {question.minion} yet", hint=hint)
        if row.desired.errors:
            problems = [str(each) for each in row.desired.errors]
            raise ServiceError("compile", f"the trees do not compile for {question.minion}", problems=problems)
        if self.facts.sessions.session(question.minion) is None:
            raise ServiceError("conflict", f"{question.minion} is not connected", hint="it is asked what it has now")
        desired = await asyncio.to_thread(self.reports.documents.desired, row.desired.digest)
        states = await asyncio.to_thread(self.reports.why_states, row, None)
        evidence = {each.key: each.evidence for each in states}
        asked = _Asked(
            question=question, user=user, author=author, trees=trees, desired=desired,
            redaction=self.reports.redactor.of(question.minion), evidence=evidence,
        )  # fmt: skip
        return asked, await self._keys(question, desired)

    async def _keys(self, question: AdoptQuestion, desired: Desired) -> list[str]:
        if question.state is not None:
            keys = [key for key in desired.chunks if is_named(key, question.state)]
            if not keys:
                hint = f"`saltern diff {question.minion}` lists what drifted"
                raise ServiceError("not-found", f"{question.minion} has no state {question.state!r}", hint=hint)
        else:
            [diff] = await self.reports.diff([question.minion])
            keys = [each.key for each in diff.drift if each.key in desired.chunks]
        if len(keys) > self.limits.states:
            self.on_refusal("states")
            raise ServiceError(
                "bad-request", f"{len(keys)} states are meant; {self.limits.states} at most (limit states)"
            )
        return keys

    async def _differences(self, asked: _Asked, keys: Sequence[str]) -> dict[str, tuple[Difference, ...]]:
        """Key -> what the machine has otherwise; the other states are noted in `asked`."""
        found: dict[str, tuple[Difference, ...]] = {}
        for key in keys:
            try:
                differing = await self._of_state(asked, key, asked.desired.chunks[key])
            except NotAdopted as error:
                asked.refuse(key, error)
                continue
            if differing:
                found[key] = differing
            else:
                asked.unchanged.append(key)
        return found

    async def _of_state(self, asked: _Asked, key: str, chunk: Chunk) -> tuple[Difference, ...]:
        queries = questions_of(chunk, self.limits.file_bytes)
        refuse_unshown(chunk, asked.redaction)
        answers = await self.facts.ask(asked.question.minion, queries, ALLOWED)
        now = machine_state(chunk, queries, answers)
        rendered = await self._rendered(asked, key, chunk)
        content = await self.previews.threads.run(expected_content, chunk, asked.desired, asked.trees, rendered)
        differing = differences(chunk, now, content)
        if any(secret_in(asked.redaction, each.wanted) or secret_in(asked.redaction, each.found) for each in differing):
            raise NotAdopted("it holds a secret, which is not written to git", "change it where secrets are kept")
        return differing

    async def _rendered(self, asked: _Asked, key: str, chunk: Chunk) -> str | None:
        """The text of the template of a state, as it is rendered for the minion; None where there is none."""
        arguments = chunk.arguments
        if chunk.state != "file" or not arguments.get("template") or arguments.get("source") is None:
            return None
        records = await self.previews.threads.run(self.previews.requests.known, {asked.question.minion})
        request = self.previews.sides.request(asked.trees, records, None, None)
        question = RenderQuestion(pillar=asked.desired.pillar, chunks={key: chunk})
        budget = CompileBudget(self.previews.limits.timeouts)
        wanted = rendering(request, {asked.question.minion: question})
        compiled = await self.previews.sides.compiles.compile(wanted, budget, ask=False)
        files = [file for each in compiled for state in each.rendered for file in state.files]
        return next((file.text for file in files if file.name == chunk.name), None)

    async def _made(self, asked: _Asked, found: Mapping[str, tuple[Difference, ...]]) -> _Made:
        """The commits with all of these states that can be adopted together."""
        left = dict(found)
        for _ in range(_ROUNDS):
            texts = {key: await self._rendered(asked, key, asked.desired.chunks[key]) for key in left}
            editor, places = await self.previews.threads.run(self._edited, asked, left, texts)
            adopted = tuple(
                AdoptedState(key=asked.redaction.text(key), places=each, evidence=dict(asked.evidence.get(key, {})))
                for key, each in places.items()
            )
            if not adopted:
                break
            commits = await self._committed(asked, editor, adopted)
            drifting, effected = await self._tried(asked, commits, list(places))
            if not drifting:
                return _Made(adopted=adopted, commits=commits, effects=effected)
            for key, why in drifting.items():
                asked.refuse(
                    key, NotAdopted(why, "change it by hand: `saltern blame` says where its values are written")
                )
            left = {key: each for key, each in left.items() if key in places and key not in drifting}
        return _Made()

    def _edited(
        self, asked: _Asked, found: Mapping[str, tuple[Difference, ...]], texts: Mapping[str, str | None]
    ) -> tuple[TreeEditor, dict[str, tuple[str, ...]]]:
        """The trees with what these states differ in, and key -> where that was written. Runs in a thread."""
        while True:
            editor = TreeEditor(
                trees=asked.trees,
                blamer=Blamer(asked.trees, asked.desired),
                is_secret=lambda path, value: self._is_secret(asked.redaction, path, value),
            )
            places: dict[str, tuple[str, ...]] = {}
            try:
                for key, differing in found.items():
                    failing, chunk = key, asked.desired.chunks[key]
                    places[key] = tuple(editor.write(chunk, each, texts.get(key)) for each in differing)
            except NotAdopted as error:
                # What was written of it already must not stay: the others are written anew, without it.
                asked.refuse(failing, error)
                found = {key: each for key, each in found.items() if key != failing}
                continue
            return editor, places

    def _is_secret(self, redaction: Redaction, path: str, value: Value) -> bool:
        """Of this minion, or of any other: a machine may hold what is another's. Reads the store."""
        text = str(value)
        return secret_in(redaction, value, path) or self.reports.redactor.of_nobody(text) != text

    async def _committed(
        self, asked: _Asked, editor: TreeEditor, adopted: Sequence[AdoptedState]
    ) -> tuple[tuple[str, AdoptCommit], ...]:
        return tuple(
            [(mirror, await self._commit(asked, each, adopted)) for mirror, each in editor.repositories.items()]
        )

    async def _commit(self, asked: _Asked, changed: RepositoryFiles, adopted: Sequence[AdoptedState]) -> AdoptCommit:
        question, at, committer = asked.question, int(self.clock()), committer_of(self.previews.name)
        message = message_of(question.minion, adopted, list(changed.files), asked.user)
        if question.message:
            message = asked.redaction.text(own_message(question.message, asked.user))
        edits = FileEdits(
            base=changed.base, files=changed.files, message=message, author=asked.author, committer=committer, at=at
        )
        done = await self._edit(changed.mirror, edits)
        digest = digest_of(changed)
        branch = question.branch or branch_of(question.minion, adopted, digest)
        url = next((each.url for each, one in self.source.mirrors_of(changed.remote) if one.path == changed.mirror), "")
        base = asked.trees.revision.remotes[changed.remote].branch
        return AdoptCommit(
            remote=changed.remote, url=redact(url), base=changed.base, commit=done.commit, digest=digest,
            branch=branch, page=self.page(changed.remote, url, base, branch),
            author=_text(asked.author), committer=_text(committer),
            at=at, message=message, patch=done.patch, files=changed.files,
        )  # fmt: skip

    async def _edit(self, mirror: str, edits: FileEdits) -> EditedCommit:
        try:
            return await asyncio.to_thread(self.source.edit, mirror, edits)
        except FetchFailed as error:
            raise ServiceError("conflict", str(error), hint="change it by hand") from error

    async def _tried(
        self, asked: _Asked, commits: Sequence[tuple[str, AdoptCommit]], keys: Sequence[str]
    ) -> tuple[dict[str, str], tuple[AdoptEffect, ...]]:
        """The states that would still drift, and what else is changed."""
        heads = {commit.remote: commit.commit for _, commit in commits}
        after = await asyncio.to_thread(self.source.pinned, heads)
        sides = MergedTrees(before=asked.trees, after=after, merged=False)
        first, minion = commits[0][1], asked.question.minion
        ask = partial(PreviewQuestion, base=first.base, head=first.commit)
        fleet = await self._report(ask(live="none"), asked.user, sides)
        refuse_broken(fleet)
        target = TargetExpression(kind="list", expression=minion)
        own = await self._report(ask(live="all", target=target), asked.user, sides)
        return still_drifting(own, minion, keys), effects(fleet, own, minion, keys)

    async def _report(self, question: PreviewQuestion, user: str, sides: MergedTrees) -> PreviewReport:
        async with contextlib.aclosing(self.previews.preview(question, user, sides)) as items:
            async for item in items:
                if isinstance(item, PreviewFinished):
                    return item.report
        raise ServiceError("internal", "the preview of the commit has no report")

    async def _pushed(self, asked: _Asked, made: _Made) -> tuple[AdoptCommit, ...]:
        """The commits, pushed where that is asked for and nothing is in the way."""
        others = others_in(made.effects, asked.question.minion)
        commits = [(mirror, self._looked_at(asked, mirror, commit, others)) for mirror, commit in made.commits]
        if not asked.question.push:
            return tuple(commit for _, commit in commits)
        digests = {commit.digest for _, commit in commits}
        if asked.question.expected and set(asked.question.expected) != digests:
            raise ServiceError(
                "conflict",
                "what the machine has, or git, is another since it was shown; nothing was pushed",
                hint="look at it again",
            )
        if any(commit.obstacle for _, commit in commits):  # all repositories or none
            return tuple(
                structs.replace(commit, error=commit.obstacle or "another repository is not") for _, commit in commits
            )
        return tuple([await self._push(mirror, commit) for mirror, commit in commits])

    def _looked_at(self, asked: _Asked, mirror: str, commit: AdoptCommit, others: str) -> AdoptCommit:
        if others and not asked.question.shared:
            return structs.replace(commit, obstacle=f"it changes other minions, too: {others}; --shared takes that")
        if self.source.writable(commit.remote, mirror) is None:
            why = f"the controller has no way to write to {commit.remote}: set `push_url`, `push_privkey` or their like"
            return structs.replace(commit, obstacle=why)
        return commit

    async def _push(self, mirror: str, commit: AdoptCommit) -> AdoptCommit:
        try:
            await asyncio.to_thread(self.source.push, commit.remote, mirror, commit.commit, commit.branch)
        except FetchFailed as error:
            return structs.replace(commit, error=str(error))
        return structs.replace(commit, pushed=True)


def _text(signer: CommitIdentity) -> str:
    return f"{signer.name} <{signer.email}>"
