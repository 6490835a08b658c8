"""Compiles on a Dask cluster of this machine: two workers beside one, and what the way to them costs a minion.

Real processes: a scheduler and workers of one thread, each with its sandboxed compile process. `MINIONS=N` is another
number of minions. Every minion has its id in every SLS, so that each is work: what is measured is computing in
parallel, and a machine with less than three free cores shows less than the workers give, since the controller takes a
share of the processors itself. Beside it stand processor times, which others lengthen less.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from dask_machines import DaskMachines
from dask_pool import pool_on

from controller.compilation.compile_messages import CompileRequest
from controller.compilation.compile_pool import CompilePool
from highstate.types import Minion
from tools.bench import gentree
from tools.bench.figures import Figure

MINIONS = int(os.environ.get("MINIONS", "300"))
STATES = 500
TIMES = 3
TARGET = 1.7
"""Speed of two workers over that of one."""


def measure() -> Iterator[Figure]:
    """Seconds, and milliseconds a minion."""
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder, DaskMachines(Path(folder)) as machines:
        machines.start_scheduler()
        machines.start_worker("w1")
        local = asyncio.run(_local())
        one = asyncio.run(_on(machines, ["w1"]))
        machines.start_worker("w2")
        two = asyncio.run(_on(machines, ["w1", "w2"]))
    what = f"{MINIONS} minions, {STATES} states, each compiled"
    yield Figure(metric=f"{what} by one process of this machine", unit="s", samples=local.seconds)
    beside = statistics.median(local.seconds)
    yield Figure(metric=f"{what} by one worker", unit="s", samples=one.seconds, reference=beside, reference_of="local")
    overhead = [1000 * (each - beside) / MINIONS for each in one.seconds]
    yield Figure(metric="overhead of the way to a worker, each minion", unit="ms", samples=overhead)
    single, load = statistics.median(one.seconds), os.getloadavg()[0]
    yield Figure(
        metric=f"{what} by two workers",
        unit="s",
        samples=two.seconds,
        reference=single,
        reference_of=f"one worker; {single / statistics.median(two.seconds):.2f} times as fast",
        target=single / TARGET,
    )
    for name, times in (("one worker", one), ("two workers", two)):
        what = f"processor time with {name} (load {load:.1f})"
        yield Figure(metric=f"{what}: of the controller, each minion", unit="ms", samples=_each(times.controller))
        yield Figure(metric=f"{what}: of the scheduler, each minion", unit="ms", samples=_each(times.scheduler))
        yield Figure(metric=f"{what}: of the busiest worker", unit="s", samples=times.busiest)


def _each(seconds: Sequence[float]) -> list[float]:
    return [1000 * one / MINIONS for one in seconds]


@dataclass
class Times:
    """Seconds of each compile of all."""

    seconds: list[float] = field(default_factory=list)
    controller: list[float] = field(default_factory=list)
    """Of processors, as the others."""
    scheduler: list[float] = field(default_factory=list)
    busiest: list[float] = field(default_factory=list)
    """The worker that took most, with its compile process."""


async def _local() -> Times:
    pool = CompilePool(workers=1)
    try:
        return await _timed(pool, None, ())
    finally:
        pool.close()


async def _on(machines: DaskMachines, workers: Sequence[str]) -> Times:
    made = pool_on(machines)
    try:
        await asyncio.to_thread(made.has_lanes, len(workers))
        times = await _timed(made.pool, machines, workers)
        if made.compiled["local"]:
            raise RuntimeError(f"compiled here: {made.compiled}")
        return times
    finally:
        made.pool.close()


async def _timed(pool: CompilePool, machines: DaskMachines | None, workers: Sequence[str]) -> Times:
    """Seconds for all, with what is known of templates and nothing of the minions."""
    await _compiled(pool, "first")
    times, names = Times(), (() if machines is None else ("scheduler", *workers))
    for number in range(TIMES):
        began, own = time.monotonic(), time.process_time()
        before = {name: _processor(machines.pid(name)) for name in names} if machines else {}
        await _compiled(pool, str(number))
        times.seconds.append(time.monotonic() - began)
        times.controller.append(time.process_time() - own)
        if machines:
            spent = {name: _processor(machines.pid(name)) - before[name] for name in names}
            times.scheduler.append(spent["scheduler"])
            times.busiest.append(max(spent[name] for name in workers))
    return times


def _processor(pid: int) -> float:
    """Processor seconds of a process, and of those below it."""
    processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return sum(each.user + each.system for each in (one.cpu_times() for one in processes))


async def _compiled(pool: CompilePool, name: str) -> None:
    tree, pillar = gentree.one_class(STATES)
    minions = tuple(_minion(f"{name}-{number}") for number in range(MINIONS))
    request = CompileRequest(
        files=gentree.files_of(tree),
        pillar=gentree.files_of(pillar),
        minions=minions,
        drift={"interval": 60.0, "splay": 0.0},
    )
    async for batch in pool.stream(request):
        if wrong := [answer for answer in batch if not answer.ok]:
            raise RuntimeError(wrong[0].errors[0].message)


def _minion(name: str) -> Minion:
    return Minion(id=name, grains={"id": name, "os": "Debian", "os_family": "Debian", "osfinger": "Debian-12"})
