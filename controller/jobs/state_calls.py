"""Calls of the module `state` that the controller compiles: `state.sls`, `state.apply SLS pillar=`, `state.show_*`.

Used by `Jobs`: whoever begins a call by `Jobs.start` or `Jobs.call` gets this for the functions that
`state_arguments.state_call` knows, without a word. The runs are recorded when this begins; documents are compiled and
sent in a task, and what the controller answers itself becomes the result of the run as if the minion had sent it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import structlog

from controller.compilation.called.states_compiler import StatesCompiler
from controller.compilation.compile_messages import CompiledMinion
from controller.config.limits import StateCallLimits
from controller.jobs.job_returners import ReturnerRequests
from controller.jobs.state_arguments import StateCall, state_call
from controller.observe.metrics import Metrics
from controller.schema.errors import ServiceError
from controller.schema.requests import CallQuestion
from controller.sessions.sessions import Sessions
from controller.store import RunRecord, Store
from wire.messages import STATES_OF_CALL, Call, RunResult
from wire.server.server import Server

log = structlog.get_logger("saltern.jobs")

STOPPED = "the controller was stopped before the states were compiled, and nothing was run; call it again"

CANCELLED = "the job was ended before its states were compiled, and nothing was run"


@dataclass(slots=True, kw_only=True)
class StateCalls:
    """Compiles calls and sends them.

    Args:
        compiler: compiles.
        store: where runs are recorded.
        sessions: who is connected.
        server: sends.
        metrics: counts messages.
        returners: says which returners of a question are the minions' affair.
        finish: stores the result of a run, publishes it, and gives it to who waits.
        limits: what calls may cost.
    """

    compiler: StatesCompiler
    store: Store
    sessions: Sessions
    server: Server
    metrics: Metrics
    returners: ReturnerRequests
    finish: Callable[[RunRecord, RunResult], None]
    limits: StateCallLimits
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _slots: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.limits.calls_at_once)

    def parse(self, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> StateCall | None:
        """What is compiled for a call; None for one that minions do alone. ServiceError when it cannot be taken."""
        call = state_call(fun, args, kwargs, self.limits)
        if call is not None and len(self._tasks) >= self.limits.waiting_calls:
            self.metrics.limit_refused("state-call", "waiting-calls")
            raise ServiceError("conflict", f"{len(self._tasks)} calls wait to be compiled already; ask again later")
        if call is not None and not self.compiler.revision:
            raise ServiceError("bad-request", "no revision is live yet", hint="`saltern remotes` says why")
        return call

    def begin(self, runs: Sequence[RunRecord], call: StateCall, question: CallQuestion) -> None:
        """Compile for the minions of these runs, which are recorded, and send them the call."""
        if not runs:
            return
        task = asyncio.create_task(self._all(runs, call, question), name="state-call")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def refuse(self, run: RunRecord, why: str) -> None:
        """End a run that was not sent."""
        self.finish(run, _result(run, outcome="error", error=why, ending="refused"))

    async def close(self) -> None:
        """End what is compiled, as the controller stops."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def cancel(self, run: RunRecord) -> bool:
        """End a run that still has to be compiled; False when there is nothing to do."""
        if run.kind != "call" or run.state == "finished" or not run.revision or run.digest:
            return False
        self.finish(run, _result(run, outcome="error", error=CANCELLED, ending="cancelled"))
        return True

    def end_unsent(self) -> None:
        """Close the runs whose compile ended with the controller before this one."""
        for run in self.store.runs.open():
            if run.kind == "call" and run.revision and not run.digest:
                self.finish(run, _result(run, outcome="error", error=STOPPED))

    async def _all(self, runs: Sequence[RunRecord], call: StateCall, question: CallQuestion) -> None:
        waiting = {run.minion: run for run in runs}
        try:
            async with self._slots:
                answers = self.compiler.compile(call.question, call.options, list(waiting), call.secrets)
                async for answer in answers:
                    if (run := waiting.pop(answer.minion_id, None)) is not None:
                        self._answered(run, answer, call, question)
            why = "the grains of this minion are not known yet: it has never connected"
        except Exception:
            log.exception("call not compiled", fun=question.fun)
            why = "the controller failed to compile this call; its log says why"
        for run in waiting.values():
            self.finish(run, _result(run, outcome="error", error=why))

    def _answered(self, run: RunRecord, answer: CompiledMinion, call: StateCall, question: CallQuestion) -> None:
        if not answer.ok:
            exists = call.question.fun == "sls_exists"
            value: Any = False if exists else [str(problem) for problem in answer.errors]
            ending = "" if exists else "compile error"
            self.finish(run, _result(run, outcome="ok" if exists else "failed", value=value, ending=ending))
        elif call.question.shows:
            self.finish(run, _result(run, outcome="ok", value=msgspec.msgpack.decode(answer.document)))
        else:
            self._send(run, answer, call, question)

    def _send(self, run: RunRecord, answer: CompiledMinion, call: StateCall, question: CallQuestion) -> None:
        session = self.sessions.session(run.minion)
        if session is None or STATES_OF_CALL not in session.takes:
            why = "the minion disconnected before its states were compiled, and nothing was run; call it again"
            if session is not None:
                why = (
                    "the agent of this minion is older than the controller and cannot run states of a call: upgrade it"
                )
            ending = "unreachable" if session is None else "refused"
            self.finish(run, _result(run, outcome="error", error=why, ending=ending))
            return
        known = self.store.runs.get(run.run_id)
        if known is None or known.state == "finished":  # somebody has ended it meanwhile
            return
        self.store.runs.compiled(run.run_id, answer.digest)
        of_tree = self.returners.on_minions(question.ret)
        message = Call(
            run_id=run.run_id,
            fun=question.fun,
            args=question.args,
            kwargs=dict(call.kwargs),
            job=run.job,
            timeout=question.limit,
            digest=answer.digest,
            document=answer.document,
            returners=of_tree,
            return_config=question.ret_config if of_tree else "",
            return_kwargs=question.ret_kwargs if of_tree else {},
            metadata=question.metadata,
        )
        self.metrics.sent(type(message).__name__)
        self.server.send(session.key, message)


def _result(run: RunRecord, **found: Any) -> RunResult:
    return RunResult(run_id=run.run_id, kind="call", generation=0, digest="", **found)
