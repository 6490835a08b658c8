"""What children of the agent do: runs and calls, fact queries, the mine, grains, reading the configuration.

Used by `minion.agent.agent`. Everything but `preload`, `fork` and `worker` runs in a forked child. This is the only
module of the agent that knows the rest of the minion. Imports at the top of the file take memory of the agent: the
engine, which saves each run 30 ms and costs 1.3 MiB. Modules that read YAML or need psutil are imported in the child.
"""

from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from extmods.fact_answers import answer
from minion.agent.fact_queries import Answer
from minion.agent.workers import Worker
from minion.config.salt_opts import salt_opts
from minion.config.settings import MinionSettings, keep_id, load_settings
from minion.execution.context import Context
from minion.execution.loader import Modules
from minion.processes import AgentPipe, Child, fork, named
from minion.spool.desired_state import read_document
from minion.spool.journal import RunFolder
from minion.worker.progress import ProgressSlot
from minion.worker.request import WorkerRequest
from minion.worker.worker import work

PRELOADED = ("minion.execution.tree_modules", "minion.modules.state.module", "minion.states.file.state")
"""Modules that most runs import, beyond the imports of this module."""

SPARE = "saltern-spare"
"""Name of the process of a worker that waits for a run."""

RENDERING = ("highstate.render.pipeline", "highstate.render.context", "highstate.memo.tracked")
"""What templates of managed files need: 75 ms of each run that has one, and 4.5 MiB where it is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildTasks:
    """Everything that a child of the agent needs to know."""

    settings: MinionSettings
    umask: int
    """That of the states and functions; the agent's own is stricter."""
    document: Path
    """The desired document in force."""
    grains: Callable[[], Mapping[str, Any]]

    def preload(self) -> None:
        """Import what every worker needs, so that forked workers have it already."""
        for name in PRELOADED:
            importlib.import_module(name)

    def preload_rendering(self) -> None:
        """Import what templates need, too: where files are watched, a change is answered at once."""
        for name in RENDERING:
            importlib.import_module(name)

    def fork(self, task: Callable[[AgentPipe], None]) -> Child:
        """A child that does a task."""
        return fork(task, umask=self.umask)

    def worker(self, ahead: bool) -> Worker:
        """A child that does what is requested in the folder whose path it is sent. `ahead`: it has time before."""
        progress, grains = ProgressSlot(), self.grains()

        def wait_and_work(pipe: AgentPipe) -> None:
            folder = RunFolder(Path(os.fsdecode(self._waited_for(pipe, grains) if ahead else pipe.receive())))
            on_start = progress.write
            work(WorkerRequest(folder=folder, settings=self.settings, grains=grains, on_start=on_start), pipe)

        return Worker(self.fork(wait_and_work), progress)

    def _waited_for(self, pipe: AgentPipe, grains: Mapping[str, Any]) -> bytes:
        """What a worker is sent that was forked ahead. No module of the tree or of the machine is loaded before."""
        context = Context(minion_id=self.settings.id, opts=salt_opts(self.settings), make_grains=lambda: grains)
        Modules(context).call("test.ping")  # so that it has pages of its own for what a call touches
        context.user_modules.dunders()
        with named(SPARE):
            return pipe.receive()

    def fact_answer(self) -> Answer:
        """What answers fact queries."""
        functions = self._functions()
        return lambda question, allowed: answer(question, allowed, functions)

    def update_mine(self) -> None:
        """Collect the mine."""
        self._functions().call("mine.update")

    def host_beacons(self, modules: Iterable[str]) -> Child:
        """A child that runs the beacons until the agent has gone.

        What it needs is imported here, and `gc` leaves alone what is there by now, so that both processes have it in
        the same memory: otherwise they take 10 MiB more together.

        Args:
            modules: of the beacons that are configured.
        """
        from minion.agent.beacon_ports import ports_of
        from minion.beacons.host import BeaconHost

        for name in modules:
            importlib.import_module(name)
        gc.collect()
        gc.freeze()
        return self.fork(lambda pipe: BeaconHost(ports_of(self._context()), pipe).run())

    def deliver_to(self, returner: str) -> Child:
        """A child that delivers what waits for a returner; without a name one that tells for whom something waits."""

        def deliver(pipe: AgentPipe) -> None:
            from minion.worker.return_delivery import deliver_waiting, waiting_returners  # opens the spool: sqlite3

            done = deliver_waiting(self._context(), returner) if returner else waiting_returners(self.settings.cachedir)
            pipe.send(msgspec.json.encode(done))

        return self.fork(deliver)

    def _functions(self) -> Modules:
        """The execution functions, where no states are run."""
        return Modules(self._context())

    def _context(self) -> Context:
        settings, document = self.settings, self.document
        return Context(
            minion_id=settings.id,
            options=settings.options,
            opts=salt_opts(settings),
            make_grains=self.grains,
            make_pillar=lambda: read_document(document).desired.pillar if document.exists() else {},
            cachedir=str(settings.cachedir),
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
