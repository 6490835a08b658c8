"""What a run does about the inventory: it notes what its states make, and takes away what git no longer names.

Called by `minion.worker.executor`. Runs of the minion's document that change the machine write the inventory; tests,
drift checks and previews look at it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from highstate.desired import Desired
from highstate.run.ports import Executor, Journal, RunHooks
from highstate.types import StateResult
from minion.engine.engine import StateEngine
from minion.machine.plan import Machine
from minion.ownership.inventory import FILE_NAME, Inventory
from minion.ownership.owning_states import OwningStates, note_contents
from minion.ownership.pruning import Pruned, Pruning
from minion.ownership.recorded_machine import FileRecorder, RecordedMachine


class OwnedRun:
    """One run's."""

    def __init__(self, cachedir: Path, machine: Machine, *, writes: bool) -> None:
        """Read the inventory; `writes`: whether the run changes the machine."""
        self._inventory = Inventory(cachedir / FILE_NAME, writes=writes)
        self._recorder = FileRecorder(self._inventory, machine)
        self._own_machine = machine
        self._writes = writes
        self._states: OwningStates | None = None
        self.machine = cast(Machine, RecordedMachine(machine, self._recorder)) if writes else machine
        """What the engine of the run gets."""

    def states(self, engine: StateEngine) -> Executor:
        """What runs the states."""
        if not self._writes:
            return engine
        self._states = OwningStates(engine, self._inventory, self._recorder)
        return self._states

    def after(
        self,
        desired: Desired,
        engine: StateEngine,
        results: Mapping[str, StateResult],
        journal: Journal | None,
        hooks: RunHooks,
    ) -> Pruned:
        """Note what the states left, and take away what is named no more."""
        if self._states is not None:
            note_contents(self._inventory, self._own_machine, desired.chunks, results, time.time())
            self._states.settle(list(self._inventory))
        pruning = Pruning(
            desired=desired,
            inventory=self._inventory,
            executor=engine,
            machine=engine.reader,
            test=not self._writes,
            clock=time.time,
            hooks=hooks,
            journal=journal,
        )
        pruned = pruning.after(results)
        if self._writes and not hooks.stopping():
            self._inventory.settle()
        return pruned
