"""What the agent has its children do: runs and calls, answers to questions, the mine.

Made by `minion.agent.agent`; each method but `worker` and `fork` is for a child that was just forked. What is imported
at the head here is in the agent's memory.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minion.agent.fact_queries import Answer
from minion.config.settings import MinionSettings
from minion.processes import AgentPipe, Child, fork
from minion.spool.journal import RunFolder
from minion.worker.progress import ProgressSlot
from minion.worker.worker import WorkerRequest
from minion.worker.worker import work as do

if TYPE_CHECKING:
    from minion.execution import Modules

WARM = (
    "minion.worker.executor",
    "highstate.run",
    "minion.modules.state.module",
    "minion.worker.run_hooks",
    "minion.engine.engine",
    "minion.machine.machine",
    "minion.states.file.state",
    "minion.execution.tree_modules",
)
"""What a worker would import first. Held by the agent it costs 1.3 MiB, and takes 30 ms off every run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Children:
    """Everything that a child of the agent needs to know."""

    settings: MinionSettings
    umask: int
    """That of the states and functions; the agent's own is stricter."""
    held: Path
    """The document in force."""
    grains: Callable[[], Mapping[str, Any]]

    def warm(self) -> None:
        """Import what workers would import first."""
        for name in WARM:
            importlib.import_module(name)

    def fork(self, work: Callable[[AgentPipe], None]) -> Child:
        """A child that does some work."""
        return fork(work, umask=self.umask)

    def worker(self, folder: RunFolder, progress: ProgressSlot) -> Child:
        """A child that does what a folder asks."""
        grains = self.grains()

        def work(pipe: AgentPipe) -> None:
            do(WorkerRequest(folder=folder, settings=self.settings, grains=grains, on_start=progress.write), pipe)

        return self.fork(work)

    def fact_answer(self) -> Answer:
        """What answers questions of templates."""
        from extmods.fact_answers import answer

        functions = self._functions()
        return lambda question, allowed: answer(question, allowed, functions)

    def update_mine(self) -> None:
        """Collect the mine."""
        self._functions().call("mine.update")

    def _functions(self) -> Modules:
        """The execution functions, where no states are run."""
        from minion.execution import Context, Modules
        from minion.spool.desired_state import read_document

        settings, held = self.settings, self.held
        return Modules(
            Context(
                minion_id=settings.id,
                opts=settings.opts,
                make_grains=self.grains,
                make_pillar=lambda: read_document(held).desired.pillar if held.exists() else {},
                cachedir=str(settings.cachedir),
            )
        )
