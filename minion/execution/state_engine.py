"""The executor of states for a context: built-in states and those of the tree.

Called by the execution functions of `state`, by `__states__` of the tree's modules, and by the worker.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from extmods.states import CallableStates
from highstate.run.ignoring import IgnoreRule
from minion.config.groups import MinionOptions
from minion.engine.engine import StateEngine
from minion.engine.ignored import Ignoring
from minion.execution.loader import FunctionContext, Modules
from minion.machine.plan import Machine
from minion.machine.planned.machine import PlannedMachine
from minion.machine.read_only import ReadOnly
from minion.ownership.file_backups import FileBackups


class EngineContext(FunctionContext, Protocol):
    """What an engine needs of a `Context`."""

    testing: bool
    options: MinionOptions
    backup_dir: str
    run_id: str

    def reload(self, what: str) -> None:
        """Look again at `grains`, `pillar` or `modules`."""


def engine_of(
    context: EngineContext,
    machine: Machine,
    *,
    test: bool,
    drift: bool = False,
    ignored: Sequence[IgnoreRule] = (),
    looks_again: bool = False,
) -> StateEngine:
    """The engine of a run; from now on the context is one under test=True, or not.

    Args:
        context: of the run.
        machine: that it runs on.
        test: whether nothing may be changed.
        drift: whether it looks for drift.
        ignored: differences that are neither told nor put right.
        looks_again: see `StateEngine`.
    """
    context.testing = test
    user_states = CallableStates(context.user_modules)
    planned = PlannedMachine(machine) if test else None
    return StateEngine(
        machine,
        Modules(context if planned is None else looking_at(planned, context)),
        test=test,
        backup_dir=context.backup_dir,
        user_states=user_states,
        reload=context.reload,
        drift=drift,
        planned=planned,
        ignoring=Ignoring(rules=tuple(ignored)) if ignored else None,
        looks_again=looks_again,
        acts_on=FileBackups(context.backup_dir, context.options.file_backups, context.run_id).machine_for,
    )


ContextT = TypeVar("ContextT", bound=FunctionContext)


def looking_at(planned: PlannedMachine, context: ContextT, seen_by: PlannedMachine | None = None) -> ContextT:
    """The context for functions that conditions and slots call under test=True: they see what the run would make.

    `seen_by`: the machine that they see, where it is not the one that states plan on.
    """
    seen = copy.copy(context)
    vars(seen).update(machine=ReadOnly(seen_by or planned), grains=PlannedGrains(planned))  # type: ignore[arg-type]
    vars(seen).pop("functions", None)
    return seen


class PlannedGrains(Mapping[str, Any]):
    """The grains as the states of a test run would have set them by now."""

    def __init__(self, planned: PlannedMachine) -> None:
        self._planned = planned

    def __getitem__(self, key: str) -> Any:
        return self._planned.grains[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._planned.grains)

    def __len__(self) -> int:
        return len(self._planned.grains)
