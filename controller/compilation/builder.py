"""From trees to stored documents: whom they concern, what came out, and what is told of it.

Called by `Revisions`, for one revision at a time. Documents are stored as they come, and the loop is woken for them;
whom a revision does not concern is carried over to it. It takes no tree live and decides nothing about runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

import structlog

from controller.compilation.compile_pool import CompilePort
from controller.compilation.compile_worker import CompiledMinion, CompileRequest
from controller.compilation.dependency_index import Footprints
from controller.compilation.fact_queries import FactQueries
from controller.compilation.mine import MineStore
from controller.observe.metrics import Metrics
from controller.observe.redactor import Redactor
from controller.store import DesiredRecord, Store
from gitfs.source import Revision
from highstate.types import Minion
from reactors.bus import Bus

log = structlog.get_logger("saltern.builder")

RETRY_SECONDS = 60.0
"""Until a minion is compiled again whose external pillar or secrets could not be had."""


@dataclass(slots=True, kw_only=True)
class Builder:
    """Compiles minions and keeps what came out."""

    compiler: CompilePort
    store: Store
    bus: Bus
    metrics: Metrics
    clock: Callable[[], float]
    wake: Callable[[Iterable[str]], None]
    facts: FactQueries
    mines: MineStore
    redactor: Redactor
    refresh_seconds: float = 0.0
    """Until a document is made again that stands on more than trees: external pillars, secrets, programs. 0: never."""
    dependency_index: Footprints = field(default_factory=Footprints)
    _expires: dict[str, float] = field(default_factory=dict)
    """When these documents are to be made again."""

    async def build(self, request: CompileRequest, revision: Revision, due: Collection[str]) -> None:
        """Bring all minions of a request to its revision: compile those that it concerns and those that are `due`."""
        ids = [minion.id for minion in request.minions]
        concerned = await asyncio.to_thread(
            self.dependency_index.affected, request.files, request.pillar, ids, shaping_of(request)
        )
        concerned |= set(due)
        # What a push concerns stands on fresh facts; it is compiled as soon as they are there.
        asked = self.facts.ask_again(concerned, always=True)
        await self.compile(replace(request, minions=_those(request, concerned - asked)), revision)
        spared = [minion for minion in ids if minion not in concerned]
        self.store.desired.carry_over(spared, revision.digest)
        self.metrics.spared(len(spared))
        self.dependency_index.keep(set(ids))
        self._expires = {minion: at for minion, at in self._expires.items() if minion in set(ids)}

    async def compile(self, request: CompileRequest, revision: Revision) -> None:
        """Compile all minions of a request. What is stored already when an error ends this stays stored."""
        if not request.minions:
            return
        ids = [minion.id for minion in request.minions]
        before = self.store.desired.of(ids)
        held = {minion: record.digest for minion, record in before.items() if record.digest}
        async with aclosing(self.compiler.stream(replace(request, held=held))) as batches:
            async for batch in batches:
                final = [answer for answer in batch if not self._asks(answer)]
                self._keep(final, before, revision)
                self.dependency_index.note(final, shaping_of(request))
                for answer in batch:
                    if answer.heard:
                        self.mines.stands_on(answer.minion_id, dict(answer.heard), self.clock())
                for answer in final:
                    known = request.facts.get(answer.minion_id)
                    if answer.ok and known:
                        self.facts.used(answer.minion_id, answer.facts, known)

    def expired(self) -> list[str]:
        """Minions to compile again although no tree is new; each is told once."""
        now = self.clock()
        due = [minion for minion, at in self._expires.items() if at <= now]
        for minion in due:
            del self._expires[minion]
        return due

    def _asks(self, answer: CompiledMinion) -> bool:
        """Whether the minion was asked what this compile could not know; it is compiled again with the answers."""
        return not answer.ok and bool(answer.unanswered) and self.facts.ask(answer.minion_id, answer.unanswered)

    def _keep(self, batch: Sequence[CompiledMinion], before: Mapping[str, DesiredRecord], revision: Revision) -> None:
        self.redactor.learn({answer.minion_id: answer.secrets for answer in batch})
        batch = [self.redactor.compiled(answer) for answer in batch]
        records = [self._record(answer, before.get(answer.minion_id), revision) for answer in batch]
        self.store.desired.put(records)
        for answer, record in zip(batch, records, strict=True):
            self._announce(answer, record, revision.id)
            self._expires.pop(answer.minion_id, None)
            if self.refresh_seconds and not answer.reads:
                seconds = self.refresh_seconds if answer.ok else min(self.refresh_seconds, RETRY_SECONDS)
                self._expires[answer.minion_id] = self.clock() + seconds
        self.wake(record.minion for record in records)

    def _record(self, answer: CompiledMinion, before: DesiredRecord | None, revision: Revision) -> DesiredRecord:
        generation, digest = (before.generation, before.digest) if before else (0, "")
        compiled_revision = before.compiled_revision if before else ""
        changed = answer.ok and answer.digest != digest
        return DesiredRecord(
            minion=answer.minion_id,
            generation=generation + 1 if changed else generation,
            revision=revision.digest,
            compiled_revision=revision.digest if answer.ok else compiled_revision,
            digest=answer.digest if answer.ok else digest,
            errors=answer.errors,
            warnings=answer.warnings,
            volatile=answer.volatile,
            compiled_at=self.clock(),
            document=answer.document if changed else None,
        )

    def _compare(self, answer: CompiledMinion) -> None:
        self.metrics.memo_checked(equal=not answer.remembered)
        if answer.remembered:
            log.error(
                "a remembered compile was not what a fresh one gives; the fresh one is used",
                minion=answer.minion_id,
                remembered=answer.remembered,
                fresh=answer.digest or "errors",
            )

    def _announce(self, answer: CompiledMinion, record: DesiredRecord, label: str) -> None:
        self.metrics.compiled(answer.seconds, ok=answer.ok)
        if answer.checked:
            self._compare(answer)
        if answer.ok:
            data = {"id": record.minion, "generation": record.generation, "seconds": answer.seconds}
            self.bus.publish(f"saltern/compile/{record.minion}/ok", data, revision=label)
            return
        errors = [str(problem) for problem in answer.errors]
        log.error("does not compile; the last good state stays", minion=record.minion, revision=label, error=errors[0])
        self.bus.publish(
            f"saltern/compile/{record.minion}/error", {"id": record.minion, "errors": errors}, revision=label
        )


def shaping_of(request: CompileRequest) -> Hashable:
    """All that shapes the documents of a request besides files, grains and facts."""
    return (
        repr(request.language),
        repr(request.drift),
        tuple(request.files.saltenvs()),
        tuple(request.pillar.saltenvs()),
    )


def _those(request: CompileRequest, ids: Collection[str]) -> tuple[Minion, ...]:
    return tuple(minion for minion in request.minions if minion.id in ids)
