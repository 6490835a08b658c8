"""A fleet whose SLS all contain the minion's id: what the compile processes take for each."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import replace

import psutil

from controller.compilation.compile_messages import CompileRequest
from controller.compilation.compile_pool import CompilePool
from highstate.types import Minion
from tools.bench import gentree
from tools.bench.figures import Figure
from tools.bench.fleet.scene import STATES


def figures(minions: int) -> Iterator[Figure]:
    """Milliseconds of processor time a minion; the first make the code of templates and the compile with blanks."""
    tree, pillar = (gentree.files_of(each) for each in gentree.one_class(STATES))
    names = [f"web-{number:05d}" for number in range(minions)]
    members = tuple(Minion(id=each, grains={"id": each, "os": "Debian", "os_family": "Debian"}) for each in names)
    pool = CompilePool(workers=os.cpu_count() or 1)
    try:
        first, others = members[: minions // 5], members[minions // 5 :]
        request = CompileRequest(files=tree, pillar=pillar, minions=first)
        what = f"{minions} minions whose SLS all print the id"
        yield replace(_figure(f"{what}: of the first fifth", pool, request), target=None)
        yield _figure(f"{what}: of the others", pool, replace(request, minions=others))
        request = replace(request, minions=members)
        path = "role_0017/init.sls"
        edited = tree.edited(path, tree.read(path).replace(b"first of", b"edited first of", 1))
        yield _figure(f"{what}: of all, with one SLS edited", pool, replace(request, files=edited))
    finally:
        pool.close()


def _figure(metric: str, pool: CompilePool, request: CompileRequest) -> Figure:
    before = _computing()
    asyncio.run(_compile(pool, request))
    spent = 1000 * (_computing() - before) / len(request.minions)
    return Figure(metric=f"{metric}, a minion (processor time)", unit="ms", samples=[spent], target=3.0)


async def _compile(pool: CompilePool, request: CompileRequest) -> None:
    async for batch in pool.stream(request):
        for answer in batch:
            if not answer.ok or not answer.document:
                raise RuntimeError(answer.errors)


def _computing() -> float:
    found = time.process_time()
    for each in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            found += sum(each.cpu_times()[:2])
    return found
