"""The end of a run: what git no longer names is told, and taken away where the policy says so.

It comes after the states of the run, so that what a push moves elsewhere is there before the old one goes, and only
where none of them failed. Under test=True the same plans are made on the machine as the run would leave it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from highstate.desired import Desired
from highstate.run.ports import Executor, Journal, RunHooks
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.machine.plan import Reader
from minion.ownership.inventory import Inventory
from minion.ownership.orphans import Orphan, PruneStates, held_back, named_in, orphans_of
from wire.messages import PruneReport, UnnamedResource

MOST_TOLD = 200
"""Resources in a report."""
LONGEST = 300
"""Characters of a text in it."""

FAILED = "a state of the run failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunePolicy:
    """What the document says (`prune` and `prune_limit` of saltern.yaml)."""

    mode: str = "report"
    limit: int | str | None = None

    @classmethod
    def of(cls, desired: Desired) -> PrunePolicy:
        """That of a document."""
        given = desired.drift.get("prune")
        given = given if isinstance(given, Mapping) else {}
        mode, limit = given.get("mode", "report"), given.get("limit")
        return cls(mode=str(mode), limit=limit if isinstance(limit, int | str) else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What came of it."""

    results: Mapping[str, StateResult] = field(default_factory=dict)
    """Of states that took something away, or would; by key."""
    chunks: Mapping[str, Chunk] = field(default_factory=dict)
    report: PruneReport | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """One run's."""

    desired: Desired
    inventory: Inventory
    executor: Executor
    machine: Reader
    """What the executor looks at."""
    test: bool
    clock: Callable[[], float]
    hooks: RunHooks
    journal: Journal | None = None

    def after(self, results: Mapping[str, StateResult]) -> Pruned:
        """Tell what is named no more after states with these results, and take it away where that is to be done."""
        policy = PrunePolicy.of(self.desired)
        if policy.mode == "off" or self.hooks.stopping():
            return Pruned()
        entries = list(self.inventory)
        named = named_in(self.desired, entries, self.machine)
        kept = {*self.journal.results(), *self.journal.intents()} if self.journal is not None and not self.test else ()
        orphans = orphans_of(entries, named, self.executor, self.machine, kept)
        going = [each for each in orphans if each.fate == "remove"]
        on = policy.mode == "on"
        held = held_back(self.desired, len({each.key for each in entries}), going, policy.limit) if on else ""
        if on and going and not held and any(result.result is False for result in results.values()):
            held = FAILED
        done: dict[str, StateResult] = {}
        chunks = {each.key: each.chunk for each in going}
        if on and not held and going:
            done = self._take_away(going, chunks)
        if not self.test:
            self._forget(orphans, done)
        report = self._report(policy, orphans, done, held)
        return Pruned(results=done, chunks=chunks, report=report)

    def _take_away(self, going: list[Orphan], chunks: Mapping[str, Chunk]) -> dict[str, StateResult]:
        states = PruneStates(self.executor, self.machine, going, test=self.test)
        hooks = replace(self.hooks, triggers=None, aggregate=False)
        done = run(chunks, states, test=self.test, clock=self.clock, journal=self.journal, hooks=hooks)
        makers = {each.key: each.owned.maker for each in going}
        return {key: _told(result, makers[key]) for key, result in done.items()}

    def _forget(self, orphans: list[Orphan], done: Mapping[str, StateResult]) -> None:
        for each in orphans:
            result = done.get(each.key)
            removed = result is not None and result.result is True and bool(result.changes)
            if each.fate == "gone" or removed:
                self.inventory.gone(each.owned)

    def _report(
        self, policy: PrunePolicy, orphans: list[Orphan], done: Mapping[str, StateResult], held: str
    ) -> PruneReport:
        told = []
        for each in orphans:
            result = done.get(each.key)
            if each.fate == "gone" or (result is not None and result.changes):
                continue
            if result is not None:
                fate, why = "left", result.comment
            elif each.fate == "remove":
                fate, why = ("held", held) if held else ("reported", "")
            else:
                fate, why = each.fate, each.why
            told.append(_unnamed(each, fate, why))
        return PruneReport(
            mode="on" if policy.mode == "on" else "report",
            owned=len(self.inventory),
            resources=tuple(told[:MOST_TOLD]),
            more=max(0, len(told) - MOST_TOLD),
            held=held[:LONGEST],
            full=self.inventory.full,
        )


def _unnamed(orphan: Orphan, fate: Any, why: str) -> UnnamedResource:
    owned = orphan.owned
    return UnnamedResource(
        resource=owned.key[:LONGEST], inverse=owned.inverse, maker=owned.maker[:LONGEST], fate=fate, why=why[:LONGEST]
    )


def _told(result: StateResult, maker: str) -> StateResult:
    note = f"No state names it any more; {maker} made it"
    return replace(result, comment=f"{result.comment}\n{note}" if result.comment else note)
