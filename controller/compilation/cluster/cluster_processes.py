"""The processes of a cluster, for a pool: a lane for each thread of a Dask worker. Called by the composition root.

As long as there is no worker, the lanes are those of this machine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from controller.compilation.cluster.dask_cluster import DaskCluster
from controller.compilation.cluster.dask_process import DaskProcess, LaneParts
from controller.compilation.cluster.steps import LaneSettings
from controller.compilation.cluster.tree_shipping import TreeShipping
from controller.compilation.compile_pool import LocalProcesses
from controller.compilation.workers.process import CompileProcess
from controller.compilation.workers.template_codes import TemplateCodes


class ClusterProcesses:
    """`ProcessSource` of a cluster.

    Args:
        cluster: that was started.
        settings: of processes on its workers.
        local: processes of this machine, which are used when there is no worker.
        compiled: hears `dask` for each minion that a worker has compiled; called from the threads that compile.
        fell_back: hears that a share of a request is compiled here, and why.
    """

    def __init__(
        self,
        cluster: DaskCluster,
        settings: LaneSettings,
        local: LocalProcesses,
        compiled: Callable[[str], None],
        fell_back: Callable[[str], None],
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._local = local
        self._locals: list[CompileProcess] = []
        self._shipping = TreeShipping()
        self._compiled = compiled
        self._fell_back = fell_back

    def count(self) -> int:
        """See `ProcessSource`."""
        return self._cluster.table.lanes() or self._local.count()

    def process(self, index: int, codes: TemplateCodes) -> DaskProcess:
        """See `ProcessSource`."""
        while len(self._locals) < self._local.count():
            self._locals.append(self._local.process(len(self._locals), codes))
        parts = LaneParts(
            cluster=self._cluster,
            settings=self._settings,
            shipping=self._shipping,
            codes=codes,
            compiled=partial(self._compiled, "dask"),
            fell_back=self._fell_back,
        )
        return DaskProcess(index, parts, self._locals[index % len(self._locals)])

    def close(self) -> None:
        """See `ProcessSource`."""
        self._cluster.close()
