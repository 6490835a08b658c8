"""What Prometheus sees of compiles on several machines. Called by `compilation.cluster`, from its threads."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

EXECUTORS = ("local", "dask")


class ExecutorMetrics:
    """Series of the executor of compiles."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._minions = Counter(
            "saltern_compile_minions", "Minions compiled for the live trees", ["executor"], registry=registry
        )
        for executor in EXECUTORS:  # made at once, so that a rate starts from zero
            self._minions.labels(executor)
        self._fallbacks = Counter(
            "saltern_compile_fallbacks",
            "Shares of a compile that were done on this machine, as no worker of the cluster was there",
            registry=registry,
        )
        self._workers = Gauge("saltern_compile_workers", "Workers of the cluster", ["state"], registry=registry)
        self.workers(ready=0, silent=0, refused=0)

    def compiled(self, executor: str) -> None:
        """A minion was compiled, `local` or by `dask`."""
        self._minions.labels(executor).inc()

    def fell_back(self) -> None:
        """A share of a compile is done here in place of the cluster."""
        self._fallbacks.inc()

    def workers(self, *, ready: int, silent: int, refused: int) -> None:
        """So many workers of the cluster can be used; so many have no heartbeat; so many are refused."""
        self._workers.labels("ready").set(ready)
        self._workers.labels("silent").set(silent)
        self._workers.labels("refused").set(refused)
