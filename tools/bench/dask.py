"""Compiles on a Dask cluster of this machine: two workers beside one, and what the way to them costs a minion.

Real processes: a scheduler and workers of one thread, each with its sandboxed compile process. `MINIONS=N` is another
number of minions. Every minion has its id in every SLS, so that each is work: what is measured is computing in
parallel, and a machine with less than three free cores shows less than the workers give, since the controller takes a
share of the processors itself.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

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
        one = asyncio.run(_on(machines, 1))
        machines.start_worker("w2")
        two = asyncio.run(_on(machines, 2))
    what = f"{MINIONS} minions, {STATES} states, each compiled"
    yield Figure(metric=f"{what} by one process of this machine", unit="s", samples=local)
    beside = statistics.median(local)
    yield Figure(metric=f"{what} by one worker", unit="s", samples=one, reference=beside, reference_of="local")
    overhead = [1000 * (each - beside) / MINIONS for each in one]
    yield Figure(metric="overhead of the way to a worker, each minion", unit="ms", samples=overhead)
    single = statistics.median(one)
    yield Figure(
        metric=f"{what} by two workers",
        unit="s",
        samples=two,
        reference=single,
        reference_of=f"one worker; {single / statistics.median(two):.2f} times as fast",
        target=single / TARGET,
    )


async def _local() -> Sequence[float]:
    pool = CompilePool(workers=1)
    try:
        return await _timed(pool)
    finally:
        pool.close()


async def _on(machines: DaskMachines, workers: int) -> Sequence[float]:
    made = pool_on(machines)
    try:
        await asyncio.to_thread(made.has_lanes, workers)
        samples = await _timed(made.pool)
        if made.compiled["local"]:
            raise RuntimeError(f"compiled here: {made.compiled}")
        return samples
    finally:
        made.pool.close()


async def _timed(pool: CompilePool) -> Sequence[float]:
    """Seconds for all, with what is known of templates and nothing of the minions."""
    await _compiled(pool, "first")
    samples = []
    for number in range(TIMES):
        began = time.monotonic()
        await _compiled(pool, str(number))
        samples.append(time.monotonic() - began)
    return samples


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
