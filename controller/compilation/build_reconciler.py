"""The shell of `compilation.decision`: gathers the facts about documents, asks `decide`, and does what it says.

Triggers (a revision, grains, answers, a mine, a connection, a timer) are recorded as facts and wake the loop; the
outcome of each instruction comes back as a fact. It decides nothing itself, and nothing about runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

import structlog

from controller.compilation.builder import Builder, shaping_of
from controller.compilation.compile_messages import CompiledMinion
from controller.compilation.compile_requests import CompileRequests
from controller.compilation.decision import (
    QUERY_SECONDS,
    BuildInstruction,
    BuildPolicy,
    BuildState,
    CarryOver,
    CompareFleetAnswers,
    Compile,
    FleetAnswers,
    Inputs,
    MinionBuild,
    OpenQuery,
    QueryFacts,
    Questions,
    RequeueBuildAfter,
    StoreErrors,
    TimeOutQuery,
    Unfinished,
    decide,
)
from controller.compilation.fact_queries import FactQueries
from controller.compilation.mine import MineStore
from controller.compilation.runners import Runners
from controller.reconcile.live import LiveRevision
from controller.reconcile.queue import WorkQueue
from controller.sessions.sessions import Sessions
from controller.store import MinionRecord, StoreError
from gitfs.source import Trees
from highstate.tops.heard_tops import heard_tops
from reactors.bus import Bus
from wire.messages import FactAnswers, FactQuery

log = structlog.get_logger("saltern.build")

RETRY_SECONDS = 5.0
"""Until documents are tried again that could not be made or stored."""


@dataclass(slots=True)
class _Minion:
    """What is remembered of a minion's document; see `MinionBuild`."""

    grains: int = 0
    answers: int = 0
    connection: int = 0
    compiled: Inputs | None = None
    failed: bool = False
    external: bool = False
    carried: bool = False
    """Whether the live revision left its document as it was."""
    compiled_at: float = 0.0
    answered_at: float | None = None
    asked_for: Inputs | None = None
    query: OpenQuery | None = None
    unfinished: Unfinished | None = None
    rest: CompiledMinion | None = None
    """The unfinished compile itself."""
    rounds: int = 0
    cause: int = 0
    """Id of the event that its next compile follows from; 0: the live revision's."""

    def inputs(self, revision: str) -> Inputs:
        """What a compile that begins now is made from."""
        return Inputs(revision=revision, grains=self.grains, answers=self.answers, connection=self.connection)


