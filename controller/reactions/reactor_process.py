"""The process that renders SLS of reactors, as the controller sees it. Used from a thread of its own."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import msgspec

from controller.compilation.compile_ports import ports_of
from controller.compilation.compile_rpc import FleetQuery, PortCall
from controller.compilation.compile_rpc_server import PortCalls, RpcServer
from controller.compilation.sandbox import SandboxPolicy
from controller.compilation.workers.channel import LimitExceeded, WorkerLate
from controller.compilation.workers.worker_process import WorkerClosed, WorkerFailed, WorkerProcess
from controller.config.limits import CompileWorkerLimits
from controller.config.sections import PortOptions
from controller.reactions.controller_machine import controller_id
from controller.reactions.messages import ReactorRequest, RenderedReactions
from highstate.types import Minion, Pos, Problem, Stage
from options.limits import CountRefusal

_QUESTION = msgspec.msgpack.Decoder(RenderedReactions | PortCall)
_ANSWER = msgspec.msgpack.Decoder(RenderedReactions)


class ReactorProcess:
    """Renders one event after the other.

    Args:
        timeout: seconds that the SLS of one event may take.
        sandbox_policy: what the process may do; None: all that its user may.
        ports: keys and vaults, which stay with the controller.
        fleet: answers what templates ask of the fleet.
        limits: what is taken from the process.
        on_refusal: see `options.limits.CountRefusal`.
    """

    def __init__(
        self,
        *,
        timeout: float,
        sandbox_policy: SandboxPolicy | None,
        ports: PortOptions,
        fleet: FleetQuery | None,
        limits: CompileWorkerLimits,
        on_refusal: CountRefusal,
    ) -> None:
        self._process = WorkerProcess("controller.reactions.reactor_worker", timeout, sandbox_policy, limits)
        self._calls = PortCalls(limits.waiting_calls, on_refusal)
        self._ports, self._fleet, self._limits, self._on_refusal = ports, fleet, limits, on_refusal
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reactor")

    async def render(self, request: Callable[[], ReactorRequest]) -> RenderedReactions:
        """The reactions to one event; what went wrong is in them. `request` is called in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._render, request)

    def close(self) -> None:
        """End the process. What is under way ends at once."""
        self._calls.close()
        self._process.close()
        self._thread.shutdown(wait=False)

    def _render(self, make: Callable[[], ReactorRequest]) -> RenderedReactions:
        request = make()
        minion = Minion(id=controller_id(), grains=request.grains)
        server = RpcServer(ports_of(self._ports), request.language, [minion], self._fleet, self._calls)
        request = replace(request, capabilities=server.capabilities, language=server.sealed)

        def answer(frame: bytes, within: float) -> bytes | None:
            said = _QUESTION.decode(frame)
            return pickle.dumps(server.answer(said, within)) if isinstance(said, PortCall) else None

        with self._process.in_use():
            try:
                frame = self._process.exchange(pickle.dumps(request), answer, questions=self._limits.questions)
                return _ANSWER.decode(frame)
            except WorkerClosed:
                return RenderedReactions()
            except (WorkerLate, LimitExceeded, WorkerFailed, OSError) as error:
                self._process.stop()
                return _broken(error, self._process.timeout, self._on_refusal)


def _broken(error: Exception, timeout: float, on_refusal: CountRefusal) -> RenderedReactions:
    if isinstance(error, WorkerLate):
        message = f"the reactor's SLS took more than {timeout:g} s"
    elif isinstance(error, LimitExceeded):
        on_refusal(error.limit)
        message = f"the reactor's SLS went beyond the limit {error.limit}"
    else:
        message = f"the process that renders reactors ended: {error}"
    return RenderedReactions(problems=(Problem(message=message, pos=Pos(file="reactor", stage=Stage.RENDER)),))
