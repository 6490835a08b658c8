"""What led to a run: its plan, the chain of events, and who approved the rollout that let it through. Reads only.

Called by the service in a thread.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from controller.observe.causes import chain_of_run, chains_of_runs, step_of, steps_of_events
from controller.rollouts.rollout import Rollout
from controller.rollouts.rollouts import RolloutReconciler
from controller.schema.runs import MOST_WITH_CAUSES, Approval, CausedEntry, HistoryEntry, RunView
from controller.store import Store
from reactors.events import Event

_NEWEST_ROLLOUTS = 20
"""Among which that of a run is looked for, where its events are gone."""


def with_cause(view: RunView, store: Store, rollouts: RolloutReconciler) -> RunView:
    """A run with what led to it."""
    run = view.entry
    events = chain_of_run(store.events, run.minion, run.run_id)
    rollout = None if run.test else _rollout_of(run, events, _Rollouts(rollouts))
    return structs.replace(
        view,
        plan=_plan_of(run, events),
        rollout=rollout.id if rollout is not None else "",
        approvals=_approvals_of(rollout),
        steps=tuple(steps_of_events(store, events)),
    )


def entries_with_causes(
    entries: Sequence[HistoryEntry], store: Store, rollouts: RolloutReconciler
) -> list[CausedEntry]:
    """Runs with what led to them; the chains of the newest `MOST_WITH_CAUSES` are read together."""
    told = entries[:MOST_WITH_CAUSES]
    chains = chains_of_runs(store.events, [(run.minion, run.run_id) for run in told])
    known = _Rollouts(rollouts)
    found = [_caused(run, chains.get((run.minion, run.run_id), []), known) for run in told]
    return [*found, *(CausedEntry(**structs.asdict(run)) for run in entries[MOST_WITH_CAUSES:])]


def _caused(run: HistoryEntry, events: Sequence[Event], rollouts: _Rollouts) -> CausedEntry:
    rollout = None if run.test else _rollout_of(run, events, rollouts)
    return CausedEntry(
        **structs.asdict(run),
        plan=_plan_of(run, events),
        rollout=rollout.id if rollout is not None else "",
        approvals=_approvals_of(rollout),
        steps=tuple(step_of(event) for event in events),
    )


@dataclass(slots=True)
class _Rollouts:
    """Rollouts, each read once."""

    kept: RolloutReconciler
    _found: dict[str, Rollout | None] = field(default_factory=dict)
    _newest: list[Rollout] | None = None

    def newest(self) -> list[Rollout]:
        if self._newest is None:
            self._newest = self.kept.newest(_NEWEST_ROLLOUTS)
            self._found |= {one.id: one for one in self._newest}
        return self._newest

    def find(self, rollout_id: str) -> Rollout | None:
        self.newest()
        if rollout_id not in self._found:
            try:
                self._found[rollout_id] = self.kept.find(rollout_id)
            except LookupError:
                self._found[rollout_id] = None
        return self._found[rollout_id]


def _plan_of(run: HistoryEntry, events: Iterable[Event]) -> str:
    begun = next((each for each in events if each.tag == f"saltern/run/{run.run_id}/new"), None)
    return str(begun.data.get("plan") or "") if begun is not None else ""


def _approvals_of(rollout: Rollout | None) -> tuple[Approval, ...]:
    return tuple(Approval(user=one.user, at=one.at) for one in rollout.approvals) if rollout else ()


def _rollout_of(run: HistoryEntry, events: Iterable[Event], rollouts: _Rollouts) -> Rollout | None:
    """The rollout of the run's revision which released its minion before it."""
    tags = [event.tag for event in events if fnmatch.fnmatchcase(event.tag, "saltern/rollout/*/*")]
    if tags:
        return rollouts.find(tags[-1].split("/")[2])
    if run.kind != "apply":
        return None
    return next((one for one in rollouts.newest() if _let_through(one, run)), None)


def _let_through(rollout: Rollout, run: HistoryEntry) -> bool:
    minions = (minion for batch in rollout.released for minion in batch.minions)
    return rollout.label == run.revision and rollout.created <= run.created and run.minion in minions
