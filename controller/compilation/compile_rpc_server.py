"""Answers the port calls of a compile worker with the controller's own keys, vaults, programs and network.

Called by `compile_pool`, a server a request. Arguments with passwords stay here: the worker has numbers in their place
(`sealed`).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from functools import partial
from typing import Any

import structlog

from controller.compilation.compile_rpc import Capabilities, FleetQuery, PortAnswer, PortCall
from controller.config.limits import CompileWorkerLimits
from highstate.compile_options import CompileOptions
from highstate.ports import CompilePorts, DecryptFailed, SecretFailed, SourceFailed
from highstate.types import Minion, Value
from options.limits import CountRefusal, uncounted
from wire.messages import FactQuery

_log = structlog.get_logger("saltern.compiler")


class PortCalls:
    """Runs calls of ports in threads of their own: a caller can give up, and never longer than until
    `close`.

    A thread whose call is not answered stays until the other side answers, closes, or the process ends.

    Args:
        most: calls that run at a time, those that nobody waits for any more included.
        on_refusal: hears `waiting-calls` when a call is refused for that.
    """

    def __init__(self, most: int, on_refusal: CountRefusal) -> None:
        self._free = threading.BoundedSemaphore(most)
        self._on_refusal = on_refusal
        self._closed: Future[None] = Future()

    def run(self, call: Callable[[], PortAnswer], within: float) -> PortAnswer:
        """What the call says; an error when it takes longer than `within` seconds."""
        if not self._free.acquire(blocking=False):
            self._on_refusal("waiting-calls")
            return PortAnswer(error="too many pillar sources and secret servers do not answer")
        found: Future[PortAnswer] = Future()
        threading.Thread(target=self._run, args=(call, found), name="port-call", daemon=True).start()
        waited: list[Future[Any]] = [found, self._closed]
        wait(waited, within, FIRST_COMPLETED)
        if found.done():
            return found.result()
        return PortAnswer(error=f"there was no answer within {within:.0f} s")

    def close(self) -> None:
        """Have nobody wait any more."""
        if not self._closed.done():
            self._closed.set_result(None)

    def _run(self, call: Callable[[], PortAnswer], found: Future[PortAnswer]) -> None:
        try:
            found.set_result(call())
        finally:
            self._free.release()


class RpcServer:
    """Answers the questions of one request, with the controller's own ports.

    Args:
        ports: those of the controller.
        language: what shapes the compile; it holds the entries of `ext_pillar` and `master_tops`.
        minions: those of the request; about others nothing is said.
        fleet: answers questions about the fleet, for one of them.
        calls: runs what the ports are asked.
    """

    def __init__(
        self,
        ports: CompilePorts,
        language: CompileOptions,
        minions: Sequence[Minion],
        fleet: FleetQuery | None = None,
        calls: PortCalls | None = None,
    ) -> None:
        self._ports = ports
        self._calls = calls or PortCalls(CompileWorkerLimits().waiting_calls, uncounted)
        self._fleet = fleet
        self._minions = {minion.id: minion for minion in minions}
        external, self._pillar_entries = _numbered(language.ext_pillar, ports.pillar_sources)
        tops, self._top_entries = _numbered([language.master_tops], ports.top_sources)
        self.sealed = replace(language, ext_pillar=tuple(external), master_tops=tops[0])
        """`language` with numbers in the place of what the ports take: passwords, commands, addresses."""
        self.capabilities = Capabilities(
            decrypt=ports.decrypt is not None,
            secrets=ports.secrets is not None,
            pillar_sources=tuple(ports.pillar_sources),
            top_sources=tuple(ports.top_sources),
            fleet=fleet is not None,
        )

    def answer(self, call: PortCall, within: float = 60.0) -> PortAnswer:
        """What the controller's port says within so many seconds; an error when it says nothing, or may say nothing."""
        return self._calls.run(partial(self._answer, call), within)

    def _answer(self, call: PortCall) -> PortAnswer:
        try:
            return PortAnswer(value=self._asked(call))
        except (DecryptFailed, SecretFailed, SourceFailed) as failed:
            return PortAnswer(error=str(failed) or type(failed).__name__)
        except (LookupError, ValueError):
            return PortAnswer(error="the compile process asks for what it may not have")
        except Exception as error:  # one question must not end the compile of the others
            kind = type(error).__name__  # its text may hold what a source was given: a password, an address
            _log.error("request of a compile worker failed", port=call.port, minion=call.minion_id, error=kind)
            return PortAnswer(error=f"the controller could not find out: {kind}")

    def _asked(self, call: PortCall) -> Any:
        ports = self._ports
        if call.port == "decrypt" and ports.decrypt is not None:
            return ports.decrypt.decrypt(call.text)
        minion = self._minions[call.minion_id]
        if call.port == "fleet" and self._fleet is not None:
            return self._fleet(FactQuery(fun=call.fun, asked=call.text), minion)
        if call.port == "read_secret" and ports.secrets is not None:
            return dict(ports.secrets.read_secret(call.text, minion))
        if call.port == "list_secrets" and ports.secrets is not None:
            return list(ports.secrets.list_secrets(call.text, minion))
        if call.port == "pillar":
            name, arguments = self._pillar_entries[call.entry]
            return dict(ports.pillar_sources[name].pillar(minion, json.loads(call.text), arguments))
        name, arguments = self._top_entries[call.entry]
        return dict(ports.top_sources[name].tops(minion, arguments))


def _numbered(entries: Iterable[Any], offered: Container[str]) -> tuple[list[Any], list[tuple[str, Value]]]:
    """The entries with numbers as the arguments of what is offered, and (name, arguments) of each number."""
    numbered: list[Any] = []
    given: list[tuple[str, Value]] = []
    for entry in entries:
        if not isinstance(entry, Mapping):
            numbered.append(entry)
            continue
        one = dict(entry)
        for name in entry:
            if name in offered:
                one[name] = len(given)
                given.append((name, entry[name]))
        numbered.append(one)
    return numbered, given
