"""What led to a run: its plan, the chain of events, and who approved the rollout that let it through. Reads only.

Called by the service in a thread.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable

from msgspec import structs

from controller.observe.causes import chain_of_run, steps_of_events
from controller.rollouts.rollout import Rollout
from controller.rollouts.rollouts import RolloutReconciler
from controller.schema.runs import Approval, RunView
from controller.store import Store
from reactors.events import Event

_NEWEST_ROLLOUTS = 20
"""Among which that of a run is looked for, where its events are gone."""


def with_cause(view: RunView, store: Store, rollouts: RolloutReconciler) -> RunView:
    """A run with what led to it."""
    run = view.entry
    events = chain_of_run(store.events, run.minion, run.run_id)
    begun = next((each for each in events if each.tag == f"saltern/run/{run.run_id}/new"), None)
    rollout = None if run.test else _rollout_of(view, events, rollouts)
    return structs.replace(
        view,
        plan=str(begun.data.get("plan") or "") if begun is not None else "",
        rollout=rollout.id if rollout is not None else "",
        approvals=tuple(Approval(user=one.user, at=one.at) for one in rollout.approvals) if rollout else (),
        steps=tuple(steps_of_events(store, events)),
    )


def _rollout_of(view: RunView, events: Iterable[Event], rollouts: RolloutReconciler) -> Rollout | None:
    """The rollout of the run's revision which released its minion before it."""
    tags = [event.tag for event in events if fnmatch.fnmatchcase(event.tag, "saltern/rollout/*/*")]
    if tags:
        try:
            return rollouts.find(tags[-1].split("/")[2])
        except LookupError:
            return None
    if view.entry.kind != "apply":
        return None
    return next((one for one in rollouts.newest(_NEWEST_ROLLOUTS) if _let_through(one, view)), None)


def _let_through(rollout: Rollout, view: RunView) -> bool:
    run = view.entry
    minions = (minion for batch in rollout.released for minion in batch.minions)
    return rollout.label == run.revision and rollout.created <= run.created and run.minion in minions
