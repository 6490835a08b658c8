"""Where a run meets the machine: the state engine and the execution modules, put together for one worker.

Called by `minion.worker` once the run is known to be due; importing this is what makes a worker larger than the agent.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from highstate.desired import Desired
from highstate.run import as_running, outcome
from highstate.run import run as run_lowstate
from highstate.types import StateResult
from minion.files import BlobCache, HeldFiles, cache_needs_trim
from minion.journal import RunJournal, kind_of
from minion.states.engine import StateEngine
from minion.states.machine import LocalMachine
from wire.messages import Call, Preview, Run, RunResult

if TYPE_CHECKING:
    from minion.worker import AgentQuestions, Order


def run_chunks(
    order: Order, request: Run | Preview, desired: Desired, journal: RunJournal, questions: AgentQuestions
) -> RunResult:
    """Run the chunks that are asked for; the others count as done, so that requisites on them are satisfied."""
    test = isinstance(request, Preview) or request.test
    cache = BlobCache(order.settings.cachedir)
    machine = LocalMachine(
        sources_port=HeldFiles(desired, cache, questions),
        minion_id=order.settings.id,
        grains=order.grains,
        pillar=desired.pillar,
        opts=order.settings.opts,
    )
    engine = StateEngine(machine, None, test=test)
    wanted = desired.chunks if request.keys is None else frozenset(request.keys)
    known = {
        key: StateResult(name=chunk.name, result=True, comment="Not part of this run")
        for key, chunk in desired.chunks.items()
        if key not in wanted
    }
    results = run_lowstate(
        desired.chunks,
        engine,
        test=test,
        clock=time.time,
        journal=journal,
        known=known,
        failhard=order.settings.failhard,
    )
    if cache_needs_trim(order.settings.cachedir, time.time()):
        cache.trim(time.time())
    return RunResult(
        run_id=request.run_id,
        kind=kind_of(request),
        generation=request.generation if isinstance(request, Run) else 0,
        digest=request.digest,
        outcome=outcome(results),
        states=as_running(desired.chunks, results),
    )


def call_function(order: Order, request: Call, questions: AgentQuestions) -> Any:
    """The return value of an execution function."""
    raise ValueError(f"{request.fun!r} is not available: this minion has no execution modules")
