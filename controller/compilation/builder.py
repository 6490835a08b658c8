"""From a compile request to stored documents: what is stored, and what is published of it.

Called by `BuildReconciler`, for one request at a time. Documents are stored as they come, and the reconciler is woken
for them. It decides nothing about what is compiled when, and nothing about runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Protocol

import msgspec
import structlog

from controller.compilation.answer_redaction import redact_answer
from controller.compilation.compile_messages import CompiledMinion, CompileRequest
from controller.compilation.compile_pool import CompilePort
from controller.compilation.dependencies.index import DependencyIndex
from controller.compilation.dependencies.kept import KeptBases
from controller.compilation.mine import MineStore
from controller.observe.metrics import Metrics
from controller.observe.redactor import Redactor
from controller.reconcile.emptied import emptied_warning, is_emptied_warning
from controller.store import DesiredRecord, Store
from extmods.store import modules_of
from gitfs.source import Revision
from highstate.files import parts_of
from highstate.tops.heard_tops import heard_tops
from highstate.types import Problem
from reactors.bus import Bus

log = structlog.get_logger("saltern.builder")

_LONGEST_ERROR = 500
"""Characters of the error that a list of revisions shows."""


class _Document(msgspec.Struct):
    """What is looked at in a stored document: the keys of its chunks."""

    chunks: dict[str, msgspec.Raw] = {}


class MinionQueue(Protocol):
    """The reconciler's queue."""

    def wake(self, minions: Iterable[str], cause: int = 0) -> None:
        """Look at these minions soon; `cause`: id of the event that this follows from."""


@dataclass(frozen=True, slots=True)
class BuildBatch:
    """Some of a request's outcomes."""

    stored: Sequence[CompiledMinion]
    unfinished: Sequence[CompiledMinion]
    """Compiles that lack answers of their minion. Nothing of them is stored."""


