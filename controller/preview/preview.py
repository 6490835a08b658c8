"""What moving from one ref to another would change: compiled for every minion, and planned by the connected ones.

Changes nothing: no document, no applied state, no live tree; only the test runs stand in the history. Called by the
service for `saltern preview`, and by pull requests.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import structs

from controller.compilation.compile_requests import CompileRequests
from controller.compilation.workers.budget import CompileBudget
from controller.config.limits import PreviewLimits
from controller.jobs.jobs import Jobs
from controller.jobs.targets import Targets
from controller.observe.redactor import Redactor
from controller.preview.comparison import Comparer, Comparison
from controller.preview.contents.sides import top_targets
from controller.preview.contents.strangers import stranger_sides
from controller.preview.forecast import FleetGroup, groups_of_targets
from controller.preview.live.head_documents import HeadDocuments, keep_documents
from controller.preview.live.live_facts import with_facts
from controller.preview.live.live_tests import with_tests
from controller.preview.live_runs import LiveTestRuns
from controller.preview.origins import Origins
from controller.preview.pairs import Pair, SideCompiles
from controller.preview.reporting import Known, as_plan, completed
from controller.preview.repository_places import RepositoryPlaces
from controller.preview.sides.base_side import BaseSide, applied_side
from controller.preview.sides.batches import TOGETHER
from controller.preview.sides.policies import SidePolicy, side_policy
from controller.preview.sides.scope import Scope, scope_of
from controller.preview.sides.trees import SideTrees
from controller.preview.threads import PreviewThreads
from controller.preview.timing import apply_timing, waiting_for
from controller.reconcile.documents import Documents
from controller.reconcile.revision_sources import commits_of, moved_of, sources_of
from controller.reconcile.source_differences import SourceDifferences
from controller.schema.errors import ServiceError
from controller.schema.preview_stream import PreviewFinished, PreviewItem, PreviewProgress
from controller.schema.previews import MovedSource
from controller.schema.reports import ApplyTiming, LiveTest, PreviewReport
from controller.schema.requests import PreviewQuestion
from controller.schema.targets import TargetExpression
from controller.store import MinionRecord, StatusRow
from gitfs.source import MergedTrees, Revision, Source, Trees
from highstate.desired import Desired
from highstate.dummy_pillar import DummyPillar
from highstate.types import Minion
from options.limits import CountRefusal

_NOTHING_SEEN = DummyPillar(key=b"")
"""For what is rendered without a pillar."""


@dataclass(slots=True, kw_only=True)
class Previews:
    """Makes previews."""

    name: str
    """Of the controller, for reports."""
    source: Source
    trees: SideTrees
    sides: SideCompiles
    tests: LiveTestRuns
    targets: Targets
    requests: CompileRequests
    documents: Documents
    jobs: Jobs
    redactor: Redactor
    limits: PreviewLimits
    on_refusal: CountRefusal
    threads: PreviewThreads
    running: int = 0
    """Previews that are being made."""

    async def preview(
        self, question: PreviewQuestion, user: str = "", sides: MergedTrees | None = None
    ) -> AsyncGenerator[PreviewItem, None]:
        """How far it is, then its report. All work ends when the generator is closed.

        Args:
            question: what is asked.
            user: who asks, for the history of test runs.
            sides: the trees that are compared; None: those of the refs in the question.

        Raises:
            ServiceError: nothing can be previewed, as too many are being made, or a ref is not there.
        """
        live = question.live != "none" and not question.restricted
        keeps = (lambda _: True) if question.live == "all" else self.tests.is_connected
        later = self.requests.language.opts.get("allow_py_renderer", True) is True
        later = later and (question.restricted or not self.sides.run_programs)
        comparer = Comparer.of(
            self.redactor, threading.Event(), self.limits, live=live, keeps=keeps, python_later=later
        )
        with self.one_more(comparer):
            async with contextlib.aclosing(self._items(comparer, question, user, sides)) as items:
                async for item in items:
                    yield item

    @contextlib.contextmanager
    def one_more(self, comparer: Comparer) -> Iterator[None]:
        """Around one that is made; ServiceError when too many are."""
        if self.running >= self.limits.at_once:
            self.on_refusal("at-once")
            raise ServiceError(
                "conflict", f"{self.running} previews are being made", hint="try again when one of them has ended"
            )
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1
            comparer.gone.set()

    async def _items(
        self, comparer: Comparer, question: PreviewQuestion, user: str, given: MergedTrees | None
    ) -> AsyncGenerator[PreviewItem, None]:
        began, made_at = time.monotonic(), self.jobs.clock()
        target = question.target or TargetExpression()
        minions = await self.threads.run(self.targets.select, target, await self.targets.hosts(target))
        sides = given or await self.trees.sides(question)
        records = await self.threads.run(self.requests.known, set(minions))
        live = question.live != "none" and not question.restricted
        policies = await self.threads.run(self._policy, sides.before), await self.threads.run(self._policy, sides.after)
        rules = tuple((each.policy or self.requests.live.policy).previews for each in policies)
        dummies: DummyPillar | None = None
        if question.restricted:
            key = self.redactor.dummy_key
            sides, dummies = stranger_sides(sides, self.source, rules[0].public_pillar, key)
        before, after = sides.before, sides.after
        scope = await self.threads.run(
            scope_of, before, after, records, self.requests, self.sides.index, (policies[0].policy, policies[1].policy)
        )
        rows = [] if dummies else await self.threads.run(self._status, scope.concerned)
        concerned = {record.id: Minion(id=record.id, grains=record.grains) for record in scope.concerned}
        found = Comparison(minions=len(records), side=self._base_side(before, policies, rows, concerned))
        pairs = self.sides.pairs((before, after), policies, scope, live=live, dummies=dummies)
        async with contextlib.aclosing(self.compare(comparer, found, (before, after), pairs)) as compared:
            async for done in compared:
                done += len(records) - len(scope.concerned)
                yield PreviewProgress(text="compiling", done=done, of=len(records))
        report = PreviewReport(
            controller=self.name,
            answers_at=await self.threads.run(self._answers_at, scope, live),
            made_at=made_at,
            base=_commit(before.revision, after.revision),
            head=_commit(after.revision, before.revision),
            merged=sides.merged,
            restricted=question.restricted,
            problems=(*sides.problems, *([policies[1].problem] if policies[1].problem else [])),
            timing=self._timing(found, policies, rows, concerned),
            moved=_moved(before.revision, after.revision),
            minions=len(records),
        )
        origins = await self.threads.run(self.origins, before, after)
        targets = await self.top_targets(before, records, policies[0]) if rules[0].group_targets else ()
        fleet = records if question.target is None else await self.threads.run(self.requests.accepted)
        known = await self.threads.run(self.fleet_of, fleet, targets)
        report = await self.threads.run(
            completed, report, found, known, (rules[0], rules[1]), origins, (before.pillar, after.pillar)
        )
        tests: dict[str, LiveTest] = {}
        if live:
            chosen = self.tests.chosen(question, report, found, rules[0].live)
            async for test in self.tests.run(comparer, after, chosen, user):
                tests[test.minion] = test
                yield PreviewProgress(text="test runs", done=len(tests), of=len(chosen))
            async for test in self.tests.drift_apart(comparer, before, tests, chosen, user):
                tests[test.minion] = test
        if question.revisions:
            report = as_plan(report, moves_live=found.side.live)
        report = structs.replace(report, classes=with_tests(report.classes, tests), seconds=time.monotonic() - began)
        yield PreviewFinished(report=report)

    async def head_documents(self, base: str, head: str, minions: Sequence[str]) -> HeadDocuments:
        """The documents that minions would have after a merge into what is live; they are kept in the store.

        Args:
            base: branch that it is merged into.
            head: whole commit.
            minions: whose.

        Raises:
            ServiceError: it cannot be merged, the base is not what is live, or it does not compile for all of them.
        """
        sides = await self.trees.sides(PreviewQuestion(base=base, head=head, merge=True))
        live = self.requests.live.trees
        if not sides.merged:
            raise ServiceError("conflict", "; ".join(sides.problems), hint="merge the base into the head")
        if live is None or commits_of(sides.before.revision) != commits_of(live.revision):
            raise ServiceError("conflict", f"{base} has moved", hint="try again after the next preview")
        digests = await self._documents(sides.after, minions, trusted=False)
        before, after = sides.before.revision, sides.after.revision
        return HeadDocuments(
            base=_commit(before, after), head=_commit(after, before), digests=digests, trees=sides.after
        )

    async def documents_at(self, trees: Trees, minions: Sequence[str]) -> dict[str, str]:
        """The digests of the documents that minions have with trees that were live before; they are kept in the store.

        ServiceError: it does not compile for all of them. Minions that have never connected are left out.
        """
        return await self._documents(trees, minions, trusted=True)

    async def _documents(self, trees: Trees, minions: Sequence[str], *, trusted: bool) -> dict[str, str]:
        """`trusted`: whether the trees were live, so that they may run what live ones may."""
        policy = (await self.threads.run(self._policy, trees)).policy
        records = await self.threads.run(self.requests.known, set(minions))
        budget = CompileBudget(self.limits.timeouts)
        digests: dict[str, str] = {}
        for start in range(0, len(records), TOGETHER):
            some = records[start : start + TOGETHER]
            answers = await self.sides.compiles.asked_anew([record.id for record in some])
            request = (
                self.requests.request(trees, some, None, policy)
                if trusted
                else self.sides.request(trees, some, policy, None)
            )
            compiled = await self.sides.compiles.compile(with_facts(request, answers), budget, ask=True)
            self.redactor.learn({each.minion_id: each.secrets for each in compiled})
            digests |= await self.threads.run(keep_documents, compiled, self.requests.store)
        return digests

    def _answers_at(self, scope: Scope, live: bool) -> float:
        """Seconds since the epoch: the oldest recorded answer of a machine that is used; 0 when there is none."""
        here = self.jobs.sessions
        recorded = [each.id for each in scope.concerned if not (live and here.session(each.id) is not None)]
        asked_at = self.sides.compiles.facts.asked_at() if recorded else {}
        return min((asked_at[minion] for minion in recorded if minion in asked_at), default=0.0)

    async def top_targets(
        self, before: Trees, records: Sequence[MinionRecord], policy: SidePolicy
    ) -> tuple[tuple[str, str], ...]:
        """Targets of the top file, each with its matcher."""
        request = self.sides.request(before, records, policy.policy, _NOTHING_SEEN)
        return await top_targets(self.sides.compiles, request, CompileBudget(self.limits.timeouts))

    def fleet_of(self, fleet: Sequence[MinionRecord], targets: Sequence[tuple[str, str]]) -> Known:
        """The whole fleet, also when a few minions are asked for: a glob and a group mean all of them."""
        grains = {record.id: record.grains for record in fleet}
        groups = []
        for name in self.targets.nodegroups:
            groups.append(FleetGroup(f"nodegroup {name}", self._select(name, "nodegroup")))
        groups += groups_of_targets(targets, self._select)
        return Known(grains=grains, groups=[each for each in groups if len(each.minions) > 1])

    def _select(self, expression: str, kind: str) -> frozenset[str]:
        """The minions of a group; none where nobody is in it, or its target cannot be asked for."""
        with contextlib.suppress(ServiceError, msgspec.ValidationError):
            target = msgspec.convert({"kind": kind, "expression": expression}, TargetExpression)
            return frozenset(self.targets.select(target))
        return frozenset()

    def origins(self, before: Trees, after: Trees) -> Origins:
        """Finds where the states of a change are written."""
        commits = self.source.newest_commits(before.revision, after.revision)
        earlier = commits_of(before.revision)
        moved = {
            remote: commit for remote, commit in commits_of(after.revision).items() if earlier.get(remote) != commit
        }
        places = RepositoryPlaces((before.files, after.files), (before.pillar, after.pillar), moved)
        return Origins(before.files, after.files, commits, places)

    async def compare(
        self,
        comparer: Comparer,
        found: Comparison,
        sides: tuple[Trees, Trees],
        pairs: AsyncGenerator[Pair, None],
    ) -> AsyncGenerator[int, None]:
        """Compare both sides of each minion as they are compiled; gives how many are compared."""
        before, after = sides
        sources = SourceDifferences(
            lambda oid, length: after.files.blob_start(oid, length) or before.files.blob_start(oid, length)
        )
        done = 0
        async with contextlib.aclosing(pairs):
            async for bases, heads, render in pairs:
                yield done
                await self.threads.run(comparer.add, found, bases, heads, sources)
                await self.threads.run(comparer.add_rendered, found, *await render(comparer.texts))
                done += len(heads)
        if found.shortened or found.cut:
            self.on_refusal("change-bytes")
        if found.unrendered:
            self.on_refusal("rendered")

    def _status(self, minions: Sequence[MinionRecord]) -> list[StatusRow]:
        """What these have applied; some at a time, as the event loop waits for a read that is under way."""
        ids = [minion.id for minion in minions]
        some = (ids[start : start + TOGETHER] for start in range(0, len(ids), TOGETHER))
        return [row for each in some for row in self.requests.store.minions.status(each)]

    def _policy(self, trees: Trees) -> SidePolicy:
        return side_policy(trees, self.limits, self.on_refusal, self.targets.nodegroups)

    def _base_side(
        self,
        before: Trees,
        policies: tuple[SidePolicy, SidePolicy],
        rows: Sequence[StatusRow],
        known: Mapping[str, Minion],
    ) -> BaseSide:
        live, rules = self.requests.live.trees, self.requests.live.policy
        same = bool(rows) and live is not None and commits_of(before.revision) == commits_of(live.revision)
        return BaseSide(
            live=same or policies[0].refused,
            refused=policies[0].refused,
            applied={
                row.minion.id: applied_side(row, known[row.minion.id], rules, policies[1].policy or rules)
                for row in rows
            },
            document=self.applied_document,
        )

    def applied_document(self, digest: str) -> Desired | None:
        """A document of the store."""
        document = self.documents.document(digest)
        return None if document is None else Desired.from_document(document)

    def _timing(
        self,
        found: Comparison,
        policies: tuple[SidePolicy, SidePolicy],
        rows: Sequence[StatusRow],
        known: Mapping[str, Minion],
    ) -> tuple[ApplyTiming, ...]:
        here, live = self.jobs.sessions, self.requests.live.policy
        head, now = policies[1].policy or live, self.jobs.clock()
        told = {*found.tests, *found.rescheduled}
        minions = (known[minion] for minion in sorted(told & known.keys()))
        return apply_timing(
            changed=found.tests.keys(),
            waiting=waiting_for(head, minions, now),
            paused={row.minion.id for row in rows if row.minion.paused},
            connected={minion for minion in found.tests if here.session(minion) is not None},
            policies=(policies[0].policy or live, head),
            now=now,
            whole=found.whole,
            released=found.released,
            second_runs=found.second_runs,
        )


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


def _commit(revision: Revision, other: Revision) -> str:
    """The commit of the first remote that differs, else of the first."""
    commits, others = commits_of(revision), commits_of(other)
    differing = [commit for name, commit in commits.items() if others.get(name) != commit]
    return next(iter([*differing, *commits.values()]), revision.id)
