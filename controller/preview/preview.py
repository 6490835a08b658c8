"""What moving from one ref to another would change: compiled for every minion, and planned by the connected ones.

Changes nothing: no document, no applied state, no live tree; only the test runs stand in the history. Called by the
service for `saltern preview`, and by pull requests later.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import ParamSpec, TypeVar

from controller.compilation.compile_messages import CompileRequest
from controller.compilation.compile_pool import TimeoutBudget
from controller.compilation.compile_requests import CompileRequests
from controller.config.limits import PreviewLimits
from controller.jobs.jobs import Jobs
from controller.observe.redactor import Redactor
from controller.observe.run_text import count_states, requested, run_summary
from controller.preview.comparison import (
    Comparer,
    Comparison,
    broken_classes,
    changed_classes,
    unknown_classes,
    warned_classes,
)
from controller.preview.live_facts import PreviewCompiles
from controller.reconcile.documents import Documents
from controller.reconcile.policy import POLICY_FILE, Policy, PolicyInvalid, read_policy
from controller.reconcile.revision_sources import commits_of, moved_of, sources_of
from controller.reconcile.source_differences import SourceDifferences
from controller.schema.errors import ServiceError
from controller.schema.previews import (
    MovedSource,
    PreviewEvent,
    PreviewResult,
    PreviewStarted,
    PreviewSummary,
)
from controller.sessions.file_server import FileServer
from controller.store import MinionRecord, RunRecord
from gitfs.errors import UnknownRef
from gitfs.mirror.fetched import Fetched
from gitfs.source import Revision, Source, Trees
from options.limits import CountRefusal
from wire.messages import Preview, RunResult

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")

TEST_SECONDS = 300.0
"""How long the connected minions are waited for."""
FETCH_SECONDS = 30.0
"""How long remotes are waited for when a ref is not known."""
_TOGETHER = 50
"""Minions that are compiled and compared at a time."""
_NOT_KEPT = "not tested: the documents of this preview are larger than the limit (limits: preview: document_bytes)"


@dataclass(slots=True, kw_only=True)
class Previews:
    """Makes previews."""

    source: Source
    compiles: PreviewCompiles
    """In processes for previews alone, so that live compiles wait for none."""
    requests: CompileRequests
    documents: Documents
    jobs: Jobs
    redactor: Redactor
    files: FileServer
    run_programs: bool
    """Whether `#!py` and `#!mako` of trees that are not live are run."""
    limits: PreviewLimits
    on_refusal: CountRefusal
    threads: Executor
    """For previews alone: those of the loop are for what is live."""
    running: int = 0
    """Previews that are being made."""

    async def preview(
        self, base: str, head: str, minions: Sequence[str], *, live: bool, user: str = ""
    ) -> AsyncIterator[PreviewEvent]:
        """Counts first, then a class of equal changes each, then a result of each connected minion, then the sum.

        All work ends when the generator is closed.
        """
        if self.running >= self.limits.at_once:
            self.on_refusal("at-once")
            raise ServiceError(
                "conflict", f"{self.running} previews are being made", hint="try again when one of them has ended"
            )
        comparer = Comparer(self.redactor, threading.Event(), self.limits.document_bytes)
        self.running += 1
        try:
            async for event in self._events(comparer, base, head, minions, live=live, user=user):
                yield event
        finally:
            self.running -= 1
            comparer.gone.set()

    async def _events(
        self, comparer: Comparer, base: str, head: str, minions: Sequence[str], *, live: bool, user: str
    ) -> AsyncIterator[PreviewEvent]:
        began = time.monotonic()
        before, after = await self._trees(base), await self._trees(head)
        found = await self._compare(comparer, before, after, self.requests.known(set(minions)), live=live)
        classes = changed_classes(found)
        tests = await self._ask(comparer, after, found, user) if live else {}
        moved = _moved(before.revision, after.revision)
        yield PreviewStarted(
            base=moved[0].base if moved else before.revision.id,
            head=moved[0].head if moved else after.revision.id,
            moved=moved,
            minions=found.minions,
            changed=len(found.tests),
            unchanged=found.unchanged,
            broken=len(found.broken),
            unknown=len(found.unknown),
            classes=len(classes),
            testing=sum(1 for _, future in tests.values() if future is not None),
        )
        events: Iterable[PreviewEvent] = (
            *classes,
            *broken_classes(found),
            *unknown_classes(found),
            *warned_classes(found),
        )
        for event in events:
            yield event
        tested = failed = unreachable = 0
        for minion in found.tests.keys() - tests if live else ():
            self.on_refusal("document-bytes")
            unreachable += 1
            yield PreviewResult(minion=minion, outcome="unreachable", summary=_NOT_KEPT)
        async for minion, run_id, result in self.jobs.gather(tests, TEST_SECONDS):
            outcome = _tested(minion, run_id, result)
            tested += result is not None
            unreachable += result is None
            failed += outcome.outcome in ("failed", "error")
            yield outcome
        yield PreviewSummary(
            minions=found.minions,
            changed=len(found.tests),
            unchanged=found.unchanged,
            broken=len(found.broken),
            unknown=len(found.unknown),
            tested=tested,
            failed=failed,
            unreachable=unreachable,
            seconds=time.monotonic() - began,
        )

    async def _compare(
        self, comparer: Comparer, before: Trees, after: Trees, records: Sequence[MinionRecord], *, live: bool
    ) -> Comparison:
        """Both sides of each minion, some minions at a time: two documents of each are held, and no more."""
        sources = SourceDifferences(
            lambda oid, length: after.files.blob_start(oid, length) or before.files.blob_start(oid, length)
        )
        policies = [await self._in_thread(self._policy_of, trees) for trees in (before, after)]
        found, budget = Comparison(minions=len(records)), TimeoutBudget(self.limits.timeouts)
        for start in range(0, len(records), _TOGETHER):
            some = records[start : start + _TOGETHER]
            bases = await self.compiles.compile(self._request(before, some, policies[0]), budget, ask=live)
            heads = await self.compiles.compile(self._request(after, some, policies[1]), budget, ask=live)
            await self._in_thread(comparer.add, found, bases, heads, sources)
        if budget.spent:
            self.on_refusal("timeouts")
        return found

    def _policy_of(self, trees: Trees) -> Policy | None:
        """The policy that these trees bring; None, so that the live one holds, where it cannot be read."""
        try:
            if len(trees.files.read(POLICY_FILE)) > self.limits.policy_bytes:
                self.on_refusal("policy-bytes")
                return None
            return read_policy(trees.files)
        except FileNotFoundError:
            return Policy()
        except PolicyInvalid:
            return None

    def _request(self, trees: Trees, records: Sequence[MinionRecord], policy: Policy | None) -> CompileRequest:
        """What is live runs as it does live. Nobody has approved another tree yet, be it the head or the base: what it
        brings may be rendered in the sandbox, but not run as a program, or in a process that compiles nothing else.
        """
        if trees.revision.digest == self.requests.live.digest:
            return self.requests.request(trees, records)
        more = None if self.run_programs else {"allow_py_renderer": False}
        request = self.requests.request(trees, records, more, policy)
        return replace(request, ends_process=self.run_programs)

    async def _trees(self, ref: str) -> Trees:
        with contextlib.suppress(UnknownRef):
            return await self._in_thread(self.source.at, ref)
        await self._in_thread(self._fetch)  # it may have been pushed a moment ago
        try:
            return await self._in_thread(self.source.at, ref)
        except UnknownRef as error:
            raise ServiceError("not-found", str(error), hint="`saltern remote list` shows what is fetched") from error

    def _fetch(self) -> None:
        """Bring what the remotes have now; what that means for live trees is for the next notice of each remote."""
        for fetched in self.source.fetch(patience=FETCH_SECONDS):
            if isinstance(fetched, Fetched) and fetched.changed:
                self.source.on_news(fetched.remote)

    async def _in_thread(
        self, function: Callable[_Args, _Result], *args: _Args.args, **kwargs: _Args.kwargs
    ) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self.threads, partial(function, *args, **kwargs))

    async def _ask(
        self, comparer: Comparer, after: Trees, found: Comparison, user: str
    ) -> dict[str, tuple[str, asyncio.Future[RunResult] | None]]:
        """Ask the changed minions for a test run of the chunks that change."""
        self.files.add_preview(after.files)
        digests = {minion: session.held for minion in found.tests if (session := self.jobs.sessions.session(minion))}
        patches = await self._in_thread(comparer.patches, found, digests, self.documents.document)
        asked = {}
        for minion, test in found.tests.items():
            if minion not in patches:
                continue
            run = RunRecord(
                run_id=self.jobs.ids.next(),
                minion=minion,
                kind="preview",
                created=self.jobs.clock(),
                revision=after.revision.digest,
                digest=test.digest,
                keys=test.keys,
                test=True,
                reason=requested(f"preview {after.revision.id}", user),
                user=user,
            )
            message = Preview(
                run_id=run.run_id,
                base=patches[minion].base,
                digest=test.digest,
                patch=patches[minion].patch,
                keys=test.keys,
            )
            asked[minion] = self.jobs.ask(run, message)
        return asked


def _moved(before: Revision, after: Revision) -> tuple[MovedSource, ...]:
    return tuple(
        MovedSource(
            remote=source.remotes[0],
            base=source.before[:8],
            head=source.commit[:8],
            author=source.author,
            subject=source.subject,
        )
        for source in moved_of(sources_of(after, commits_of(before)))
    )


def _tested(minion: str, run_id: str, result: RunResult | None) -> PreviewResult:
    if result is None:
        why = "did not answer in time" if run_id else "not connected: nothing was tested there"
        return PreviewResult(minion=minion, outcome="unreachable", run_id=run_id, summary=why)
    changes, failed = count_states(result.states)
    return PreviewResult(
        minion=minion,
        outcome=result.outcome,
        run_id=run_id,
        changes=changes,
        failed=failed,
        summary=run_summary(result.states, result.error),
        states=result.states,
    )
