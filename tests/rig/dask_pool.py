"""A pool of compile processes on a cluster of this machine, wired as the controller does."""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from dask_machines import DaskMachines, wait_until

from controller.compilation.cluster.cluster_processes import ClusterProcesses
from controller.compilation.cluster.dask_cluster import DaskCluster
from controller.compilation.cluster.steps import LaneSettings
from controller.compilation.compile_pool import CompilePool, LocalProcesses
from controller.compilation.sandbox import SandboxPolicy
from controller.config.compile_executor import ExecutorOptions
from controller.config.limits import CompileWorkerLimits


@dataclass
class PoolOnCluster:
    """The pool, and what it has told."""

    pool: CompilePool
    cluster: DaskCluster
    compiled: Counter[str] = field(default_factory=Counter)
    """Where minions were compiled."""
    fallbacks: int = 0
    reasons: list[str] = field(default_factory=list)
    """Of fallbacks."""
    workers: dict[str, int] = field(default_factory=dict)

    def has_lanes(self, count: int) -> None:
        """Wait until there are so many."""
        wait_until(lambda: self.cluster.table.lanes() == count, f"{count} lanes")


def pool_on(
    machines: DaskMachines,
    *,
    timeout: float = 60.0,
    limits: CompileWorkerLimits | None = None,
    workers: int = 1,
    certificates: Path | None = None,
    **more: object,
) -> PoolOnCluster:
    """A pool on these machines, with `workers` local processes for when they are gone."""
    limits = limits or CompileWorkerLimits()
    tls = {f"tls_{name}": certificates / f"{name}.pem" for name in ("ca", "cert", "key")} if certificates else {}
    options = ExecutorOptions(address=machines.address, **tls)

    def count(**counts: int) -> None:
        made.workers = counts

    def heard(executor: str) -> None:
        made.compiled[executor] += 1

    def fell_back(why: str) -> None:
        made.fallbacks += 1
        made.reasons.append(why)

    cluster = DaskCluster(options, secrets.token_hex(8), count)
    sandbox = SandboxPolicy()
    local = LocalProcesses(workers=workers, timeout=timeout, sandbox_policy=sandbox, limits=limits, compiled=heard)
    settings = LaneSettings(timeout=timeout, sandbox_policy=sandbox, limits=limits)
    source = ClusterProcesses(cluster, settings, local, heard, fell_back)
    made = PoolOnCluster(CompilePool(source=source, timeout=timeout, limits=limits, **more), cluster)
    cluster.start()
    return made
