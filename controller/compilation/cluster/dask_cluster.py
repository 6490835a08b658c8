"""The connection to a Dask scheduler: which workers there are, and what is asked of one of them.

Used by `dask_process` from the threads that compile; it has a thread and a loop of its own, in which everything of Dask
happens. A scheduler that is away is tried again, for ever; meanwhile there are no workers. It decides nothing about
minions. Dask is imported here alone, when the thread starts: a controller without it has nothing of it in memory.

Steps are sent by `Client.run`, not as tasks: a task that is bound to a worker which has died waits for it in silence,
and one that is not loses the memory that its lane has there (docs/adr/0031).
"""

from __future__ import annotations

import asyncio
import importlib
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import msgspec
import structlog

from controller.compilation.cluster.program_version import program_version
from controller.compilation.cluster.steps import LaneOutcome, LaneStep, ProbeWorker, StopLanes, outcome_of
from controller.compilation.cluster.worker_table import SILENT_SECONDS, SeenWorker, WorkerChanges, WorkerTable
from controller.config.compile_executor import ExecutorOptions

log = structlog.get_logger("saltern.compile_executor")

LOOK_SECONDS = 0.5
"""Between two looks which workers there are."""
RETRY_SECONDS = 2.0
"""Until a scheduler that is away is tried again."""
_CONNECT_SECONDS = 5.0
_LOOK_TIMEOUT = 10.0
_PROBE_SECONDS = 60.0
_PROBE_AGAIN = 30.0
"""Until a worker is asked again that has not answered."""
_SUSPENDED_SECONDS = 60.0
"""For which a worker that does not answer is left alone."""
_DOUBTED_SECONDS = 3.0
"""The same of one to which no step could be sent: the scheduler says within that time whether it is gone."""
_STOP_SECONDS = 2.0
_DASK = {"logging": {"distributed": "critical", "distributed.client": "critical"}}
"""Dask's log is not that of the controller: what counts of it is said here."""
_INSTALL = "install the controller's version there: pip install 'saltern[controller,dask]'"
_ASK_LOG = "it is asked again; the worker's log may say why"
_ENCRYPT = "use tls://, or start it with --host 127.0.0.1 (docs/compile-workers.md)"


class ClusterLost(Exception):
    """The worker, or the whole cluster, is not there any more."""


class WorkerCounts(Protocol):
    """Hears how many workers there are."""

    def __call__(self, *, ready: int, silent: int, refused: int) -> None:
        """So many can be used; so many have no heartbeat; so many run another version, or do not answer."""


@dataclass(frozen=True, slots=True)
class ClusterConnection:
    """Whether the scheduler is reached."""

    state: Literal["connecting", "connected", "unreachable"]
    since: float
    """Unix time."""
    error: str = ""


