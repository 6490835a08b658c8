"""One compile worker, as the controller sees it.

Called by `compile_pool`. What it sends is decoded as the expected types, and must be about the minion that was asked
for.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable

import msgspec

from controller.compilation.compile_messages import CompiledMinion, CompileRequest
from controller.compilation.compile_rpc import PortCall
from controller.compilation.compile_rpc_server import RpcServer
from controller.compilation.sandbox import SandboxPolicy
from controller.compilation.workers.answer_check import AnswerCheck
from controller.compilation.workers.channel import LimitExceeded, WorkerChannel
from controller.compilation.workers.template_codes import TemplateCode, TemplateCodes
from controller.compilation.workers.worker_process import FOR_SOURCES, WorkerFailed, WorkerProcess
from controller.config.limits import CompileWorkerLimits

_DECODER = msgspec.msgpack.Decoder(CompiledMinion | PortCall | TemplateCode)


def _unheard() -> None:
    """For who does not count."""


class CompileProcess(WorkerProcess):
    """One process.

    Args:
        timeout: seconds that one minion may take.
        sandbox_policy: what the process may do; None: all that its user may.
        limits: what is taken from it.
        codes: of templates, which the process gets.
        gives_codes: whether those that it makes are kept for others.
        niceness: added to what every compile worker has.
        compiled: hears of each minion that was compiled.
    """

    def __init__(
        self,
        timeout: float,
        sandbox_policy: SandboxPolicy | None,
        limits: CompileWorkerLimits,
        *,
        codes: TemplateCodes,
        gives_codes: bool,
        niceness: int = 0,
        compiled: Callable[[], None] = _unheard,
    ) -> None:
        module = "controller.compilation.compile_worker"
        super().__init__(module, timeout, sandbox_policy, limits, niceness=niceness)
        self._check = AnswerCheck(timeout, limits)
        self._compiled = compiled
        self._codes, self._gives_codes = codes, gives_codes

    def send(self, request: CompileRequest) -> None:
        """Have it compile; starts it when it does not run. Raises as `receive` does, or OSError."""
        channel = self.started()
        with self.failures(channel):
            channel.send(pickle.dumps(request), time.monotonic() + self.timeout)

    def receive(self, minion_id: str, request: CompileRequest, rpc_server: RpcServer) -> CompiledMinion:
        """The answer about this minion, which is the next. What the worker asks before is answered, in the same time.

        Raises:
            WorkerFailed: there is none.
            WorkerLate, LimitExceeded: and why.
            WorkerClosed: the controller stops.
        """
        channel, until, limits = self.channel, time.monotonic() + self.timeout, self.limits
        if channel is None:
            raise WorkerFailed("it does not run")
        channel.output_bytes, channel.most_output = 0, limits.output_bytes
        with self.failures(channel):
            for _ in range(limits.questions + 1):
                found = _DECODER.decode(channel.receive(limits.frame_bytes, "frame_bytes", until))
                if isinstance(found, CompiledMinion):
                    document = channel.receive(limits.document_bytes, "document_bytes", until)
                    answer = self._check.checked(found, document, minion_id, request)
                    self._compiled()
                    return answer
                if isinstance(found, TemplateCode):
                    self._told(found, channel, until)
                    continue
                said = rpc_server.answer(found, FOR_SOURCES * (until - time.monotonic()))
                channel.send(pickle.dumps(said), until)
        raise LimitExceeded("questions")

    def _told(self, said: TemplateCode, channel: WorkerChannel, until: float) -> None:
        if not said.code:
            channel.send(self._codes.get(said.key), until)
        elif self._gives_codes:
            self._codes.put(said)
