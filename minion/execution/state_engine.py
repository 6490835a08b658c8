"""The executor of states for a context: built-in states and those of the tree.

Called by the execution functions of `state`, by `__states__` of the tree's modules, and by the worker.
"""

from __future__ import annotations

from typing import Protocol

from extmods.states import CallableStates
from minion.engine.engine import StateEngine
from minion.execution.loader import FunctionContext, Modules
from minion.machine.machine import LocalMachine


class EngineContext(FunctionContext, Protocol):
    """What an engine needs of a `Context`."""

    testing: bool
    backup_dir: str

    def reload(self, what: str) -> None:
        """Look again at `grains`, `pillar` or `modules`."""


def engine_of(context: EngineContext, machine: LocalMachine, *, test: bool, drift: bool = False) -> StateEngine:
    """The engine of a run; from now on the context is one under test=True, or not. `drift`: it looks for drift."""
    context.testing = test
    return StateEngine(
        machine,
        Modules(context),
        test=test,
        backup_dir=context.backup_dir,
        user_states=CallableStates(context.user_modules),
        reload=context.reload,
        drift=drift,
    )
