"""Where minions are compiled, for people and for Prometheus. Called from the threads that compile, and by the API.

It counts and tells; it decides nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from controller.compilation.cluster.dask_cluster import DaskCluster
from controller.compilation.cluster.worker_table import WorkerStanding
from controller.schema.minions import CompileWorker, ExecutorStatus


class ExecutorCounts(Protocol):
    """Hears what is counted (`observe.executor_metrics`)."""

    def compiled(self, executor: str) -> None:
        """A minion was compiled, `local` or by `dask`."""

    def fell_back(self) -> None:
        """A share of a compile is done here in place of the cluster."""


class ExecutorReport:
    """Of one controller, since it has started.

    Args:
        address: `compile_executor`.
        counts: hears the same.
        cluster: None: minions are compiled by processes of this machine.
        clock: Unix time.
    """

    def __init__(
        self,
        address: str,
        counts: ExecutorCounts,
        cluster: DaskCluster | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._address = address
        self._counts = counts
        self._cluster = cluster
        self._clock = clock
        self._lock = threading.Lock()
        self._minions = {"local": 0, "dask": 0}
        self._fallbacks = 0
        self._fallback_at: float | None = None
        self._fallback_reason = ""

    def compiled(self, executor: str) -> None:
        """A minion was compiled, `local` or by `dask`."""
        with self._lock:
            self._minions[executor] += 1
        self._counts.compiled(executor)

    def fell_back(self, reason: str) -> None:
        """A share of a compile is done here in place of the cluster."""
        with self._lock:
            self._fallbacks += 1
            self._fallback_at, self._fallback_reason = self._clock(), reason
        self._counts.fell_back()

    def status(self) -> ExecutorStatus:
        """As it is now."""
        connection = self._cluster.connection if self._cluster is not None else None
        workers = self._cluster.table.standings() if self._cluster is not None else []
        with self._lock:
            return ExecutorStatus(
                executor=self._address,
                state="local" if connection is None else connection.state,
                since=None if connection is None else connection.since,
                error="" if connection is None else connection.error,
                minions_here=self._minions["local"],
                minions_on_workers=self._minions["dask"],
                fallbacks=self._fallbacks,
                fallback_at=self._fallback_at,
                fallback_reason=self._fallback_reason,
                workers=tuple(map(_view, workers)),
            )


def _view(worker: WorkerStanding) -> CompileWorker:
    return CompileWorker(
        worker=worker.address,
        name=worker.name,
        state=worker.state,
        processes=worker.processes,
        minions=worker.minions,
        since=worker.since,
        reason=worker.reason,
    )
