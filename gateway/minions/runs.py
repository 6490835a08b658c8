"""Runs of one stock minion: what the controller asks for becomes jobs, and what these return results.

States of one minion run one after the other. Those of a document come to it as an SLS that it alone can have, by its
file server: what is published every minion can read. A run that was begun is kept on disk, so that after a restart of
the gateway its return is still waited for, and nothing is begun twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import itertools
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from extmods.looking import only_looks
from gateway.minions.called_states import BadStateCall, CalledStates, called_states
from gateway.minions.files import StockFiles
from gateway.minions.jobs import IN_SHADOW, StockJobs
from gateway.minions.outbox import ResultOutbox
from gateway.minions.results import StockReturn, call_result, run_result
from gateway.minions.state_file import state_file
from gateway.publications import JID_FORMAT
from highstate.desired import Desired
from minion.machine.durable_files import whole_files, write_durably, write_whole
from minion.spool.desired_state import DesiredState, read_document
from minion.spool.journal import folder_name
from wire import patch
from wire.errors import PatchMismatch
from wire.messages import Call, Preview, ResyncRequired, Run, RunResult, RunStarted, ToController

log = logging.getLogger(__name__)

FOLDER = "saltern_runs"
"""Of state files, in the minion's file server."""
_FILES = 16
"""Names of them, by turns: a minion keeps a copy of each file that it was ever given."""
STARTED_AFTER = 0.5
"""Seconds after which it is said that a function has begun."""
NEVER_CAME = "the gateway knows no such run: it never came here, or a power loss has taken it"
_WHOLE = ("state.apply", "state.highstate")
STATE_FUNCTION = "state.sls"
ABOUT_JOBS = frozenset(f"saltutil.{name}" for name in ("find_job", "kill_job", "signal_job", "term_job"))
"""Functions whose first argument is the id of a job."""
_ENDS_JOBS = frozenset(("saltutil.kill_job", "saltutil.term_job"))
_QUEUED = frozenset(f"state.{name}" for name in ("high", "low", "single", "sls_id", "template", "template_str", "top"))
"""Functions that a stock minion refuses while states run there, unless they are told to wait."""


