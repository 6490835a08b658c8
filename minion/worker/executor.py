"""Where a run meets the machine: the state engine and the execution modules, put together for one worker.

Called by `minion.worker.worker`. The agent holds this module ready for its workers, so that neither Jinja, YAML nor the
compile may be imported at its head.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from highstate.desired import Desired
from highstate.run import as_running, not_run, outcome, run
from highstate.run.ports import RunHooks
from highstate.types import StateResult
from minion.engine.engine import StateEngine
from minion.engine.registry import MODULES
from minion.execution.context import Context, LowstateSource
from minion.execution.loader import Modules
from minion.execution.state_engine import engine_of
from minion.modules.state.runs import sync_for
from minion.processes import AgentGone
from minion.spool.desired_state import FILE_NAME, read_document
from minion.spool.files import BlobCache, HeldFiles, cache_needs_trim
from minion.spool.journal import RunJournal, kind_of
from minion.spool.state_queue import StateQueue
from minion.spool.triggers import TriggerFile
from minion.worker.preview_sandbox import PreviewFunctions, PreviewMachine, PreviewStates, known_conditions
from minion.worker.request import AgentQuestions, WorkerRequest
from minion.worker.returners import answer, hand_over, names_of
from minion.worker.run_hooks import SentEvents, run_hooks
from minion.worker.termination import Stop
from wire.messages import Call, FactAnswer, GetMine, MineFound, Preview, Refused, Run, RunResult

STOPPED = "the run was ended by SIGTERM"
"""Why states were not run."""

log = logging.getLogger(__name__)

BACKUPS = "file_backup"
"""Folder of `backup: minion` in the cachedir (Salt's name)."""


def run_chunks(
    order: WorkerRequest,
    request: Run | Preview,
    desired: Desired,
    journal: RunJournal,
    questions: AgentQuestions,
    stop: Stop,
) -> RunResult:
    """Run the chunks that are asked for; the others count as done, so that requisites on them are satisfied."""
    test = isinstance(request, Preview) or request.test
    events = SentEvents(order.settings.id, request.run_id)
    context = _context(order, lambda: desired, questions, events=events)
    if isinstance(request, Preview):
        engine = _preview_engine(order, context, desired)
    else:
        sync_for(context, desired.chunks.values())
        engine = engine_of(context, context.machine, test=test)
    around = run_hooks(
        order.settings.opts,
        TriggerFile(order.settings.cachedir, whole=desired.chunks.keys()),
        stop,
        events.on_result,
        order.on_start,
        resumed=True,
    )
    wanted = desired.chunks if request.keys is None else frozenset(request.keys)
    known = {
        key: StateResult(name=chunk.name, result=True, comment="Not part of this run")
        for key, chunk in desired.chunks.items()
        if key not in wanted
    }
    failhard = order.settings.failhard
    results = run(
        desired.chunks,
        engine,
        test=test,
        clock=time.time,
        journal=journal,
        known=known,
        failhard=failhard,
        around=around,
    )
    if stop.left_off():
        raise AgentGone  # the next worker goes on from the journal
    left = not_run(desired.chunks, results, known, STOPPED) if stop.asked() else {}
    _trim_cache(order)
    return RunResult(
        run_id=request.run_id,
        kind=kind_of(request),
        generation=request.generation if isinstance(request, Run) else 0,
        digest=request.digest,
        outcome="error" if left else outcome(results),
        error=f"{STOPPED}: {len(left)} of {len(results) + len(left)} states were not run" if left else "",
        states=as_running(desired.chunks, {**results, **left}),
        events=events.sent(),
    )


def _preview_engine(order: WorkerRequest, context: Context, desired: Desired) -> StateEngine:
    """An engine that runs nothing which the branch brings and the live document has not."""
    live = order.settings.cachedir / FILE_NAME
    known = known_conditions(read_document(live).desired) if live.exists() else frozenset()
    machine = PreviewMachine(
        sources_port=context.files,
        minion_id=context.minion_id,
        grains=context.grains,
        pillar=context.pillar,
        opts=context.opts,
        known=known,
    )
    functions = PreviewFunctions(functions=Modules(context), known=known)
    return StateEngine(machine, functions, test=True, user_states=PreviewStates(_brought(context, desired)))


def _brought(context: Context, desired: Desired) -> frozenset[str]:
    """The states that are not built in and that the tree has a module for."""
    strange = {chunk.state for chunk in desired.chunks.values()} - set(MODULES)
    if not strange:
        return frozenset()
    try:
        listed = context.files.list("_states")
    except OSError:
        return frozenset(strange)
    return frozenset(path.removeprefix("_states/").removesuffix("/__init__.py").removesuffix(".py") for path in listed)


def call_function(order: WorkerRequest, request: Call, questions: AgentQuestions, stop: Stop) -> tuple[Any, SentEvents]:
    """The return value of an execution function, and the events that it sent; what it raises is raised."""
    path = order.settings.cachedir / FILE_NAME

    @cache
    def held() -> Desired:
        return read_document(path).desired if path.exists() else Desired(chunks={})

    events = SentEvents(order.settings.id, request.run_id)
    state_queue = StateQueue(order.settings.cachedir, request.fun, request.run_id)
    context = _context(order, held, questions, events=events, state_queue=state_queue, stop=stop)
    value = Modules(context).call(request.fun, request.args, request.kwargs)
    if order.settings.opts.get("return"):
        _return(context, request, value)
    return value, events


def _return(context: Context, request: Call, value: Any) -> None:
    """Hand the value to the returners of the configuration; the controller has it in any case."""
    ret = answer(context, request.fun, [str(one) for one in request.args], value, success=True, retcode=0)
    ret["jid"] = request.run_id
    for said in hand_over(context, names_of(context.opts["return"]), ret, sys.stderr):
        log.warning("event=not_returned run_id=%s error=%s", request.run_id, said)


def _context(
    order: WorkerRequest,
    held: Callable[[], Desired],
    questions: AgentQuestions,
    *,
    events: SentEvents,
    state_queue: StateQueue | None = None,
    stop: Stop | None = None,
) -> Context:
    def compiler() -> LowstateSource:
        from minion.execution.lowstate_sources import HeldCompiler

        return HeldCompiler(minion_id=order.settings.id, desired=held())

    def surround() -> RunHooks:
        triggers = TriggerFile(order.settings.cachedir)
        return run_hooks(order.settings.opts, triggers, stop, on_result=events.on_result, on_start=order.on_start)

    return Context(
        minion_id=order.settings.id,
        opts=order.settings.opts,
        make_grains=lambda: order.grains,
        read_again=lambda what: _grains_again(order) if what == "grains" else held().pillar,
        make_pillar=lambda: held().pillar,
        make_files=lambda: HeldFiles(held(), BlobCache(order.settings.cachedir), questions),
        make_compiler=compiler,
        state_queue=state_queue,
        failhard=order.settings.failhard,
        backup_dir=str(order.settings.cachedir / BACKUPS),
        cachedir=str(order.settings.cachedir),
        config_dir=str(order.settings.config_dir),
        fire=events.fire,
        ask_mine=lambda asked: _mine_of_others(questions, asked),
        make_run_hooks=surround,
    )


def _grains_again(order: WorkerRequest) -> Mapping[str, Any]:
    from minion.grains.minion_grains import collect_grains

    return collect_grains(order.settings)


def _mine_of_others(questions: AgentQuestions, asked: str) -> FactAnswer:
    answer = questions.ask(GetMine(request=0, asked=asked))
    if isinstance(answer, MineFound):
        return answer.answer
    return FactAnswer(error=answer.message if isinstance(answer, Refused) else "an answer of another kind came")


def _trim_cache(order: WorkerRequest) -> None:
    now = time.time()
    if cache_needs_trim(order.settings.cachedir, now):
        BlobCache(order.settings.cachedir).trim(now)
