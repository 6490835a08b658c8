"""Runs states and calls functions: the state engine and the execution modules, put together for one worker.

Called by `minion.worker.worker`. The agent imports this module for its workers, so that neither Jinja, YAML nor the
compile may be imported at its head.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from highstate.desired import Desired
from highstate.run.ignoring import IgnoreRule, rules_of
from highstate.run.ports import Executor, RunHooks
from highstate.run.report import as_running, not_run, outcome
from highstate.run.runner import run
from highstate.types import StateResult
from minion.config.salt_opts import salt_opts
from minion.engine.engine import StateEngine
from minion.engine.registry import MODULES
from minion.execution.context import Context, LowstateSource
from minion.execution.loader import Modules
from minion.execution.state_engine import engine_of, looking_at
from minion.execution.success import failure_of
from minion.machine.plan import Machine
from minion.machine.planned.machine import PlannedMachine
from minion.modules.state.runs import sync_for
from minion.ownership.pruning import Pruned
from minion.processes import AgentGone
from minion.spool.desired_state import FILE_NAME, read_document
from minion.spool.files import BlobCache, HeldFiles, answer_of, cache_needs_trim
from minion.spool.journal import RunJournal, kind_of, own_of
from minion.spool.state_queue import StateQueue
from minion.spool.triggers import TriggerFile
from minion.worker.confirmed_files import pinned
from minion.worker.evidence import with_evidence
from minion.worker.foretold_check import LiveWhereUnread
from minion.worker.live_contents import live_contents
from minion.worker.owned_run import OwnedRun
from minion.worker.preview_sandbox import PreviewFunctions, PreviewMachine, PreviewStates, known_conditions
from minion.worker.request import ControllerClient, WorkerRequest
from minion.worker.run_hooks import run_hooks
from minion.worker.sent_events import AttributedStates, SentEvents
from minion.worker.termination import Stop
from wire.messages import (
    Call,
    FactAnswer,
    FilePushed,
    GetMine,
    MineFound,
    Preview,
    Published,
    Refused,
    Run,
    RunKind,
    RunResult,
)

STOPPED = "the run was ended by SIGTERM"
"""Why states were not run."""

_CHANGING = ("apply", "remediate")
"""Kinds of runs that change the machine."""

BACKUPS = "file_backup"
"""Folder of `backup: minion` in the cachedir (Salt's name)."""


def run_chunks(
    job: WorkerRequest,
    request: Run | Preview,
    desired: Desired,
    journal: RunJournal,
    controller: ControllerClient,
    stop: Stop,
) -> RunResult:
    """Run the chunks that are asked for; the others count as done, so that requisites on them are satisfied."""
    test = isinstance(request, Preview) or request.test
    quiet = isinstance(request, Preview) or kind_of(request) == "drift"
    tells = job.settings.state_events is True and not quiet
    events = SentEvents(job.settings.id, request.run_id, job.folder, controller.wake, each_state=tells)
    aside = job.folder.blobs if isinstance(request, Preview) else None
    context = _context(job, lambda: desired, controller, events=events, aside=aside)
    owned = OwnedRun(job.settings.cachedir, context.machine, writes=not test and kind_of(request) in _CHANGING)
    if isinstance(request, Preview):
        engine = _preview_engine(job, context, desired)
    else:
        sync_for(context, desired.chunks.values())
        engine = _run_engine(context, owned.machine, kind_of(request), desired, test=test)
    hooks = run_hooks(
        job.settings.options.state,
        TriggerFile(job.settings.cachedir, whole=desired.chunks.keys()),
        stop,
        None if quiet else events.on_result,  # reactors would take a check for a state that was run
        job.on_start,
        resumed=True,
    )
    wanted = _wanted(request, desired)
    known = _beside(desired, wanted)
    results = run(
        desired.chunks,
        AttributedStates(owned.states(engine), events),
        test=test,
        clock=time.time,
        journal=journal,
        known=known,
        failhard=job.settings.failhard,
        hooks=hooks,
    )
    found = None
    if isinstance(request, Preview) and request.check:
        live = _live(job)
        drift = _drift_engine(job, controller, events, live)
        checking = engine.checking(LiveWhereUnread(drift, desired, live, wanted))
        found = _found_after(job, desired, AttributedStates(checking, events), hooks)
    left = not_run(desired.chunks, results, known, STOPPED) if stop.requested() else {}
    touched = kind_of(request) == "drift" and request.keys is not None
    pruned = Pruned() if touched else owned.after(desired, engine, results, journal, hooks)
    if stop.suspended():
        raise AgentGone  # the next worker goes on from the journal
    results = {**results, **pruned.results}
    if aside is None:
        _trim_cache(job)
    return _result(request, desired, results, left, pruned, found)


def _result(
    request: Run | Preview,
    desired: Desired,
    results: Mapping[str, StateResult],
    left: Mapping[str, StateResult],
    pruned: Pruned,
    found: Any,
) -> RunResult:
    return RunResult(
        run_id=request.run_id,
        kind=kind_of(request),
        generation=request.generation if isinstance(request, Run) else 0,
        digest=request.digest,
        outcome="error" if left else outcome(results),
        error=f"{STOPPED}: {len(left)} of {len(results) + len(left)} states were not run" if left else "",
        states=_told(kind_of(request), as_running({**desired.chunks, **pruned.chunks}, {**results, **left})),
        own=own_of(request),
        value=found,
        prune=pruned.report,
    )


def _wanted(request: Run | Preview, desired: Desired) -> Collection[str]:
    """Keys of the chunks to run."""
    if request.keys is not None:
        return frozenset(request.keys)
    left_out = request.left_out if isinstance(request, Run) else ()
    return desired.chunks.keys() - set(left_out) if left_out else desired.chunks


def _beside(desired: Desired, wanted: Collection[str]) -> dict[str, StateResult]:
    return {
        key: StateResult(name=chunk.name, result=True, comment="Not part of this run")
        for key, chunk in desired.chunks.items()
        if key not in wanted
    }


def _found_after(job: WorkerRequest, desired: Desired, checking: Executor, hooks: RunHooks) -> dict[str, Any]:
    """What would still have something to do after the run that was foretold, by key: the check after a push."""
    results = run(desired.chunks, checking, test=True, clock=time.time, failhard=job.settings.failhard, hooks=hooks)
    return as_running(desired.chunks, {key: result for key, result in results.items() if result.result is None})


def _drift_engine(job: WorkerRequest, controller: ControllerClient, events: SentEvents, live: Desired) -> StateEngine:
    context = _context(job, lambda: live, controller, events=events, aside=job.folder.blobs)
    return engine_of(context, context.machine, test=True, drift=True, ignored=_ignored("drift", live))


def _told(kind: RunKind, states: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return with_evidence(states) if kind == "drift" else states


def _run_engine(context: Context, machine: Machine, kind: RunKind, desired: Desired, *, test: bool) -> StateEngine:
    rules, looks_again = _ignored(kind, desired), kind in _CHANGING and not test
    return engine_of(context, machine, test=test, drift=kind == "drift", ignored=rules, looks_again=looks_again)


def _ignored(kind: RunKind, desired: Desired) -> tuple[IgnoreRule, ...]:
    """What a run neither tells nor puts right; what people or a push ask for is done whole."""
    return rules_of(desired.drift.get("ignore"), time.time()) if kind in ("drift", "remediate") else ()


def _live(job: WorkerRequest) -> Desired:
    path = job.settings.cachedir / FILE_NAME
    return read_document(path).desired if path.exists() else Desired(chunks={})


def _preview_engine(job: WorkerRequest, context: Context, desired: Desired) -> StateEngine:
    """An engine that runs nothing that only the branch has, and shows no content that the live runs do not show."""
    from highstate.functions.catalog import BUILT_IN
    from highstate.render.pipeline import SHAPING

    live = _live(job)
    known = known_conditions(live)
    machine = PreviewMachine(
        sources_port=context.files,
        minion_id=context.minion_id,
        grains=context.grains,
        pillar=context.pillar,
        opts={name: context.opts[name] for name in SHAPING if name in context.opts},
        uncalled=[name for name in context.functions if name not in BUILT_IN],
        known=known,
        contents=live_contents(live),
    )
    planned = PlannedMachine(machine)
    seen = looking_at(planned, context, planned.over(context.machine))
    functions = PreviewFunctions(functions=Modules(seen), known=known)
    states = PreviewStates(_tree_states(context, desired))
    return StateEngine(
        machine, functions, test=True, backup_dir=context.backup_dir, user_states=states, planned=planned
    )


def _tree_states(context: Context, desired: Desired) -> frozenset[str]:
    """States of the document that are modules of the tree."""
    unknown = {chunk.state for chunk in desired.chunks.values()} - set(MODULES)
    if not unknown:
        return frozenset()
    try:
        listed = context.files.list("_states")
    except OSError:
        return frozenset(unknown)
    return frozenset(path.removeprefix("_states/").removesuffix("/__init__.py").removesuffix(".py") for path in listed)


class CallEnd(NamedTuple):
    """What an execution function returned."""

    value: Any
    failure: str
    """Why it counts as failed, as Salt decides it; empty when it succeeded."""
    retcode: int


def call_function(
    job: WorkerRequest, request: Call, controller: ControllerClient, stop: Stop, journal: RunJournal
) -> CallEnd:
    """Call an execution function; what it raises is raised. With states that came with the call it runs these."""
    path = job.folder.document if request.digest else job.settings.cachedir / FILE_NAME

    @cache
    def held() -> Desired:
        return read_document(path).desired if path.exists() else Desired(chunks={})

    tells = job.settings.state_events is True
    events = SentEvents(job.settings.id, request.run_id, job.folder, controller.wake, each_state=tells)
    begun = bool(journal.recorded.done or journal.recorded.intents)
    state_queue = StateQueue(job.settings.cachedir, request.fun, request.run_id, begun=begun)
    resumed = journal if request.digest else None
    context = _context(job, held, controller, events=events, state_queue=state_queue, stop=stop, journal=resumed)
    context.asker = request.asker
    value = Modules(context).call(request.fun, request.args, request.kwargs)
    failure = failure_of(value, context.retcode)
    return CallEnd(value, failure, context.retcode or int(bool(failure)))


def _context(
    job: WorkerRequest,
    held: Callable[[], Desired],
    controller: ControllerClient,
    *,
    events: SentEvents,
    state_queue: StateQueue | None = None,
    stop: Stop | None = None,
    aside: Path | None = None,
    journal: RunJournal | None = None,
) -> Context:
    def compiler() -> LowstateSource:
        from minion.execution.lowstate_sources import HeldCompiler, SentStates

        if journal is not None:
            return SentStates(minion_id=job.settings.id, desired=held())
        return HeldCompiler(minion_id=job.settings.id, desired=held(), controller=controller)

    def hooks() -> RunHooks:
        triggers = TriggerFile(job.settings.cachedir)
        options, resumed = job.settings.options.state, journal is not None
        return run_hooks(options, triggers, stop, events.on_result, job.on_start, resumed=resumed)

    return Context(
        minion_id=job.settings.id,
        options=job.settings.options,
        opts=salt_opts(job.settings),
        make_grains=lambda: job.grains,
        read_again=lambda what: _collect_grains(job) if what == "grains" else held().pillar,
        make_pillar=lambda: held().pillar,
        make_files=lambda: HeldFiles(held(), BlobCache(job.settings.cachedir, aside=aside), controller),
        make_compiler=compiler,
        state_queue=state_queue,
        failhard=job.settings.failhard,
        backup_dir=str(job.settings.cachedir / BACKUPS),
        run_id=job.folder.path.name,
        cachedir=str(job.settings.cachedir),
        config_dir=str(job.settings.config_dir),
        fire=events.fire,
        ask_mine=lambda asked: _mine_of_others(controller, asked),
        publish=lambda question: answer_of(controller, question, Published),
        push=lambda piece: answer_of(controller, piece, FilePushed),
        tree_has_modules=lambda: bool(held().modules),
        make_run_hooks=hooks,
        journal=journal,
    )


def _collect_grains(job: WorkerRequest) -> Mapping[str, Any]:
    from minion.grains.minion_grains import collect_grains

    return collect_grains(job.settings)


def _mine_of_others(controller: ControllerClient, asked: str) -> FactAnswer:
    answer = controller.ask(GetMine(request=0, asked=asked))
    if isinstance(answer, MineFound):
        return answer.answer
    return FactAnswer(error=answer.message if isinstance(answer, Refused) else "an answer of another kind came")


def _trim_cache(job: WorkerRequest) -> None:
    now = time.time()
    if cache_needs_trim(job.settings.cachedir, now):
        BlobCache(job.settings.cachedir).trim(now, pinned=pinned(job.settings.cachedir))