@dataclass(slots=True, kw_only=True)
class Builder:
    """Compiles minions and keeps what came out."""

    compiler: CompilePort
    store: Store
    bus: Bus
    metrics: Metrics
    clock: Callable[[], float]
    reconciler: MinionQueue
    mines: MineStore
    redactor: Redactor
    bases: KeptBases
    dependency_index: DependencyIndex = field(default_factory=DependencyIndex)

    async def compile(
        self, request: CompileRequest, revision: Revision, causes: Mapping[str, int]
    ) -> AsyncIterator[BuildBatch]:
        """Compile all minions of a request. What is stored already when an error ends this stays stored.

        Args:
            request: the minions, and the trees of the revision.
            revision: of the request.
            causes: minion -> id of the event that its compile follows from.
        """
        before = self.store.desired.of([minion.id for minion in request.minions])
        held = {minion: record.digest for minion, record in before.items() if record.digest}
        shaping = await asyncio.to_thread(shaping_of, request)
        await asyncio.to_thread(self.bases.prepare)
        grains = {minion.id: minion.grains for minion in request.minions}
        async with aclosing(self.compiler.stream(replace(request, held=held))) as batches:
            async for batch in batches:
                for answer in batch:
                    if answer.fleet_marks:
                        self.mines.record_marks(answer.minion_id, dict(answer.fleet_marks), self.clock())
                shown = await self._redacted(batch)
                final = [answer for answer in shown if answer.ok or not answer.unanswered]
                with self.store.transaction():
                    self.bases.keep(final, grains, shaping)
                    records = self._put(final, before, revision)
                self._tell(final, records, revision, causes)
                self.dependency_index.note(final, shaping)
                yield BuildBatch(final, [answer for answer in shown if not answer.ok and answer.unanswered])

    def store_errors(self, answer: CompiledMinion, revision: Revision, cause: int) -> None:
        """Store an unfinished compile, as `compile` gave it, as one that failed."""
        with self.store.transaction():
            self.bases.keep([answer], {}, None)
            records = self._put([answer], self.store.desired.of([answer.minion_id]), revision)
        self._tell([answer], records, revision, {answer.minion_id: cause})

    def carry_over(self, minions: Sequence[str], revision: Revision) -> None:
        """A revision leaves the documents of these minions as they are."""
        self.store.desired.carry_over(minions, revision.digest)
        self.metrics.carried_over(len(minions))

    async def _redacted(self, batch: Sequence[CompiledMinion]) -> Sequence[CompiledMinion]:
        """Answers that may be shown. Many texts are looked for in many: in a thread, where there are any."""
        self.redactor.learn({answer.minion_id: answer.secrets for answer in batch})
        if all(not answer.errors and not answer.warnings for answer in batch):
            return batch
        return await asyncio.to_thread(lambda: [redact_answer(answer, self.redactor) for answer in batch])

    def _put(
        self, batch: Sequence[CompiledMinion], before: Mapping[str, DesiredRecord], revision: Revision
    ) -> Sequence[DesiredRecord]:
        records = [self._record(answer, before.get(answer.minion_id), revision) for answer in batch]
        self.store.desired.put(records)
        if (wrong := next((answer for answer in batch if not answer.ok), None)) is not None:
            said = str(wrong.errors[0]).splitlines()[0]
            self.store.revisions.note_compile_error(revision.digest, f"{wrong.minion_id}: {said}"[:_LONGEST_ERROR])
        return records

    def _tell(
        self,
        batch: Sequence[CompiledMinion],
        records: Sequence[DesiredRecord],
        revision: Revision,
        causes: Mapping[str, int],
    ) -> None:
        for answer, record in zip(batch, records, strict=True):
            event = self._announce(answer, record, revision.id, causes.get(record.minion, 0))
            self.reconciler.wake([record.minion], cause=event)

    def _record(self, answer: CompiledMinion, before: DesiredRecord | None, revision: Revision) -> DesiredRecord:
        generation, digest = (before.generation, before.digest) if before else (0, "")
        compiled_revision = before.compiled_revision if before else ""
        changed = answer.ok and answer.digest != digest
        as_before = before is not None and not changed and bool(before.errors) is not answer.ok
        now = self.clock()
        return DesiredRecord(
            minion=answer.minion_id,
            generation=generation + 1 if changed else generation,
            revision=revision.digest,
            compiled_revision=revision.digest if answer.ok else compiled_revision,
            digest=answer.digest if answer.ok else digest,
            errors=answer.errors,
            warnings=(*answer.warnings, *self._emptied(answer, before)),
            volatile=answer.volatile,
            compiled_at=now,
            saltenvs=answer.saltenvs if answer.ok else before.saltenvs if before else (),
            since=before.since if before and as_before and before.since is not None else now,
            document=answer.document if changed else None,
        )

    def _emptied(self, answer: CompiledMinion, before: DesiredRecord | None) -> tuple[Problem, ...]:
        """A warning as long as the minion has nothing where it had something."""
        if not answer.ok or answer.states or before is None or not before.digest:
            return ()
        if answer.digest == before.digest:
            return tuple(filter(is_emptied_warning, before.warnings))
        packed = self.store.documents.get(before.digest)
        had = len(msgspec.msgpack.decode(packed, type=_Document).chunks) if packed else 0
        return (emptied_warning(had),) if had else tuple(filter(is_emptied_warning, before.warnings))

    def _compare(self, answer: CompiledMinion) -> None:
        self.metrics.memo_checked(equal=not answer.remembered)
        if answer.remembered:
            log.error(
                "a remembered compile differs from a fresh one, which is used; report this bug",
                minion=answer.minion_id,
                remembered=answer.remembered,
                fresh=answer.digest or "errors",
            )

    def _announce(self, answer: CompiledMinion, record: DesiredRecord, label: str, cause: int) -> int:
        """Tell what came out; the id of the event."""
        self.metrics.compiled(answer.seconds, ok=answer.ok)
        self.metrics.memo_looked(answer.memo_hits, answer.memo_misses)
        if answer.checked:
            self._compare(answer)
        if answer.ok:
            data = {"id": record.minion, "generation": record.generation, "seconds": answer.seconds}
            return self.bus.publish(f"saltern/compile/{record.minion}/ok", data, cause=cause, revision=label).id
        errors = [str(problem) for problem in answer.errors]
        log.error(
            "compile error; minion keeps its last good state", minion=record.minion, revision=label, error=errors[0]
        )
        failed = {"id": record.minion, "errors": errors}
        return self.bus.publish(f"saltern/compile/{record.minion}/error", failed, cause=cause, revision=label).id


def shaping_of(request: CompileRequest) -> Hashable:
    """All that shapes the documents of a request beside files, grains and facts. Called in a thread: it lists."""
    return (
        repr(request.language),
        repr(request.drift),
        request.drift_rules,
        repr(request.beacons),
        tuple(modules_of(request.files).items()),
        heard_tops(request.files, request.language),
        tuple((name, *part.saltenvs()) for name, part in parts_of(request.pillar).items()),
    )
