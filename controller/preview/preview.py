"""What moving from one ref to another would change: compiled for every minion, and planned by the connected ones.

Changes nothing: no document, no applied state, no live tree; only the test runs stand in the history. Called by the
service for `saltern preview`, and by pull requests later.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from controller.api.schema import (
    PreviewBroken,
    PreviewClass,
    PreviewEvent,
    PreviewResult,
    PreviewStarted,
    PreviewSummary,
    PreviewWarned,
    ServiceError,
)
from controller.compilation.compile_pool import CompilePort
from controller.compilation.compile_requests import CompileRequests
from controller.compilation.compile_worker import CompiledMinion
from controller.observe.plan_text import change_views, count_states, plan_text, run_summary
from controller.observe.redactor import Redactor
from controller.reconcile.documents import Documents
from controller.reconcile.plan import PushPlan, plan
from controller.sessions.file_server import FileServer
from controller.sessions.jobs import Jobs
from controller.store import MinionRecord, RunRecord
from gitfs.errors import UnknownRef
from gitfs.source import Source, Trees
from highstate.desired import Desired
from wire import patch
from wire.messages import Preview, RunResult

TEST_SECONDS = 300.0
"""How long the connected minions are waited for."""


@dataclass(slots=True)
class _Sides:
    """What both refs mean for the minions."""

    minions: list[str]
    plans: dict[str, PushPlan] = field(default_factory=dict)
    """Of the minions for which something changes."""
    heads: dict[str, CompiledMinion] = field(default_factory=dict)
    broken: dict[str, tuple[str, ...]] = field(default_factory=dict)
    warned: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Warnings of the head that the base has not."""


@dataclass(slots=True, kw_only=True)
class Previews:
    """Makes previews."""

    source: Source
    compiler: CompilePort
    requests: CompileRequests
    documents: Documents
    jobs: Jobs
    redactor: Redactor
    files: FileServer
    run_programs: bool
    """Whether `#!py` and `#!mako` of a head are run."""

    async def preview(self, base: str, head: str, minions: Sequence[str], *, live: bool) -> AsyncIterator[PreviewEvent]:
        """Counts first, then a class of equal changes each, then a result of each connected minion, then the sum."""
        began = time.monotonic()
        before, after = await self._trees(base), await self._trees(head)
        records = self.requests.known(set(minions))
        sides = await self._compile(before, after, records)
        classes = self._classes(sides.plans)
        tests = self._ask(after, sides) if live else {}
        yield PreviewStarted(
            base=before.revision.id,
            head=after.revision.id,
            minions=len(records),
            changed=len(sides.plans),
            unchanged=len(records) - len(sides.plans) - len(sides.broken),
            broken=len(sides.broken),
            classes=len(classes),
            testing=sum(1 for _, future in tests.values() if future is not None),
        )
        for text, ids in classes.items():
            changes = change_views(sides.plans[ids[0]], self.redactor.of(ids[0]))
            yield PreviewClass(minions=tuple(ids), text=text, changes=changes)
        for errors, ids in _grouped(sides.broken).items():
            yield PreviewBroken(minions=tuple(ids), errors=errors)
        for warnings, ids in _grouped(sides.warned).items():
            yield PreviewWarned(minions=tuple(ids), warnings=warnings)
        tested = failed = unreachable = 0
        async for minion, run_id, result in self.jobs.gather(tests, TEST_SECONDS):
            outcome = _tested(minion, run_id, result)
            tested += result is not None
            unreachable += result is None
            failed += outcome.outcome in ("failed", "error")
            yield outcome
        yield PreviewSummary(
            minions=len(records),
            changed=len(sides.plans),
            unchanged=len(records) - len(sides.plans) - len(sides.broken),
            broken=len(sides.broken),
            tested=tested,
            failed=failed,
            unreachable=unreachable,
            seconds=time.monotonic() - began,
        )

    def _classes(self, plans: Mapping[str, PushPlan]) -> dict[str, list[str]]:
        """Minions by the text of their plan, the largest group first."""
        return _grouped({minion: plan_text(changes, self.redactor.of(minion)) for minion, changes in plans.items()})

    async def _trees(self, ref: str) -> Trees:
        try:
            return await asyncio.to_thread(self.source.at, ref)
        except UnknownRef as error:
            raise ServiceError("not-found", str(error), hint="`saltern remote list` shows what is fetched") from error

    async def _compile(self, before: Trees, after: Trees, records: Sequence[MinionRecord]) -> _Sides:
        bases = await self.compiler.compile(self.requests.request(before, records))
        # Nobody has approved the head yet: what it brings may be rendered in the sandbox, but not run as a program.
        more = None if self.run_programs else {"allow_py_renderer": False}
        heads = await self.compiler.compile(self.requests.request(after, records, more))
        sides = _Sides([record.id for record in records])
        for each in (*bases, *heads):
            self.redactor.add_for_preview(each.minion_id, each.secrets)
        for old, new in zip(map(self.redactor.compiled, bases), map(self.redactor.compiled, heads), strict=True):
            if fresh := tuple(str(one) for one in new.warnings if one not in old.warnings):
                sides.warned[new.minion_id] = fresh
            if not new.ok:
                sides.broken[new.minion_id] = tuple(str(problem) for problem in new.errors)
                continue
            changes = plan(_desired(old) if old.ok else None, _desired(new))
            if not changes.empty:
                sides.plans[new.minion_id] = changes
                sides.heads[new.minion_id] = new
        return sides

    def _ask(self, after: Trees, sides: _Sides) -> dict[str, tuple[str, asyncio.Future[RunResult] | None]]:
        """Ask the changed minions for a test run of the chunks that change."""
        self.files.add_preview(after.files)
        asked = {}
        for minion, changes in sides.plans.items():
            head = sides.heads[minion]
            session = self.jobs.sessions.session(minion)
            held = self.documents.document(session.held) if session else None
            new = msgspec.msgpack.decode(head.document)
            run = RunRecord(
                run_id=self.jobs.ids.next(),
                minion=minion,
                kind="preview",
                created=self.jobs.clock(),
                revision=after.revision.digest,
                digest=head.digest,
                keys=changes.run,
                test=True,
                cause=f"preview {after.revision.id}",
            )
            message = Preview(
                run_id=run.run_id,
                base=session.held if session and held is not None else "",
                digest=head.digest,
                patch=["v", new] if held is None else patch.diff(held, new),
                keys=changes.run,
            )
            asked[minion] = self.jobs.ask(run, message)
        return asked


def _desired(compiled: CompiledMinion) -> Desired:
    document: Any = msgspec.msgpack.decode(compiled.document)
    return Desired.from_document(document)


def _grouped(values: Mapping[str, Any]) -> dict[Any, list[str]]:
    groups: dict[Any, list[str]] = {}
    for minion, value in values.items():
        groups.setdefault(value, []).append(minion)
    return dict(sorted(groups.items(), key=lambda group: (-len(group[1]), group[1])))


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
