"""One run or call, from its folder to its result: what a worker does.

Called by `minion.agent.child_tasks` within the child. It must not touch the agent's sockets. Imports are in the agent's
memory, where they save 30 ms of each run; what only some runs need is imported where it is used.

A state run first waits for its turn (`minion.spool.state_queue`), so that two of them never overlap. When the agent was
killed and started again while its worker still runs, the worker of the new agent waits for that one, and finds its
result.
"""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack

import msgspec

from highstate.types import state_title
from minion.execution.errors import CallFailed, OthersRun
from minion.execution.success import has_changed
from minion.machine.file_locks import take_lock
from minion.processes import AgentGone, AgentPipe
from minion.spool.desired_state import read_document
from minion.spool.journal import RunJournal, error_result, own_call
from minion.spool.returns import keep_return, returners_of
from minion.spool.state_queue import StateQueue
from minion.worker.confirmed_files import keep_confirmed
from minion.worker.executor import call_function, run_chunks
from minion.worker.request import ControllerClient, WorkerRequest
from minion.worker.results import fitting
from minion.worker.termination import Stop
from reactors.clock_steps import boot_time
from wire.messages import Call, Preview, Run, RunResult

log = logging.getLogger(__name__)

ATTEMPTS = 3
"""How often a state run is started without finishing a chunk, until that is its result."""


ENDED = "the call was ended by SIGTERM (as saltutil.term_job sends it); how far the function came is not known"


def work(job: WorkerRequest, pipe: AgentPipe) -> None:
    """Do what is requested in the folder, unless there is a result, and write the result there."""
    request = job.folder.request()
    call = isinstance(request, Call)
    with ExitStack() as held:
        if call:
            take_lock(job.folder.lock, wait=True)
        else:
            held.enter_context(StateQueue(job.settings.cachedir, "state.apply", request.run_id).taken())
        if not job.folder.finished() and job.folder.path.is_dir():
            _do(job, request, pipe)


def _do(job: WorkerRequest, request: Run | Preview | Call, pipe: AgentPipe) -> None:
    started, began = time.time(), boot_time()
    stop = Stop(job.settings.stop_grace, has_agent=not isinstance(request, Call) or bool(request.digest))
    stop.install()
    retcode = 1
    try:
        if isinstance(request, Call):
            result, retcode = _call(job, request, pipe, stop)
        else:
            result = _run(job, request, pipe, stop)
    except AgentGone:
        raise
    except Exception as error:
        log.exception("event=run_failed run_id=%s", request.run_id)
        result = error_result(request, f"{type(error).__name__}: {error}", started=started)
    if stop.requested() and result.outcome in ("failed", "error"):
        result = msgspec.structs.replace(result, ending="cancelled")  # the agent knows better where it was a limit
    seconds = round(boot_time() - began, 6)  # of the clock that nobody sets: below 0 the result is malformed
    result = fitting(msgspec.structs.replace(result, started=started, seconds=seconds))
    options = job.settings.options.returners
    if isinstance(request, Call) and returners_of(request, options):  # first: a finished run is not looked at again
        keep_return(job.settings.cachedir, job.settings.id, options, request, result, retcode)
    job.folder.finish(result)


def _call(job: WorkerRequest, request: Call, pipe: AgentPipe, stop: Stop) -> tuple[RunResult, int]:
    """The result, and the retcode of the function."""
    journal = RunJournal(job.folder)
    if journal.recorded.attempts >= (ATTEMPTS if request.digest else 1):
        if request.digest:
            return error_result(request, _cut_off(journal)), 1
        # A function may have done its work or half of it; only who asked can say whether it may be done again.
        why = "the minion was stopped while this function ran; whether it finished is not known"
        return error_result(request, why), 1
    journal.attempt()
    try:
        end = call_function(job, request, ControllerClient(pipe), stop, journal)
    except OthersRun as error:
        return error_result(request, str(error), ending="refused"), 1
    except CallFailed as error:
        return error_result(request, ENDED if _ended(stop) else str(error)), 1
    if request.digest and stop.suspended():
        raise AgentGone  # the next worker goes on from the journal
    if _ended(stop):
        return msgspec.structs.replace(error_result(request, ENDED), value=end.value), 1
    result = RunResult(
        run_id=request.run_id,
        kind="call",
        generation=0,
        digest="",
        outcome="failed" if end.failure else "changed" if has_changed(end.value) else "ok",
        error=end.failure,
        value=end.value,
        schedule=request.schedule,
        metadata=request.metadata,
        **own_call(request),
        retcode=_exit_code(end.retcode),
    )
    return result, end.retcode


def _exit_code(left: object) -> int:
    """What a function has left as its exit code, where that is one; a function may leave anything."""
    return (
        left if isinstance(left, int) and not isinstance(left, bool) and -(2**31) <= left < 2**31 else int(bool(left))
    )


def _ended(stop: Stop) -> bool:
    """Whether a function was ended in the middle; a run of states says in its results what was not run."""
    return stop.requested() and not stop.runs_states


def _run(job: WorkerRequest, request: Run | Preview, pipe: AgentPipe, stop: Stop) -> RunResult:
    journal = RunJournal(job.folder)
    if journal.recorded.attempts >= ATTEMPTS:
        return error_result(request, _cut_off(journal))
    journal.attempt()
    held = read_document(job.folder.document)
    if held.digest != request.digest:
        return error_result(request, f"the document of this run is {held.digest[:12]}, not {request.digest[:12]}")
    unknown = [key for key in request.keys or () if key not in held.desired.chunks]
    if unknown:
        return error_result(request, f"the document has no state {state_title(unknown[0])}")
    controller = ControllerClient(pipe)
    keep_confirmed(job.settings.cachedir, request, controller)
    return run_chunks(job, request, held.desired, journal, controller, stop)


def _cut_off(journal: RunJournal) -> str:
    return f"cut off {ATTEMPTS} times at the same place, not begun again. {_reached(journal)}"


def _reached(journal: RunJournal) -> str:
    begun = [key for key in journal.intents() if key not in journal.results()]
    return f"Last begun: {state_title(begun[-1])}" if begun else "No state was left in the middle"
