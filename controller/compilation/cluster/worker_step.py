"""The function that a Dask worker runs for a controller: one step of a compile, in a thread beside Dask's own.

Called by `saltern.dask_step`, in the process of a Dask worker. Everything that goes wrong is in the outcome: Dask would
send an exception pickled.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import msgspec

from controller.compilation.cluster.lanes import MOST_LANES, Lanes
from controller.compilation.cluster.program_version import program_version
from controller.compilation.cluster.steps import BeginCompile, ContinueCompile, LaneOutcome, StopLanes, step_of

_SPARE_THREADS = 16


@cache
def _lanes() -> Lanes:
    """Those of this process: what Dask calls has nothing but the process to keep something in."""
    return Lanes()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=MOST_LANES + _SPARE_THREADS, thread_name_prefix="compile-step")


async def run_step(version: str, step: bytes) -> bytes:
    """Carry out a step of a controller that runs this version of the program; another one is refused.

    Returns:
        A packed `LaneOutcome`.
    """
    if version != program_version():
        return msgspec.msgpack.encode(LaneOutcome(kind="refused", text=program_version()))
    return await asyncio.get_running_loop().run_in_executor(_threads(), _run, step)


def _run(step: bytes) -> bytes:
    try:
        outcome = _outcome(step)
    except Exception as error:  # the border of a task: a step that fails must not look like a compile that does
        outcome = LaneOutcome(kind="lost", text=f"{type(error).__name__}: {error}")
    return msgspec.msgpack.encode(outcome)


def _outcome(packed: bytes) -> LaneOutcome:
    step = step_of(packed)
    match step:
        case BeginCompile():
            return _lanes().begin(step)
        case ContinueCompile():
            return _lanes().go_on(step)
        case StopLanes():
            return _lanes().stop(step)
        case _:
            return LaneOutcome(kind="done", text=program_version())