class _KeptRun(msgspec.Struct, frozen=True):
    """A run that was begun, on disk."""

    jid: str
    keys: tuple[str, ...]
    started: float
    request: Run | Call
    file: str = ""
    """Of states: their file, in `FOLDER`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StockRunPorts:
    """What runs need.

    Args:
        jobs: of the minion.
        files: its file server.
        outbox: takes results.
        held: the document that it holds.
        send: says something to the controller.
        in_shadow: whether it may only be looked at.
        pillar_of: has the minion get the pillar of this document while a run goes on; None: that which it holds.
    """

    jobs: StockJobs
    files: StockFiles
    outbox: ResultOutbox
    held: DesiredState
    send: Callable[[ToController], bool]
    in_shadow: Callable[[], bool]
    pillar_of: Callable[[Desired | None], None]


class StockRuns:
    """The runs.

    Args:
        folder: where those that were begun are kept.
        ports: see `StockRunPorts`.
    """

    def __init__(self, folder: Path, ports: StockRunPorts) -> None:
        self._folder = folder
        self._ports = ports
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._jids: dict[str, str] = {}
        """Run id, and id of its job -> that of the job on the minion, of runs that go on."""
        self._states = asyncio.Lock()
        self._current = ("", "")
        """Of the run of states that goes on: the function that a person called, and the id of its job there."""
        self._turns = itertools.count(secrets.randbelow(_FILES))
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    @property
    def running(self) -> tuple[str, ...]:
        """Ids of runs that go on or wait."""
        return tuple(self._tasks)

    def run_of(self, jid: str) -> str | None:
        """The run that goes on and is this job on the minion."""
        return next((run_id for run_id in self._tasks if self._jids.get(run_id) == jid), None)

    def resume(self) -> None:
        """Wait for the runs that an earlier gateway has begun."""
        for path in whole_files(self._folder):
            try:
                kept = msgspec.msgpack.decode(path.read_bytes(), type=_KeptRun)
            except (msgspec.MsgspecError, OSError) as error:
                log.error("event=kept_run_unreadable path=%s error=%s", path, error)
                path.unlink(missing_ok=True)
                continue
            self._called(kept.request, kept.jid)
            self._start(kept.request.run_id, self._finish(kept))

    def begin(self, request: Run | Preview | Call) -> None:
        """Begin a run, unless it goes on or has a result."""
        run_id = request.run_id
        if run_id in self._ports.outbox:
            self._ports.outbox.say(run_id, time.monotonic())
        elif run_id not in self._tasks:
            self._start(run_id, self._call(request) if isinstance(request, Call) else self._run(request))

    def check(self, run_id: str) -> None:
        """Say how a run stands."""
        if run_id in self._tasks:
            self._ports.send(RunStarted(run_id=run_id))
        elif run_id in self._ports.outbox:
            self._ports.outbox.say(run_id, time.monotonic())
        else:
            self._end(_ended(run_id, "call", error=NEVER_CAME, ending="unreachable"))

    def close(self) -> None:
        """Stop waiting. Jobs go on, and are waited for by the next gateway."""
        for task in self._tasks.values():
            task.cancel()

    def _start(self, run_id: str, work: Any) -> None:
        async def guarded() -> None:
            try:
                await work
            except Exception as error:
                log.exception("event=run_failed run_id=%s", run_id)
                self._end(_ended(run_id, "call", error=f"the gateway could not run it: {error}"))
            finally:
                self._tasks.pop(run_id, None)
                self._jids = {name: jid for name, jid in self._jids.items() if jid != self._jids.get(run_id)}

        self._tasks[run_id] = asyncio.get_running_loop().create_task(guarded())

    # --- states of documents

    async def _run(self, run: Run | Preview) -> None:
        desired = self._document(run)
        if desired is None:
            return
        chosen = _chosen(run, desired)
        self._ports.send(RunStarted(run_id=run.run_id))
        if not chosen:
            self._end(run_result(run, (), StockReturn(), time.time(), time.time()))
            return
        test = isinstance(run, Preview) or run.test
        if isinstance(run, Run) and not test and self._ports.in_shadow():
            self._end(_ended(run.run_id, run.kind, digest=run.digest, error=IN_SHADOW, ending="refused"))
            return
        if not isinstance(run, Preview) and not test:
            await asyncio.to_thread(self._ports.held.applies, "running", "")
        started = time.time()
        kept = _KeptRun("", tuple(chosen), started, run) if isinstance(run, Run) else None
        found = await self._states_of(run, desired, chosen, test=test, kept=kept)
        result = run_result(run, chosen, found, started, time.time())
        await self._noted(run, result)
        self._end(result)

    async def _noted(self, run: Run | Preview, result: RunResult) -> None:
        if isinstance(run, Run) and not run.test:
            good = result.outcome in ("ok", "changed")
            await asyncio.to_thread(self._ports.held.applies, run.digest if good else "none", "")

    async def _states_of(
        self,
        request: Run | Preview | Call,
        desired: Desired,
        keys: Collection[str],
        *,
        test: bool | None,
        kept: _KeptRun | None,
        queue: Any = True,
    ) -> StockReturn:
        """Have states run there, one document at a time. `queue`: whether the minion waits for what runs there."""
        ports = self._ports
        async with self._states:
            jid = self._jid_for(request)
            self._current = (request.fun if isinstance(request, Call) else ""), jid
            name = f"r{next(self._turns) % _FILES}"
            if kept is not None:
                await self._keep(msgspec.structs.replace(kept, jid=jid, file=name))
            with self._served(name, desired, keys):
                mods = f"{FOLDER}.{name}"
                return await ports.jobs.run(STATE_FUNCTION, (mods,), {"test": test, "queue": queue}, jid=jid)

    @contextlib.contextmanager
    def _served(self, name: str, desired: Desired, keys: Collection[str]) -> Iterator[None]:
        """Let the minion have these states of a document, and what belongs to it, while it runs them."""
        ports, path = self._ports, f"{FOLDER}/{name}.sls"
        ports.files.own[path] = state_file(desired.chunks, keys)
        ports.files.document = desired.files
        ports.pillar_of(desired)
        try:
            yield
        finally:
            ports.files.own.pop(path, None)
            ports.files.document = {}
            ports.pillar_of(None)

    async def _refused(self, called: CalledStates) -> StockReturn | None:
        """What a call of states is refused with while another one goes on, unless it is to wait; None: it is not.

        For runs of documents it waits, other than on our own minions: a check takes seconds there.
        """
        fun, jid = self._current
        if not (fun and self._states.locked()) or called.queue:
            return None
        found = await self._ports.jobs.ask("saltutil.find_job", (jid,))
        running = found.value if found is not None and isinstance(found.value, dict) else {}
        if not running:
            return None
        when = datetime.datetime.strptime(jid, JID_FORMAT).strftime("%Y, %b %d %H:%M:%S.%f")
        pid = running.get("pid")
        said = f'The function "{fun}" is running as PID {pid} and was started at {when} with jid {jid}'
        return StockReturn(lost=said, ending="refused")

    def _document(self, run: Run | Preview) -> Desired | None:
        """The document that is to run; None: the controller was told what is wrong."""
        held = self._ports.held
        if isinstance(run, Run):
            # The file may be ahead of what is held, by the moment in which a new document is stored.
            if run.digest == held.digest and (found := read_document(held.path)).digest == run.digest:
                return found.desired
            self._ports.send(ResyncRequired(generation=run.generation, held=held.digest))
            return None
        try:
            base = read_document(held.path).desired.as_document() if run.base and run.base == held.digest else {}
            if run.base and not base:
                raise PatchMismatch(f"the patch is for {run.base[:12]}")
            return _desired_of(patch.apply(base, run.patch), run.digest)
        except (PatchMismatch, OSError, ValueError) as error:
            self._end(_ended(run.run_id, "preview", digest=run.digest, error=str(error)))
            return None

    # --- functions

    async def _call(self, call: Call) -> None:
        started = time.time()
        try:
            desired = self._states_for(call)
            called = called_states(call, desired.chunks) if desired is not None else None
        except (PatchMismatch, OSError, ValueError, msgspec.MsgspecError, BadStateCall) as error:
            self._end(_ended(call.run_id, "call", error=str(error)))
            return
        if desired is not None and called is not None:
            self._ports.send(RunStarted(run_id=call.run_id))
            kept = _KeptRun("", called.keys, started, call)
            if (refused := await self._refused(called)) is not None:
                self._end(call_result(call, refused, started, max(0.0, time.time() - started)))
                return
            found = await self._states_of(call, desired, called.keys, test=called.test, kept=kept, queue=called.queue)
        else:
            jid = self._jid_for(call)
            await self._keep(_KeptRun(jid, (), started, call))
            found = await self._told(call.run_id, self._within_limit(call, jid, self._function(call, jid)))
        self._end(call_result(call, found, started, max(0.0, time.time() - started)))

    def _states_for(self, call: Call) -> Desired | None:
        """Of what a call runs states: of what was compiled for it, or what the minion holds; None: it is a function.

        A stock minion compiles `state.apply` by itself, but in shadow, where it gets no state files.
        """
        if call.digest:
            return _desired_of(msgspec.msgpack.decode(call.document), call.digest)
        whole = call.fun in _WHOLE and self._ports.in_shadow() and self._ports.held.digest
        return read_document(self._ports.held.path).desired if whole else None

    async def _function(self, call: Call, jid: str) -> StockReturn:
        """Have a function run there; one that is about another job names that as the minion does."""
        jobs, args, kwargs = self._ports.jobs, call.args, dict(call.kwargs)
        if call.fun in ABOUT_JOBS and args and (named := str(args[0])) in self._jids:
            if call.fun in _ENDS_JOBS:
                return await jobs.kill(call.fun, self._jids[named], args[1:], kill_jid=jid)
            args = (self._jids[named], *args[1:])
        if call.fun in _QUEUED:
            kwargs.setdefault("queue", True)
        return await jobs.run(call.fun, args, kwargs, jid=jid, asker=call.asker)

    async def _within_limit(self, call: Call, jid: str, work: Awaitable[StockReturn]) -> StockReturn:
        """Have a function end at the limit of its call."""
        if not call.timeout:
            return await work
        task = asyncio.ensure_future(work)
        try:
            done, _ = await asyncio.wait((task,), timeout=call.timeout)
            if done:
                return task.result()
            killed = await self._ports.jobs.ask("saltutil.kill_job", (jid,))
            why = f"timed out after {call.timeout:g} s"
            if killed is None or not str(killed.value).startswith("Signal "):
                why += "; the minion has not said that it ended the job"
            return StockReturn(lost=why, ending="timed out")
        finally:
            task.cancel()

    def _jid_for(self, request: Run | Preview | Call) -> str:
        """The id that the job of a run gets on the minion."""
        job = request.job if isinstance(request, Call) else ""
        jid = self._ports.jobs.jid_of(*((job,) if job else ()), request.run_id)
        self._called(request, jid)
        return jid

    def _called(self, request: Run | Preview | Call, jid: str) -> None:
        """What the controller means by a run or its job is this job on the minion."""
        self._jids[request.run_id] = jid
        if isinstance(request, Call) and request.job:
            self._jids[request.job] = jid

    async def _told(self, run_id: str, work: Awaitable[StockReturn]) -> StockReturn:
        """Wait for a function, and say that it has begun where it takes a while."""
        task = asyncio.ensure_future(work)
        try:
            done, _ = await asyncio.wait((task,), timeout=STARTED_AFTER)
            if not done:
                self._ports.send(RunStarted(run_id=run_id))
            return await task
        finally:
            task.cancel()

    async def _finish(self, kept: _KeptRun) -> None:
        """Wait for a run that an earlier gateway has begun: the minion may not have had its states yet."""
        work = self._ports.jobs.wait(kept.jid)
        if (desired := self._desired_again(kept)) is None:
            found = await work
        else:
            async with self._states:
                self._current = (kept.request.fun if isinstance(kept.request, Call) else ""), kept.jid
                with self._served(kept.file, desired, kept.keys):
                    found = await work
        request, now = kept.request, time.time()
        if isinstance(request, Call):
            self._end(call_result(request, found, kept.started, max(0.0, now - kept.started)))
            return
        result = run_result(request, kept.keys, found, kept.started, now)
        await self._noted(request, result)
        self._end(result)

    def _desired_again(self, kept: _KeptRun) -> Desired | None:
        """The document of states that an earlier gateway has begun; None: it is there no more, or of a function."""
        request, held = kept.request, self._ports.held
        if not kept.file or (isinstance(request, Run) and request.digest != held.digest):
            return None
        try:
            if isinstance(request, Call) and request.digest:
                return _desired_of(msgspec.msgpack.decode(request.document), request.digest)
            return read_document(held.path).desired
        except (PatchMismatch, OSError, ValueError, msgspec.MsgspecError) as error:
            log.warning("event=document_of_run_unreadable run_id=%s error=%s", request.run_id, error)
            return None

    # --- what is kept

    async def _keep(self, kept: _KeptRun) -> None:
        """Have it on disk: also after a power loss, which takes the disk milliseconds, where it may change something.

        All minions are asked at once, and wait for the disk beside each other, not for each other.
        """
        request, data = kept.request, msgspec.msgpack.encode(kept)
        path = self._folder / folder_name(request.run_id)
        if isinstance(request, Call) and only_looks(request.fun, request.kwargs):
            write_whole(path, data)
        else:
            await asyncio.to_thread(write_durably, path, data)

    def _end(self, result: RunResult) -> None:
        self._ports.outbox.add(result, time.monotonic())
        with contextlib.suppress(OSError):
            (self._folder / folder_name(result.run_id)).unlink()


def _chosen(run: Run | Preview, desired: Desired) -> tuple[str, ...]:
    left_out = frozenset(run.left_out) if isinstance(run, Run) else frozenset()
    wanted = None if run.keys is None else frozenset(run.keys)
    return tuple(key for key in desired.chunks if key not in left_out and (wanted is None or key in wanted))


def _desired_of(document: Mapping[str, Any], digest: str) -> Desired:
    if patch.digest(document) != digest:
        raise PatchMismatch(f"the document is not {digest[:12]}")
    try:
        return Desired.from_document(document)
    except (KeyError, TypeError, AttributeError) as error:
        raise PatchMismatch(f"this is no desired document: {error}") from error


def _ended(run_id: str, kind: Any, *, error: str, digest: str = "", ending: Any = "") -> RunResult:
    return RunResult(run_id=run_id, kind=kind, generation=0, digest=digest, outcome="error", error=error, ending=ending)