class DaskCluster:
    """One scheduler and its workers. `start` it, and `close` it.

    Args:
        options: where it is, and the certificates.
        controller: name of this controller's lanes on the workers.
        on_workers: called when the number of workers changes, in the thread of the cluster.
    """

    def __init__(self, options: ExecutorOptions, controller: str, on_workers: WorkerCounts) -> None:
        self.controller = controller
        self._options = options
        self._on_workers = on_workers
        self.table = WorkerTable()
        self.connection = ClusterConnection("connecting", time.time())
        self._client: Any = None
        self._step: Callable[..., Any] | None = None
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._said = ""
        self._probes: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="dask-cluster", daemon=True)

    def start(self) -> None:
        """Connect, in a thread."""
        self._thread.start()

    def close(self) -> None:
        """End the lanes on all workers, and the connection."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join(_STOP_SECONDS + _CONNECT_SECONDS)

    def suspend(self, address: str) -> None:
        """Leave a worker alone for a while: it does not answer. From any thread."""
        self.table.suspend(address, _SUSPENDED_SECONDS, "it has not answered")
        log.warning("compile worker does not answer", worker=address, seconds=_SUSPENDED_SECONDS)

    def doubt(self, address: str, why: str) -> None:
        """A step could not be handed over: leave the worker alone until it is known whether it is there. From any
        thread."""
        self.table.suspend(address, _DOUBTED_SECONDS, why)

    def step(self, address: str, step: LaneStep) -> Future[LaneOutcome]:
        """Have a worker carry out a step. From any thread; the future raises ClusterLost."""
        packed = msgspec.msgpack.encode(step)
        return asyncio.run_coroutine_threadsafe(self._asked(address, packed), self._loop)

    async def _asked(self, address: str, packed: bytes) -> LaneOutcome:
        client = self._client
        if client is None or self._step is None:
            raise ClusterLost("there is no connection to the scheduler")
        try:
            found = await client.run(self._step, program_version(), packed, workers=[address])
            return outcome_of(found[address])
        except Exception as error:  # of Dask, of the network, of an import there: whatever it is, there is no answer
            raise ClusterLost(f"{type(error).__name__}: {error}") from error

    # --- in the thread ---

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._follow())
        finally:
            self._loop.close()

    async def _follow(self) -> None:
        """Be connected, whenever that is possible, until it is closed."""
        while not self._closing.is_set():
            try:
                client = await self._connected()
            except Exception as error:  # whatever Dask raises: it is tried again
                self._say(f"{type(error).__name__}: {error}".partition("\n")[0])
            else:
                await self._connection(client)
            with suppress(TimeoutError):
                async with asyncio.timeout(RETRY_SECONDS):
                    await self._closing.wait()

    async def _connected(self) -> Any:
        dask: Any = importlib.import_module("dask")
        dask.config.set(_DASK)
        distributed: Any = importlib.import_module("distributed")
        self._step = importlib.import_module("saltern.dask_step").run_step
        options, security = self._options, None
        if options.is_encrypted:
            security = distributed.Security(
                tls_ca_file=str(options.tls_ca),
                tls_client_cert=str(options.tls_cert),
                tls_client_key=str(options.tls_key),
                require_encryption=True,
            )
        return await distributed.Client(
            options.scheduler, security=security, timeout=_CONNECT_SECONDS, asynchronous=True, set_as_default=False
        )

    async def _connection(self, client: Any) -> None:
        """Look which workers there are, as long as the scheduler answers."""
        self._client = client
        log.info("connected to the Dask scheduler", scheduler=self._options.address)
        self._said, self.connection = "", ClusterConnection("connected", time.time())
        try:
            while not self._closing.is_set():
                async with asyncio.timeout(_LOOK_TIMEOUT):
                    identity = await client.scheduler.identity(n_workers=-1)
                self._see({address: _seen(each) for address, each in identity["workers"].items()})
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self._closing.wait()
            await self._stop_lanes()
        except Exception as error:  # whatever Dask raises: the scheduler is gone
            self._say(f"{type(error).__name__}: {error}".partition("\n")[0])
        finally:
            self._client = None
            self._see({})
            with suppress(Exception):
                async with asyncio.timeout(_STOP_SECONDS):
                    await client.close()

    async def _stop_lanes(self) -> None:
        """Nobody will ask for these processes again."""
        packed = msgspec.msgpack.encode(StopLanes(controller=self.controller))
        asked = [self._asked(address, packed) for address in self.table.ready()]
        with suppress(Exception):
            async with asyncio.timeout(_STOP_SECONDS):
                await asyncio.gather(*asked, return_exceptions=True)

    def _see(self, workers: Mapping[str, SeenWorker]) -> None:
        """These workers are there now; new ones are asked who they are."""
        found = self.table.see(workers)
        for address in found.new:
            if self._options.may_use(address):
                self._probes.add(probe := self._loop.create_task(self._probe(address, workers[address].threads)))
                probe.add_done_callback(self._probes.discard)
            else:
                self._refuse(address, "it is another machine, and is not encrypted", _ENCRYPT)
        for address in found.gone if not self._closing.is_set() else ():
            log.warning("compile worker is gone", worker=address)
        for address in found.silent:
            log.warning("compile worker is silent: its minions go to others", worker=address, seconds=SILENT_SECONDS)
        for address in found.woken:
            log.info("compile worker is back", worker=address)
        if found != WorkerChanges():
            self._count()

    async def _probe(self, address: str, threads: int) -> None:
        """Ask a new worker who it is."""
        packed = msgspec.msgpack.encode(ProbeWorker())
        again = float("inf")
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                found = await self._asked(address, packed)
            reason = "" if found.kind == "done" else f"it runs {found.text}, and this is {program_version()}"
            hint = _INSTALL
        except (ClusterLost, TimeoutError) as error:
            reason, hint, again = str(error) or "it does not answer", _ASK_LOG, _PROBE_AGAIN
        if reason:
            self._refuse(address, reason, hint, again)
        elif self.table.answered(address):
            log.info("compile worker is ready", worker=address, processes=threads)
            self._count()

    def _refuse(self, address: str, reason: str, hint: str, again: float = float("inf")) -> None:
        if self.table.refuse(address, f"{reason}: {hint}", again):
            log.error("compile worker is refused", worker=address, reason=reason, hint=hint)
            self._count()

    def _count(self) -> None:
        self._on_workers(**self.table.counts())

    def _say(self, why: str) -> None:
        """Log once that the scheduler is not there."""
        if self.connection.state != "unreachable" or self.connection.error != why:
            since = self.connection.since if self.connection.state == "unreachable" else time.time()
            self.connection = ClusterConnection("unreachable", since, why)
        if why != self._said:
            self._said = why
            log.warning(
                "the Dask scheduler cannot be reached: compiles go on in processes of this machine",
                scheduler=self._options.address,
                error=why,
            )


def _seen(worker: Mapping[str, Any]) -> SeenWorker:
    """What the scheduler says of a worker."""
    return SeenWorker(
        name=str(worker["name"]), threads=max(1, int(worker["nthreads"])), last_seen=float(worker["last_seen"])
    )
