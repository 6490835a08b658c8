"""What moving from one ref to another would change: compiled for every minion, and planned by the connected ones.

Changes nothing: no document, no applied state, no live tree; only the test runs stand in the history. Called by the
service for `saltern preview`, and by pull requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ParamSpec, TypeAlias, TypeVar

import msgspec
from msgspec import structs

from controller.compilation.compile_messages import CompiledMinion, CompileRequest
from controller.compilation.compile_pool import CompileBudget
from controller.compilation.compile_requests import CompileRequests
from controller.compilation.dependency_index import DependencyIndex
from controller.config.limits import PreviewLimits
from controller.jobs.jobs import Jobs
from controller.jobs.targets import Targets
from controller.observe.push_check import pending_in
from controller.observe.redactor import Redactor
from controller.observe.run_text import requested
from controller.preview.comparison import Comparer, Comparison, TestRun
from controller.preview.contents.rendered_texts import RenderedTexts
from controller.preview.contents.sides import rendered_sides, top_targets
from controller.preview.contents.strangers import for_stranger, stranger_sides
from controller.preview.forecast import FleetGroup, groups_of_targets
from controller.preview.live.drift_apart import drift_apart, in_doubt
from controller.preview.live.head_documents import HeadDocuments, keep_documents
from controller.preview.live.live_facts import PreviewCompiles, with_facts
from controller.preview.live.live_tests import NOT_KEPT, found_after, live_test, with_tests
from controller.preview.live.sampling import sampled
from controller.preview.origins import Origins
from controller.preview.reporting import Known, completed
from controller.preview.repository_places import RepositoryPlaces
from controller.preview.sides.base_side import BaseSide, applied_side
from controller.preview.sides.batches import TOGETHER, batches_of
from controller.preview.sides.one_ahead import one_ahead
from controller.preview.sides.policies import SidePolicy, side_policy
from controller.preview.sides.scope import Scope, scope_of, stored_base
from controller.preview.timing import apply_timing
from controller.reconcile.documents import Documents
from controller.reconcile.plan import with_needs
from controller.reconcile.policy import Policy
from controller.reconcile.revision_sources import commits_of, moved_of, sources_of
from controller.reconcile.source_differences import SourceDifferences
from controller.schema.errors import ServiceError
from controller.schema.preview_stream import PreviewFinished, PreviewItem, PreviewProgress
from controller.schema.previews import MovedSource
from controller.schema.reports import ApplyTiming, LiveTest, PreviewReport
from controller.schema.requests import PreviewQuestion
from controller.schema.targets import TargetExpression
from controller.sessions.file_server import FileServer
from controller.store import MinionRecord, RunRecord, StatusRow
from gitfs.errors import UnknownRef
from gitfs.mirror.fetched import Fetched
from gitfs.source import MergedTrees, Revision, Source, Trees
from highstate.desired import Desired
from highstate.dummy_pillar import DummyPillar
from options.limits import CountRefusal
from wire.messages import Preview, RunResult

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")
_Compiled: TypeAlias = list[CompiledMinion]
_Pair: TypeAlias = tuple[_Compiled, _Compiled, Callable[[RenderedTexts], Awaitable[tuple[_Compiled, _Compiled]]]]
"""Bases and heads of the same minions, and what renders texts of both."""

TEST_SECONDS = 300.0
"""How long the connected minions are waited for."""
_NOTHING_SEEN = DummyPillar(key=b"")
"""For what is rendered without a pillar."""
FETCH_SECONDS = 30.0
"""How long remotes are waited for when a ref is not known."""


@dataclass(slots=True, kw_only=True)
class Previews:
    """Makes previews."""

    name: str
    """Of the controller, for reports."""
    source: Source
    targets: Targets
    compiles: PreviewCompiles
    """In processes for previews alone, so that live compiles wait for none."""
    requests: CompileRequests
    index: DependencyIndex
    """What the live documents were made of."""
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

    async def preview(self, question: PreviewQuestion, user: str = "") -> AsyncGenerator[PreviewItem, None]:
        """How far it is, then its report. All work ends when the generator is closed.

        Args:
            question: what is asked.
            user: who asks, for the history of test runs.

        Raises:
            ServiceError: nothing can be previewed, as too many are being made, or a ref is not there.
        """
        if self.running >= self.limits.at_once:
            self.on_refusal("at-once")
            raise ServiceError(
                "conflict", f"{self.running} previews are being made", hint="try again when one of them has ended"
            )
        live = question.live != "none" and not question.restricted
        keeps = (lambda _: True) if question.live == "all" else self._is_connected
        later = self.requests.language.opts.get("allow_py_renderer", True) is True
        later = later and (question.restricted or not self.run_programs)
        comparer = Comparer.of(
            self.redactor, threading.Event(), self.limits, live=live, keeps=keeps, python_later=later
        )
        self.running += 1
        try:
            async with contextlib.aclosing(self._items(comparer, question, user)) as items:
                async for item in items:
                    yield item
        finally:
            self.running -= 1
            comparer.gone.set()

    def _is_connected(self, minion: str) -> bool:
        return self.jobs.sessions.session(minion) is not None

    async def _items(
        self, comparer: Comparer, question: PreviewQuestion, user: str
    ) -> AsyncGenerator[PreviewItem, None]:
        began, made_at = time.monotonic(), self.jobs.clock()
        minions = await self._in_thread(self.targets.select, question.target or TargetExpression())
        sides = await self._sides(question)
        records = await self._in_thread(self.requests.known, set(minions))
        live = question.live != "none" and not question.restricted
        policies = await self._in_thread(self._policy, sides.before), await self._in_thread(self._policy, sides.after)
        rules = tuple((each.policy or self.requests.live.policy).previews for each in policies)
        dummies: DummyPillar | None = None
        if question.restricted:
            key = self.redactor.dummy_key
            sides, dummies = stranger_sides(sides, self.source, rules[0].public_pillar, key)
        before, after = sides.before, sides.after
        scope = await self._in_thread(
            scope_of, before, after, records, self.requests, self.index, (policies[0].policy, policies[1].policy)
        )
        rows = [] if dummies else await self._in_thread(self._status, scope.concerned)
        found = Comparison(minions=len(records), side=self._base_side(before, policies, rows))
        pairs = self._compiled((before, after), policies, scope, live=live, dummies=dummies)
        async with contextlib.aclosing(self._compare(comparer, found, (before, after), pairs)) as compared:
            async for done in compared:
                done += len(records) - len(scope.concerned)
                yield PreviewProgress(text="compiling", done=done, of=len(records))
        report = PreviewReport(
            controller=self.name,
            answers_at=await self._in_thread(self._answers_at, scope, live),
            made_at=made_at,
            base=_commit(before.revision, after.revision),
            head=_commit(after.revision, before.revision),
            merged=sides.merged,
            restricted=question.restricted,
            problems=(*sides.problems, *([policies[1].problem] if policies[1].problem else [])),
            timing=self._timing(found, policies, rows),
            moved=_moved(before.revision, after.revision),
            minions=len(records),
        )
        origins = await self._in_thread(self._origins, before, after)
        targets = await self._top_targets(before, records, policies[0]) if rules[0].group_targets else ()
        known = await self._in_thread(self._known, targets)
        report = await self._in_thread(
            completed, report, found, known, (rules[0], rules[1]), origins, (before.pillar, after.pillar)
        )
        tests: dict[str, LiveTest] = {}
        if live:
            chosen = self._chosen(question, report, found, rules[0].live)
            async for test in self._tests(comparer, after, chosen, user):
                tests[test.minion] = test
                yield PreviewProgress(text="test runs", done=len(tests), of=len(chosen))
            async for test in self._drift_apart(comparer, before, tests, chosen, user):
                tests[test.minion] = test
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
        sides = await self._sides(PreviewQuestion(base=base, head=head, merge=True))
        live = self.requests.live.trees
        if not sides.merged:
            raise ServiceError("conflict", "; ".join(sides.problems), hint="merge the base into the head")
        if live is None or commits_of(sides.before.revision) != commits_of(live.revision):
            raise ServiceError("conflict", f"{base} has moved", hint="try again after the next preview")
        policy = (await self._in_thread(self._policy, sides.after)).policy
        records = await self._in_thread(self.requests.known, set(minions))
        budget = CompileBudget(self.limits.timeouts)
        digests: dict[str, str] = {}
        for start in range(0, len(records), TOGETHER):
            some = records[start : start + TOGETHER]
            answers = await self.compiles.asked_anew([record.id for record in some])
            request = with_facts(self._request(sides.after, some, policy, None), answers)
            compiled = await self.compiles.compile(request, budget, ask=True)
            self.redactor.learn({each.minion_id: each.secrets for each in compiled})
            digests |= await self._in_thread(keep_documents, compiled, self.requests.store)
        before, after = sides.before.revision, sides.after.revision
        return HeadDocuments(
            base=_commit(before, after), head=_commit(after, before), digests=digests, trees=sides.after
        )

    def _answers_at(self, scope: Scope, live: bool) -> float:
        """Seconds since the epoch: the oldest recorded answer of a machine that is used; 0 when there is none."""
        here = self.jobs.sessions
        recorded = [each.id for each in scope.concerned if not (live and here.session(each.id) is not None)]
        asked_at = self.compiles.facts.asked_at() if recorded else {}
        return min((asked_at[minion] for minion in recorded if minion in asked_at), default=0.0)

    async def _top_targets(
        self, before: Trees, records: Sequence[MinionRecord], policy: SidePolicy
    ) -> tuple[tuple[str, str], ...]:
        request = self._request(before, records, policy.policy, _NOTHING_SEEN)
        return await top_targets(self.compiles, request, CompileBudget(self.limits.timeouts))

    def _known(self, targets: Sequence[tuple[str, str]]) -> Known:
        """The whole fleet, also when a few minions are asked for: a glob and a group mean all of them."""
        grains = {record.id: record.grains for record in self.requests.accepted()}
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

    def _origins(self, before: Trees, after: Trees) -> Origins:
        commits = self.source.newest_commits(before.revision, after.revision)
        earlier = commits_of(before.revision)
        moved = {
            remote: commit for remote, commit in commits_of(after.revision).items() if earlier.get(remote) != commit
        }
        places = RepositoryPlaces((before.files, after.files), (before.pillar, after.pillar), moved)
        return Origins(before.files, after.files, commits, places)

    async def _compare(
        self,
        comparer: Comparer,
        found: Comparison,
        sides: tuple[Trees, Trees],
        pairs: AsyncGenerator[_Pair, None],
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
                await self._in_thread(comparer.add, found, bases, heads, sources)
                await self._in_thread(comparer.add_rendered, found, *await render(comparer.texts))
                done += len(heads)
        if found.shortened or found.cut:
            self.on_refusal("change-bytes")
        if found.unrendered:
            self.on_refusal("rendered")

    async def _compiled(
        self,
        sides: tuple[Trees, Trees],
        policies: tuple[SidePolicy, SidePolicy],
        scope: Scope,
        *,
        live: bool,
        dummies: DummyPillar | None,
    ) -> AsyncGenerator[_Pair, None]:
        """Both sides of each batch. The next one is compiled while one is compared: no more documents are held."""
        budget = CompileBudget(self.limits.timeouts, self.limits.waiting_bytes)
        batches = await self._in_thread(batches_of, scope.concerned, self.index.shared_parts, self.compiles.processes)

        async def both(some: Sequence[MinionRecord]) -> _Pair:
            answers = await self.compiles.asked_anew([record.id for record in some]) if live else {}
            old, new = (
                with_facts(self._request(trees, some, each.policy, dummies), answers)
                for trees, each in zip(sides, policies, strict=True)
            )
            bases = await self._bases(old, scope, budget, live=live)
            heads = await self.compiles.compile(new, budget, ask=live)
            heads = [_comparable(base, head, budget) for base, head in zip(bases, heads, strict=True)]
            return bases, heads, partial(rendered_sides, self.compiles, (old, new), budget)

        async with contextlib.aclosing(one_ahead(partial(both, batch) for batch in batches)) as pairs:
            async for pair in pairs:
                yield pair
                budget.release((*pair[0], *pair[1]))
        if budget.spent:
            self.on_refusal("timeouts")
        if budget.refused:
            self.on_refusal("waiting-bytes")

    def _status(self, minions: Sequence[MinionRecord]) -> list[StatusRow]:
        """What these have applied; some at a time, as the event loop waits for a read that is under way."""
        ids = [minion.id for minion in minions]
        some = (ids[start : start + TOGETHER] for start in range(0, len(ids), TOGETHER))
        return [row for each in some for row in self.requests.store.minions.status(each)]

    def _policy(self, trees: Trees) -> SidePolicy:
        return side_policy(trees, self.limits, self.on_refusal)

    def _base_side(self, before: Trees, policies: tuple[SidePolicy, SidePolicy], rows: Sequence[StatusRow]) -> BaseSide:
        live, rules = self.requests.live.trees, self.requests.live.policy
        same = bool(rows) and live is not None and commits_of(before.revision) == commits_of(live.revision)
        return BaseSide(
            live=same or policies[0].refused,
            refused=policies[0].refused,
            applied={row.minion.id: applied_side(row, rules, policies[1].policy or rules) for row in rows},
            document=self._applied_document,
            checks=(policies[1].policy or rules).verify == "apply",
        )

    def _applied_document(self, digest: str) -> Desired | None:
        document = self.documents.document(digest)
        return None if document is None else Desired.from_document(document)

    def _timing(
        self, found: Comparison, policies: tuple[SidePolicy, SidePolicy], rows: Sequence[StatusRow]
    ) -> tuple[ApplyTiming, ...]:
        here, live = self.jobs.sessions, self.requests.live.policy
        return apply_timing(
            changed=found.tests.keys(),
            paused={row.minion.id for row in rows if row.minion.paused},
            connected={minion for minion in found.tests if here.session(minion) is not None},
            policies=(policies[0].policy or live, policies[1].policy or live),
            whole=found.whole,
            released=found.released,
            second_runs=found.second_runs,
        )

    async def _bases(
        self, request: CompileRequest, scope: Scope, budget: CompileBudget, *, live: bool
    ) -> list[CompiledMinion]:
        """The base of each minion of the request, from the store where it is there."""
        read = self.requests.store.documents.get
        kept = [scope.kept[each.id] for each in request.minions if each.id in scope.kept and request.dummies is None]
        stored = await self._in_thread(lambda: [stored_base(record, read) for record in kept])
        found = {each.minion_id: budget.admitted(each) for each in stored if each is not None}
        if rest := tuple(each for each in request.minions if each.id not in found):
            again = await self.compiles.compile(replace(request, minions=rest), budget, ask=live)
            found |= {each.minion_id: each for each in again}
        return [found[each.id] for each in request.minions]

    def _request(
        self, trees: Trees, records: Sequence[MinionRecord], policy: Policy | None, dummies: DummyPillar | None
    ) -> CompileRequest:
        """What is live runs as it does live. Nobody has approved another tree yet, be it the head or the base: what it
        brings may be rendered in the sandbox, but not run as a program, or in a process that compiles nothing else.
        """
        if trees.revision.digest == self.requests.live.digest:
            request = self.requests.request(trees, records)
            return request if dummies is None else for_stranger(request, dummies)
        programs = self.run_programs and dummies is None
        more = None if programs else {"allow_py_renderer": False}
        request = self.requests.request(trees, records, more, policy)
        request = replace(request, ends_process=programs)
        return request if dummies is None else for_stranger(request, dummies)

    def _found(self, question: PreviewQuestion) -> MergedTrees:
        """The trees that are compared; UnknownRef."""
        if question.merge:
            return self.source.merged(question.base, question.head)
        return MergedTrees(before=self.source.at(question.base), after=self.source.at(question.head), merged=False)

    async def _sides(self, question: PreviewQuestion) -> MergedTrees:
        with contextlib.suppress(UnknownRef):
            return await self._in_thread(self._found, question)
        await self._in_thread(self._fetch)  # it may have been pushed a moment ago
        try:
            return await self._in_thread(self._found, question)
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

    def _chosen(
        self, question: PreviewQuestion, report: PreviewReport, found: Comparison, number: int
    ) -> dict[str, TestRun]:
        """Who is asked for a test run, and for which."""
        if question.live == "all":
            return found.tests
        # Who connected after it was compared has to wait for the next preview.
        kept = {minion for minion, test in found.tests.items() if test.document or found.full}
        connected = set(filter(self._is_connected, kept))
        return {minion: found.tests[minion] for minion in sampled(report.classes, connected, number)}

    async def _drift_apart(
        self,
        comparer: Comparer,
        before: Trees,
        tests: Mapping[str, LiveTest],
        chosen: Mapping[str, TestRun],
        user: str,
    ) -> AsyncIterator[LiveTest]:
        """The tests in which the base would change something, too, with that apart."""
        again = await self._in_thread(self._again, tests, chosen)
        states: dict[str, Mapping[str, Any]] = {}
        async for minion, _, result in self.jobs.gather(await self._ask(comparer, before, again, user), TEST_SECONDS):
            states[minion] = result.states if result is not None else {}
        for minion, test in tests.items():
            yield drift_apart(test, chosen[minion].touched, states.get(minion, {}))

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

    async def _tests(
        self, comparer: Comparer, after: Trees, chosen: Mapping[str, TestRun], user: str
    ) -> AsyncIterator[LiveTest]:
        """What each changed minion says about the change, as they come."""
        asked = await self._ask(comparer, after, chosen, user)
        for minion in chosen.keys() - asked:
            self.on_refusal("document-bytes")
            yield LiveTest(minion=minion, outcome="unreachable", summary=NOT_KEPT)
        async for minion, run_id, result in self.jobs.gather(asked, TEST_SECONDS):
            test = live_test(minion, run_id, result)
            states = await self._in_thread(comparer.with_uncertain, chosen[minion], test.states)
            missed = await self._in_thread(self._missed, comparer, chosen[minion], minion, found_after(result))
            yield structs.replace(test, states=states, missed=missed)

    def _missed(self, comparer: Comparer, test: TestRun, minion: str, found: Mapping[str, Any]) -> dict[str, Any]:
        """What the check after the push would find there, and have applied."""
        if not found:
            return {}
        store = self.requests.store
        [row] = store.minions.status([minion])
        known = pending_in(store, row.last_drift.run_id) if row.last_drift else frozenset[str]()
        return comparer.missed(test, found, known)

    async def _ask(
        self, comparer: Comparer, trees: Trees, tests: Mapping[str, TestRun], user: str
    ) -> dict[str, tuple[str, asyncio.Future[RunResult] | None]]:
        """Ask the minions for these test runs."""
        self.files.add_preview(trees.files)
        digests = {minion: session.held for minion in tests if (session := self.jobs.sessions.session(minion))}
        patches = await self._in_thread(comparer.patches, tests, digests, self.documents.document)
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


def _comparable(base: CompiledMinion, head: CompiledMinion, budget: CompileBudget) -> CompiledMinion:
    """The head, or the error of a base that could not be held: without it, all of the head would seem to be new."""
    if head.minion_id not in budget.refused or base.ok or not head.ok:
        return head
    budget.release([head])
    return base


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
