"""What children of the agent do: runs and calls, fact queries, the mine, grains, reading the configuration.

Used by `minion.agent.agent`; everything but `warm`, `fork` and `worker` is called in a child that was just forked. This
is the only module of the agent that knows the rest of the minion. What is imported at its head is in the agent's
memory: the engine, which saves each run 30 ms and costs 1.3 MiB. What reads YAML or needs psutil is imported in the
child that uses it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extmods.fact_answers import answer
from minion.agent.fact_queries import Answer
from minion.config.settings import MinionSettings, keep_id, load_settings
from minion.execution.context import Context
from minion.execution.loader import Modules
from minion.processes import AgentPipe, Child, fork
from minion.spool.desired_state import read_document
from minion.spool.journal import RunFolder
from minion.worker.progress import ProgressSlot
from minion.worker.request import WorkerRequest
from minion.worker.worker import work

WARM = ("minion.execution.tree_modules", "minion.modules.state.module", "minion.states.file.state")
"""What most runs import besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildTasks:
    """Everything that a child of the agent needs to know."""

    settings: MinionSettings
    umask: int
    """That of the states and functions; the agent's own is stricter."""
    document: Path
    """The desired document in force."""
    grains: Callable[[], Mapping[str, Any]]

    def warm(self) -> None:
        """Import what workers would import first."""
        for name in WARM:
            importlib.import_module(name)

    def fork(self, task: Callable[[AgentPipe], None]) -> Child:
        """A child that does a task."""
        return fork(task, umask=self.umask)

    def worker(self, folder: RunFolder, progress: ProgressSlot) -> Child:
        """A child that does what is requested in a folder."""
        request = WorkerRequest(folder=folder, settings=self.settings, grains=self.grains(), on_start=progress.write)
        return self.fork(lambda pipe: work(request, pipe))

    def fact_answer(self) -> Answer:
        """What answers fact queries."""
        functions = self._functions()
        return lambda question, allowed: answer(question, allowed, functions)

    def update_mine(self) -> None:
        """Collect the mine."""
        self._functions().call("mine.update")

    def _functions(self) -> Modules:
        """The execution functions, where no states are run."""
        settings, document = self.settings, self.document
        return Modules(
            Context(
                minion_id=settings.id,
                opts=settings.opts,
                make_grains=self.grains,
                make_pillar=lambda: read_document(document).desired.pillar if document.exists() else {},
                cachedir=str(settings.cachedir),
            )
        )


def collect_grains(settings: MinionSettings) -> Mapping[str, Any]:
    """All grains of this machine."""
    from minion.grains import minion_grains  # psutil, YAML

    return minion_grains.collect_grains(settings)


def read_settings(config_dir: Path) -> MinionSettings:
    """The settings of a folder; keeps the id that was made up. Raises BadMinionSettings and OSError."""
    settings = load_settings(config_dir)
    keep_id(settings)
    return settings
