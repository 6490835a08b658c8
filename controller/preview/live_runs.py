"""Test runs of a preview: who is asked, what they say, and what of it their base would change as well.

Called by `preview` in the event loop, when all sides are compared.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import structs

from controller.jobs.jobs import Jobs
from controller.observe.push_check import pending_in
from controller.observe.run_text import requested
from controller.preview.comparison import Comparer, Comparison, TestRun
from controller.preview.live.drift_apart import drift_apart, in_doubt
from controller.preview.live.live_tests import NOT_KEPT, as_foretold, found_after, live_test
from controller.preview.live.sampling import sampled
from controller.preview.threads import PreviewThreads
from controller.reconcile.documents import Documents
from controller.reconcile.plan import with_needs
from controller.schema.minions import stock_agent
from controller.schema.reports import LiveTest, PreviewReport
from controller.schema.requests import PreviewQuestion
from controller.sessions.file_server import FileServer
from controller.store import RunRecord, Store
from gitfs.source import Trees
from highstate.desired import Desired
from options.limits import CountRefusal
from wire.messages import Preview, RunResult

TEST_SECONDS = 300.0
"""How long the connected minions are waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTestRuns:
    """Asks connected minions for test runs."""

    jobs: Jobs
    documents: Documents
    files: FileServer
    store: Store
    threads: PreviewThreads
    on_refusal: CountRefusal

    def is_connected(self, minion: str) -> bool:
        """Whether it can be asked."""
        return self.jobs.sessions.session(minion) is not None

    def chosen(
        self, question: PreviewQuestion, report: PreviewReport, found: Comparison, number: int
    ) -> dict[str, TestRun]:
        """Who is asked for a test run, and for which."""
        if question.live == "all":
            return found.tests
        # Who connected after it was compared has to wait for the next preview.
        kept = {minion for minion, test in found.tests.items() if test.document or found.full}
        connected = set(filter(self.is_connected, kept))
        return {minion: found.tests[minion] for minion in sampled(report.classes, connected, number)}

    async def drift_apart(
        self,
        comparer: Comparer,
        before: Trees,
        tests: Mapping[str, LiveTest],
        chosen: Mapping[str, TestRun],
        user: str,
    ) -> AsyncIterator[LiveTest]:
        """The tests in which the base would change something, too, with that apart."""
        again = await self.threads.run(self._again, tests, chosen)
        states: dict[str, Mapping[str, Any]] = {}
        async for minion, _, result in self.jobs.gather(await self._ask(comparer, before, again, user), TEST_SECONDS):
            states[minion] = result.states if result is not None else {}
        for minion, test in tests.items():
            yield as_foretold(drift_apart(test, chosen[minion].touched, states.get(minion, {})))

    def _again(self, tests: Mapping[str, LiveTest], chosen: Mapping[str, TestRun]) -> dict[str, TestRun]:
        """Test runs of the base, where a state of it is in doubt and its document is at hand."""
        again = {}
        for minion, test in tests.items():
            run = chosen[minion]
            document = self.documents.document(run.base_digest) if in_doubt(test, run.base_keys) else None
            if document is not None:
                keys = with_needs(in_doubt(test, run.base_keys), Desired.from_document(document))
                packed = msgspec.msgpack.encode(document)
                again[minion] = TestRun(digest=run.base_digest, document=packed, keys=keys)
        return again

    async def run(
        self, comparer: Comparer, after: Trees, chosen: Mapping[str, TestRun], user: str
    ) -> AsyncIterator[LiveTest]:
        """What each changed minion says about the change, as they come."""
        asked = await self._ask(comparer, after, chosen, user)
        for minion in chosen.keys() - asked:
            self.on_refusal("document-bytes")
            yield LiveTest(minion=minion, outcome="unreachable", summary=NOT_KEPT)
        async for minion, run_id, result in self.jobs.gather(asked, TEST_SECONDS):
            test, agent = live_test(minion, run_id, result), self._stock_agent(minion)
            said = chosen[minion], test.states
            states = await self.threads.run(comparer.with_uncertain, *said, salt=bool(agent))
            missed = await self.threads.run(self._missed, comparer, chosen[minion], minion, found_after(result))
            yield as_foretold(structs.replace(test, states=states, missed=missed, agent=agent))

    def _stock_agent(self, minion: str) -> str:
        session = self.jobs.sessions.session(minion)
        return stock_agent(session.agent) if session is not None else ""

    def _missed(self, comparer: Comparer, test: TestRun, minion: str, found: Mapping[str, Any]) -> dict[str, Any]:
        """What the check after the push would find there, and have applied."""
        if not found:
            return {}
        store = self.store
        [row] = store.minions.status([minion])
        known = pending_in(store, row.last_drift.run_id) if row.last_drift else frozenset[str]()
        return comparer.missed(test, found, known)

    async def _ask(
        self, comparer: Comparer, trees: Trees, tests: Mapping[str, TestRun], user: str
    ) -> dict[str, tuple[str, asyncio.Future[RunResult] | None]]:
        """Ask the minions for these test runs."""
        self.files.add_preview(trees.files)
        digests = {minion: session.held for minion in tests if (session := self.jobs.sessions.session(minion))}
        patches = await self.threads.run(comparer.patches, tests, digests, self.documents.document)
        asked = {}
        for minion, test in tests.items():
            if minion not in patches:
                continue
            run = RunRecord(
                run_id=self.jobs.ids.next(),
                minion=minion,
                kind="preview",
                created=self.jobs.clock(),
                revision=trees.revision.digest,
                digest=test.digest,
                keys=test.keys,
                test=True,
                reason=requested(f"preview {trees.revision.id}", user),
                user=user,
            )
            message = Preview(
                run_id=run.run_id,
                base=patches[minion].base,
                digest=test.digest,
                patch=patches[minion].patch,
                keys=test.keys,
                check=test.check,
            )
            asked[minion] = self.jobs.ask(run, message)
        return asked
