"""What the fleet has not applied yet, and what drifted there: the same report as of a preview, of `saltern diff`.

Nothing is compiled: what minions have applied is compared with what they shall have, from the store. A minion that
holds something (`controller.reconcile.holds`) shall have that. Called by the service.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec import structs

from controller.preview.applied_documents import AppliedDocuments
from controller.preview.comparison import Comparer, Comparison
from controller.preview.folding import Fleet, folded
from controller.preview.live.drifted import drift_classes
from controller.preview.preview import Previews
from controller.preview.reporting import as_plan, completed
from controller.preview.sides.base_side import AppliedSide, BaseSide, applied_side, is_pending
from controller.preview.sides.batches import TOGETHER
from controller.preview.sides.policies import SidePolicy
from controller.preview.timing import apply_timing, waiting_for
from controller.reconcile.fleet_drift import FoundDrift
from controller.schema.errors import ServiceError
from controller.schema.preview_stream import PreviewFinished, PreviewItem, PreviewProgress
from controller.schema.reports import ApplyTiming, MinionErrors, PreviewReport
from controller.schema.targets import TargetExpression
from controller.store import MinionRecord, StatusRow
from gitfs.source import Trees
from highstate.types import Minion


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingChanges:
    """Makes these reports, within the limits of previews."""

    previews: Previews
    drifted: Callable[[Sequence[StatusRow]], Awaitable[Mapping[str, FoundDrift]]]
    """Minion -> what differs there; of those where something does."""

    async def report(self, target: TargetExpression | None) -> AsyncGenerator[PreviewItem, None]:
        """How far it is, then the report. All work ends when the generator is closed.

        ServiceError: nobody matches, nothing is live, or too many are being made.
        """
        previews = self.previews
        comparer = Comparer.of(previews.redactor, threading.Event(), previews.limits, live=False)
        with previews.one_more(comparer):
            async with contextlib.aclosing(self._items(comparer, target)) as items:
                async for item in items:
                    yield item

    async def _items(self, comparer: Comparer, target: TargetExpression | None) -> AsyncGenerator[PreviewItem, None]:
        previews, began = self.previews, time.monotonic()
        live = previews.requests.live.trees
        if live is None:
            raise ServiceError("conflict", "nothing is live yet", hint="`saltern remote list` says why")
        run = previews.threads.run
        target = target or TargetExpression()
        minions = await run(previews.targets.select, target, await previews.targets.hosts(target))
        records = {each.id: each for each in await run(previews.requests.known, set(minions))}
        rows = await run(self._rows, minions)
        found = Comparison(minions=len(rows), side=self._side(rows, records))
        found.broken.update(
            {row.minion.id: tuple((str(one), one.pos) for one in row.desired.errors)
             for row in rows if row.desired and row.desired.errors}
        )  # fmt: skip
        found.warned.update(
            {row.minion.id: tuple((str(one), one.pos) for one in row.desired.warnings)
             for row in rows if row.desired and row.desired.warnings}
        )  # fmt: skip
        pending = [row for row in rows if row.desired is not None and row.desired.generation and is_pending(row)]
        sides = AppliedDocuments(sides=previews.sides, source=previews.source, live=live)
        pairs = sides.pairs(pending, records)
        async with contextlib.aclosing(previews.compare(comparer, found, (live, live), pairs)) as compared:
            async for done in compared:
                yield PreviewProgress(text="comparing", done=done, of=len(pending))
        yield PreviewFinished(report=await self._report(found, live, rows, records, began))

    async def _report(
        self,
        found: Comparison,
        live: Trees,
        rows: Sequence[StatusRow],
        records: Mapping[str, MinionRecord],
        began: float,
    ) -> PreviewReport:
        previews, run = self.previews, self.previews.threads.run
        policy = SidePolicy(policy=previews.requests.live.policy)
        rules = previews.requests.live.policy.previews
        fleet = await run(previews.requests.accepted)
        targets = await previews.top_targets(live, fleet, policy) if rules.group_targets else ()
        known = await run(previews.fleet_of, fleet, targets)
        origins = await run(previews.origins, live, live)
        report = PreviewReport(
            controller=previews.name,
            made_at=previews.jobs.clock(),
            base="",
            head=live.revision.id,
            timing=self._timing(found, rows, records),
            minions=len(rows),
        )
        report = await run(completed, report, found, known, (rules, rules), origins, (live.pillar, live.pillar))
        drifted = await self.drifted(rows)
        everybody, grains = Fleet.of(known.grains), {minion: record.grains for minion, record in records.items()}
        with_states = {minion: each.states for minion, each in drifted.items() if each.states}
        touched = {*found.changes, *found.broken}
        return structs.replace(
            as_plan(report, moves_live=True),
            kind="pending",
            base=_applied_labels(rows, found),
            unchanged=len(rows) - len(touched),
            drift=await run(drift_classes, with_states, grains, everybody),
            notes=_notes(drifted, everybody),
            seconds=time.monotonic() - began,
        )

    def _rows(self, minions: Sequence[str]) -> list[StatusRow]:
        """Some at a time, as the event loop waits for a read that is under way."""
        some = (minions[start : start + TOGETHER] for start in range(0, len(minions), TOGETHER))
        return [row for each in some for row in self.previews.requests.store.minions.status(each)]

    def _side(self, rows: Sequence[StatusRow], records: Mapping[str, MinionRecord]) -> BaseSide:
        """Compared with what each has applied, whatever was live then."""
        live = self.previews.requests.live.policy
        return BaseSide(
            live=True,
            refused=False,
            applied={
                row.minion.id: _as_applied(row, applied_side(row, _minion(records[row.minion.id]), live, live))
                for row in rows
                if row.minion.id in records
            },
            document=self.previews.applied_document,
        )

    def _timing(
        self, found: Comparison, rows: Sequence[StatusRow], records: Mapping[str, MinionRecord]
    ) -> tuple[ApplyTiming, ...]:
        live, here, now = self.previews.requests.live.policy, self.previews.jobs.sessions, self.previews.jobs.clock()
        told = sorted({*found.tests, *found.rescheduled} & records.keys())
        return apply_timing(
            changed=found.tests.keys(),
            waiting=waiting_for(live, (_minion(records[minion]) for minion in told), now),
            paused={row.minion.id for row in rows if row.minion.paused},
            connected={minion for minion in found.tests if here.session(minion) is not None},
            policies=(live, live),
            now=now,
            whole=found.whole,
            released=(),
            second_runs=found.second_runs,
        )


def _as_applied(row: StatusRow, side: AppliedSide) -> AppliedSide:
    """The base of a pending change is what is applied: there is nothing else that would run with it."""
    digest = row.applied.digest if row.applied else ""
    return AppliedSide(digest=digest, whole=side.whole, checked=side.checked)


def _minion(record: MinionRecord) -> Minion:
    return Minion(id=record.id, grains=record.grains)


def _applied_labels(rows: Sequence[StatusRow], found: Comparison) -> str:
    """The revisions that minions with changes have applied, where these are few."""
    labels = dict.fromkeys(row.applied_label for row in rows if row.minion.id in found.changes and row.applied_label)
    return ", ".join(labels) if len(labels) <= 3 else f"{len(labels)} revisions"


def _notes(drifted: Mapping[str, FoundDrift], fleet: Fleet) -> tuple[MinionErrors, ...]:
    """What is no drift and is there all the same, with how to see it."""
    texts: dict[str, list[str]] = {}
    for minion, each in drifted.items():
        if each.ignored:
            texts.setdefault("something differs that saltern.yaml ignores", []).append(minion)
        if each.unnamed:
            texts.setdefault("no state names some of what states made there", []).append(minion)
    return tuple(
        MinionErrors(minions=tuple(ids), folded=folded(ids, fleet), texts=(f"{text} (saltern diff MINION)",))
        for text, ids in ((text, sorted(ids)) for text, ids in texts.items())
    )