@dataclass(slots=True, kw_only=True)
class BuildReconciler:
    """The work queue of documents and the hands that carry out instructions."""

    builder: Builder
    facts: FactQueries
    mines: MineStore
    runners: Runners
    requests: CompileRequests
    live: LiveRevision
    sessions: Sessions
    bus: Bus
    clock: Callable[[], float]
    refresh_seconds: float = 0.0
    """See `BuildPolicy`."""
    _minions: dict[str, _Minion] = field(default_factory=dict)
    _restored: bool = False
    """Whether documents were looked for that an earlier controller has made."""
    _queue: WorkQueue = field(init=False)
    _after_compile: set[str] = field(default_factory=set)
    """Minions to look at when the compile in progress has ended."""
    _compiled: asyncio.Event = field(default_factory=asyncio.Event)
    _compiling: asyncio.Task[None] | None = None
    _in_compile: int = 0
    """Minions of the compile in progress that are not stored yet."""
    _reviewed: str = ""
    """Digest of the revision for which everyone was looked at."""
    _affected: set[str] = field(default_factory=set)
    """Minions that the reviewed revision affects."""
    _revision_cause: int = 0
    _fleet_changed: bool = True
    _fleet_compared: float = 0.0
    _fleet_cause: int = 0
    _repeatable: Mapping[str, tuple[FactQuery, ...]] = field(default_factory=dict)
    """Questions that the minions of the current step can be asked again."""

    def __post_init__(self) -> None:
        self._queue = WorkQueue(self.clock)

    # --- what happened ---

    def revision_changed(self, cause: int = 0) -> None:
        """The live trees are others; `cause`: id of the event that says so."""
        self._revision_cause = cause
        self._compiled.clear()
        self._wake(())

    def connected(self, minion: str, cause: int = 0) -> None:
        """A minion has connected, with the grains that it had."""
        known = self._minions.setdefault(minion, _Minion())
        known.connection, known.cause = known.connection + 1, cause
        self._fleet_changed, self._fleet_cause = True, cause
        self._wake([minion])

    def grains_changed(self, minion: str, cause: int = 0) -> None:
        """A minion has sent other grains."""
        known = self._minions.setdefault(minion, _Minion())
        known.grains, known.cause = known.grains + 1, cause
        self._fleet_changed, self._fleet_cause = True, cause
        self._wake([minion])

    def fleet_changed(self, cause: int = 0) -> None:
        """A mine, a key or a connection is new or gone: answers about the fleet may be others."""
        self._fleet_changed, self._fleet_cause = True, cause
        self._wake(())

    def answered(self, minion: str, key: str, message: FactAnswers) -> None:
        """A minion has answered questions."""
        changed = self.facts.answered(minion, key, message)
        if changed is not None:
            self._answers_recorded(minion, changed=changed)
        elif self.facts.answered_late(minion, key, message):
            self._answers_changed(minion)
            self._wake([minion])

    def waiting(self) -> int:
        """How many minions are looked at next, those of the compile in progress left out."""
        return len(self._queue) + len(self._after_compile)

    async def compiled(self) -> None:
        """Wait until minions are compiled against the live trees; those that are asked are not waited for."""
        while not self._compiled.is_set():  # other trees may go live in the moment in which it was
            await self._compiled.wait()

    # --- for the audit ---

    def carried_over(self) -> list[str]:
        """The minions whose documents the live revision left as they were."""
        return [minion for minion, known in self._minions.items() if known.carried]

    def settled_inputs(self, minion: str) -> Inputs | None:
        """What a minion's document stands for; None while it, or an answer about the fleet, is about to change."""
        known = self._minions.get(minion)
        if known is None or self._fleet_changed or self._compiling is not None or self._reviewed != self.live.digest:
            return None
        return known.compiled if known.compiled == known.inputs(self._reviewed) else None

    def compile_again(self, minions: Iterable[str]) -> None:
        """Compile these, whatever is known of their documents."""
        for minion in (minions := list(minions)):
            self._of(minion).compiled = None
        self._wake(minions)

    def compile_all(self) -> None:
        """Compile all minions: what is known of their reads is wrong."""
        self.builder.dependency_index.forget()
        self.compile_again(self._minions)

    @property
    def compiling(self) -> int:
        """Minions that are compiled now."""
        return self._in_compile

    # --- the queue ---

    def _wake(self, minions: Iterable[str]) -> None:
        self._queue.add(minions)

    async def run(self) -> None:
        """Work until cancelled."""
        for minion, at in self.facts.asked_at().items():
            self._minions.setdefault(minion, _Minion()).answered_at = at
        try:
            while True:
                if self._compiling is None and self._reviewed == self.live.digest:
                    self._compiled.set()
                queued = await self._queue.take()
                try:
                    await self._step(queued)
                except StoreError as error:
                    log.error("store cannot be used; retrying", error=str(error))
                    self._reviewed = ""
                    await asyncio.sleep(RETRY_SECONDS)
                    self._wake(queued)
                await asyncio.sleep(0)  # what comes together is looked at together
        finally:
            if self._compiling is not None:
                self._compiling.cancel()

    async def _step(self, queued: set[str]) -> None:
        trees, records = self.live.trees, None
        unaffected: tuple[str, ...] = ()
        if trees is not None and self._compiling is None and trees.revision.digest != self._reviewed:
            records = {record.id: record for record in self.requests.accepted()}
            unaffected = await self._review(trees, records, queued)
            self._reviewed = trees.revision.digest
        if self._compiling is not None:
            self._after_compile |= queued
        state = self._state(trees, queued, unaffected)
        for instruction in decide(state, self._policy(), self.clock()):
            await self._carry_out(instruction, trees, records)

    async def _review(self, trees: Trees, records: Mapping[str, MinionRecord], queued: set[str]) -> tuple[str, ...]:
        """Find whom new trees affect, who are added to `queued`; the others."""
        request = self.requests.request(trees, ())
        shaping = await asyncio.to_thread(shaping_of, request)
        heard = await asyncio.to_thread(heard_tops, trees.files, request.language)
        if not self._restored:
            self._restored = True
            await self._restore(records, shaping)
        self._affected = await asyncio.to_thread(
            self.builder.dependency_index.affected, trees.files, trees.pillar, list(records), shaping, heard
        )
        self.builder.dependency_index.keep(records.keys())
        here = {session.minion for session in self.sessions}
        self._minions = {name: each for name, each in self._minions.items() if name in records or name in here}
        for name in records:
            self._minions.setdefault(name, _Minion())
        queued |= self._affected
        return tuple(minion for minion in records if minion not in queued)

    async def _restore(self, records: Mapping[str, MinionRecord], shaping: Hashable) -> None:
        """Go on with the documents that were made before this controller started, where they hold still."""
        grains = {name: record.grains for name, record in records.items()}
        inputs = {name: self._of(name).inputs("") for name in records}
        await asyncio.to_thread(self.builder.bases.prepare)
        kept = await asyncio.to_thread(self.builder.bases.found, grains, shaping)
        reads = {name: document.reads for name, document in kept.items()}
        await asyncio.to_thread(self.builder.dependency_index.restore, reads, shaping)
        for name, document in kept.items():
            known = self._of(name)
            known.compiled = replace(inputs[name], revision=document.record.revision)
            known.compiled_at, known.carried = document.record.compiled_at, True
        self._fleet_changed = True  # a mine may be another one by now
        if kept:
            log.info("documents hold still", count=len(kept), of=len(records))

    # --- what is so ---

    def _policy(self) -> BuildPolicy:
        return BuildPolicy(refresh_seconds=self.refresh_seconds, facts_interval=self.live.policy.drift.interval)

    def _state(self, trees: Trees | None, queued: Collection[str], unaffected: tuple[str, ...]) -> BuildState:
        fleet = FleetAnswers(changed=self._fleet_changed, compared_at=self._fleet_compared)
        compiling = self._compiling is not None
        if trees is None:
            return BuildState(revision="", compiling=compiling, minions=(), fleet=fleet)
        queued = self._minions.keys() & queued
        connected = {minion for minion in queued if self.sessions.session(minion) is not None}
        answering = {minion for minion in connected if self._of(minion).answered_at is not None}
        self._repeatable = self.facts.repeatable(answering) if answering else {}
        minions = tuple(
            self._minion_build(minion, trees.revision.digest, minion in connected, minion in self._repeatable)
            for minion in sorted(queued)
        )
        return BuildState(
            revision=trees.revision.digest, compiling=compiling, minions=minions, unaffected=unaffected, fleet=fleet
        )

    def _minion_build(self, minion: str, revision: str, connected: bool, questions: bool) -> MinionBuild:
        known = self._of(minion)
        return MinionBuild(
            minion=minion,
            connected=connected,
            inputs=known.inputs(revision),
            compiled=known.compiled,
            affected=minion in self._affected,
            failed=known.failed,
            external=known.external,
            compiled_at=known.compiled_at,
            questions=questions,
            answered_at=known.answered_at,
            asked_for=known.asked_for,
            query=known.query,
            unfinished=known.unfinished,
        )

    def _of(self, minion: str) -> _Minion:
        return self._minions.setdefault(minion, _Minion())

    # --- what is done ---

    async def _carry_out(
        self, instruction: BuildInstruction, trees: Trees | None, records: Mapping[str, MinionRecord] | None
    ) -> None:
        match instruction:
            case QueryFacts(minion=minion, questions=questions, for_compile=for_compile):
                self._query(minion, questions, for_compile=for_compile)
            case TimeOutQuery(minion=minion):
                self._answers_recorded(minion, changed=self.facts.time_out(minion))
            case CompareFleetAnswers():
                self._compare_fleet_answers()
            case RequeueBuildAfter(minion=minion, time=time):
                self._queue.add_at(minion, time)
            case StoreErrors(minion=minion) if trees is not None:
                self._store_errors(minion, trees)
            case CarryOver(minions=minions) if trees is not None:
                self._carry_over(minions, trees)
            case Compile(minions=minions) if trees is not None:
                self._compiling = asyncio.create_task(self._compile(minions, trees, records), name="compile")
                await asyncio.sleep(0)  # the compile processes begin before anything else is done here
            case Compile() | CarryOver() | StoreErrors():
                raise ValueError(f"{type(instruction).__name__} without trees")
            case _:
                assert_never(instruction)

    def _query(self, minion: str, questions: Questions, *, for_compile: bool) -> None:
        known = self._of(minion)
        queries: tuple[FactQuery, ...]
        if questions is Questions.UNANSWERED:
            queries = known.rest.unanswered if known.rest else ()
        else:
            queries = self._repeatable.get(minion, ())
            known.rounds = 0
        known.unfinished = known.rest = None
        if for_compile:
            known.asked_for = known.inputs(self.live.digest)
        if self.facts.send(minion, queries):
            deadline = self.clock() + QUERY_SECONDS
            known.query = OpenQuery(deadline=deadline, connection=known.connection, for_compile=for_compile)
        self._wake([minion])

    def _answers_recorded(self, minion: str, *, changed: bool) -> None:
        known = self._of(minion)
        for_compile = known.query is not None and known.query.for_compile
        known.query, known.answered_at = None, self.clock()
        if changed and for_compile:  # what the compile follows from is known already
            known.answers += 1
        elif changed:
            self._answers_changed(minion)
        self._wake([minion])

    def _answers_changed(self, minion: str) -> None:
        known = self._of(minion)
        known.answers += 1
        known.cause = self.bus.publish(f"saltern/minion/{minion}/facts", {"id": minion}).id

    def _compare_fleet_answers(self) -> None:
        self._fleet_changed, self._fleet_compared = False, self.clock()
        changed = self.mines.changed_minions(self.runners.answer)
        for minion in changed:
            known = self._of(minion)
            known.answers, known.cause = known.answers + 1, self._fleet_cause
        self._wake(changed)

    def _carry_over(self, minions: Collection[str], trees: Trees) -> None:
        self.builder.carry_over(list(minions), trees.revision)
        for minion in minions:
            known = self._of(minion)
            before = known.compiled or known.inputs("")  # what came while the trees were compared is new still
            known.compiled, known.carried = replace(before, revision=trees.revision.digest), True

    def _store_errors(self, minion: str, trees: Trees) -> None:
        known = self._of(minion)
        if known.rest is not None and known.unfinished is not None:
            self.builder.store_errors(known.rest, trees.revision, self._cause(known))
            self._stored(known.rest, known.unfinished.inputs)
        self._wake([minion])

    async def _compile(
        self, minions: Collection[str], trees: Trees, records: Mapping[str, MinionRecord] | None
    ) -> None:
        """Compile these; afterwards they are looked at again, and who was woken meanwhile."""
        try:
            await self._compile_all(minions, trees, records)
        except StoreError as error:
            log.error("store cannot be written; retrying", error=str(error))
            await asyncio.sleep(RETRY_SECONDS)
        except Exception:
            log.exception("compile failed; retrying")
            await asyncio.sleep(RETRY_SECONDS)
        finally:
            self._compiling, self._in_compile = None, 0
            waiting, self._after_compile = self._after_compile, set()
            self._wake({*minions, *waiting})

    async def _compile_all(
        self, minions: Collection[str], trees: Trees, records: Mapping[str, MinionRecord] | None
    ) -> None:
        wanted = set(minions)
        found = self.requests.known(wanted) if records is None else [records[name] for name in wanted & records.keys()]
        for gone in wanted - {record.id for record in found}:
            self._minions.pop(gone, None)  # forgotten, or it has never sent its grains
            wanted.discard(gone)
        inputs = {minion: self._of(minion).inputs(trees.revision.digest) for minion in wanted}
        causes = {minion: self._cause(self._of(minion)) or self._expired(minion) for minion in wanted}
        for minion in wanted:
            self.facts.drop(minion)
            self._of(minion).query = None
        if not found:
            return
        self._in_compile = len(found)
        request = self.requests.request(trees, sorted(found, key=lambda record: record.id))
        began, failed = self.clock(), 0
        async for batch in self.builder.compile(request, trees.revision, causes):
            for answer in batch.stored:
                failed += not answer.ok
                if answer.ok and (known := request.facts.get(answer.minion_id)):
                    self.facts.used(answer.minion_id, answer.facts, known)
                self._stored(answer, inputs[answer.minion_id])
            for answer in batch.unfinished:
                self._left_unfinished(answer, inputs[answer.minion_id])
            self._in_compile -= len(batch.stored) + len(batch.unfinished)
            self._fleet_changed |= any(answer.fleet_marks for answer in (*batch.stored, *batch.unfinished))
        if records is not None:
            self.builder.metrics.traces.compiled(trees.revision.digest, began, self.clock(), len(found), failed)

    def _stored(self, answer: CompiledMinion, inputs: Inputs) -> None:
        known = self._of(answer.minion_id)
        known.compiled, known.compiled_at = inputs, self.clock()
        known.failed, known.external, known.carried = not answer.ok, not answer.reads, False
        known.asked_for = known.unfinished = known.rest = None
        known.rounds = 0
        if known.inputs(inputs.revision) == inputs:
            known.cause = 0

    def _left_unfinished(self, answer: CompiledMinion, inputs: Inputs) -> None:
        known = self._of(answer.minion_id)
        known.rounds += 1
        too_many = self.facts.too_many(answer.minion_id, answer.unanswered)
        known.rest = answer
        known.unfinished = Unfinished(inputs=inputs, rounds=known.rounds, too_many=too_many)

    def _expired(self, minion: str) -> int:
        why = "external pillar, secrets or programs are older than pillar_cache_ttl"
        return self.bus.publish(f"saltern/compile/{minion}/due", {"id": minion, "why": why}).id

    def _cause(self, known: _Minion) -> int:
        """The event that a compile which begins now follows from."""
        if known.compiled is not None and known.compiled.revision == self.live.digest:
            return known.cause
        return self._revision_cause or known.cause
