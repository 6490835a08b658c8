"""The process of one call: a runner that is not ours, with Salt's dunders, or an execution function. See `process`.

A runner of the tree runs where Python of the tree may (`allow_py_renderer`), in the sandbox of compiles, so that it
reads the trees and nothing else unless `compile_grants` says so. `__salt__` has runners: those of the tree, and the
controller's, which it asks. `salt.cmd` and `http.query` run in this process, so that a tree gets no more of the
controller's machine than its sandbox lets it have.
"""

from __future__ import annotations

import inspect
import pickle
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from controller.adapters.admin_modules import FolderStore
from controller.compilation.workers.channel import WorkerChannel
from controller.compilation.workers.entry import begin
from controller.compilation.workers.settings import WorkerSettings
from controller.runners.processes.messages import (
    NEXT_EVENTS,
    FiredEvent,
    ProcessJob,
    ProcessReturn,
    RunnerAnswer,
    RunnerQuery,
)
from extmods.compile_modules import TreeModules
from extmods.dunders import ModuleScope
from extmods.loader import UserModules
from extmods.plain_data import plain
from extmods.plugins import Plugins
from extmods.ports import ImportableFunctions, ModuleSources
from extmods.salt_compat.utils.event import EventPort, connect
from highstate.ports import SourceFailed
from highstate.types import Minion, Value
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.execution.loader import Modules
from minion.execution.module_host import imported_functions

_NAME = "controller"
_REFUSED = re.compile(r"PermissionError|Permission denied|Operation not permitted")
_GRANTS = "; runners of the tree read the trees and nothing else: grant more with compile_grants"
_ENCODER = msgspec.msgpack.Encoder()


class _Controller:
    """The other end of the channel."""

    def __init__(self, channel: WorkerChannel) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        """Threads of a module ask one after the other."""

    def ask(self, fun: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The value of one of the controller's runners; SourceFailed when it fails."""
        given = plain({"args": list(args), "kwargs": dict(kwargs)})
        with self._lock:
            self._send(RunnerQuery(fun=fun, args=tuple(given["args"]), kwargs=given["kwargs"]))
            answer: RunnerAnswer = pickle.loads(self._channel.receive())  # noqa: S301 - from the controller alone
        if answer.error:
            raise SourceFailed(answer.error)
        return answer.value

    def tell(self, data: Any, suffix: str) -> None:
        """Publish an event below the call's tag."""
        body = plain(data)
        self._send(FiredEvent(data=body if isinstance(body, dict) else {"data": body}, suffix=suffix))

    def end(self, answer: ProcessReturn) -> None:
        """Say what came of the call."""
        self._send(answer)

    def _send(self, message: msgspec.Struct) -> None:
        self._channel.send(_ENCODER.encode(message))


def _events_of(controller: _Controller) -> EventPort:
    """The events of the controller, for `salt.utils.event` in an engine."""

    def fire(tag: str, data: Mapping[str, Any]) -> None:
        controller.ask("event.send", (str(tag), data), {})

    def wait_for_events(seconds: float) -> Sequence[tuple[str, dict[str, Any]]]:
        found: Sequence[tuple[str, dict[str, Any]]] = controller.ask(NEXT_EVENTS, (seconds,), {})
        return found

    return EventPort(fire, wait_for_events)


class _EngineFunctions(Mapping[str, Callable[..., Any]]):
    """`__salt__` of an engine: runners, and execution functions of this machine."""

    def __init__(self, runners: _RunnerFunctions) -> None:
        self._runners = runners

    def __getitem__(self, fun: str) -> Callable[..., Any]:
        if fun in self._runners:
            return self._runners[fun]
        return lambda *args, **kwargs: _execution_function(fun, args, kwargs)

    def __iter__(self) -> Iterator[str]:
        return iter(self._runners)

    def __len__(self) -> int:
        return len(self._runners)


class _JidEvents:
    """`__jid_event__`."""

    def __init__(self, controller: _Controller) -> None:
        self._controller = controller

    def fire_event(self, data: Any, tag: str = "progress", **_more: Any) -> bool:
        """Publish data below the tag of the call."""
        self._controller.tell(data, str(tag))
        return True


class _RunnerFunctions(Mapping[str, Callable[..., Any]]):
    """`__salt__` of a runner: runners by full name, those of the tree first."""

    def __init__(self, job: ProcessJob, modules: UserModules, controller: _Controller) -> None:
        self._job = job
        self._modules = modules
        self._controller = controller

    def __getitem__(self, fun: str) -> Callable[..., Any]:
        module, _, name = fun.partition(".")
        own = self._modules.loaded("runners").get(module)
        if own is not None and name in own.functions:
            return own.functions[name].call
        if fun not in self._job.runners:
            raise KeyError(fun)
        if fun == "salt.cmd":
            return lambda called, *args, **kwargs: _execution_function(str(called), args, kwargs)
        if fun == "http.query":
            from extmods.salt_compat.utils import http

            return http.query
        return lambda *args, **kwargs: self._controller.ask(fun, args, kwargs)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._job.runners, *self._modules.names("runners")}))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _RunnerHost:
    """`plugins.ModuleHost` of a runner."""

    def __init__(self, job: ProcessJob, controller: _Controller) -> None:
        self._job = job
        self._controller = controller
        self.runners: _RunnerFunctions | None = None
        """`__runners__`; None before the modules are loaded."""

    @property
    def imports(self) -> ImportableFunctions:
        """See `ModuleHost`."""
        return imported_functions()

    def scope(
        self, modules: UserModules, minion: Minion, opts: Mapping[str, Any], pillar: Mapping[str, Value]
    ) -> ModuleScope:
        """See `ModuleHost`."""
        self.runners = runners = _RunnerFunctions(self._job, modules, self._controller)
        functions = _EngineFunctions(runners) if self._job.engine else runners
        return ModuleScope(minion_id=_NAME, opts=opts, grains={}, pillar={}, functions=functions)


def _store(job: ProcessJob) -> ModuleSources:
    if job.files is not None:
        return TreeModules(job.files, "base")
    return FolderStore([Path(one) for one in job.folders], [Path(one) for one in job.engines_dirs])


def _runner(job: ProcessJob, controller: _Controller) -> Any:
    host, minion, store = _RunnerHost(job, controller), Minion(id=_NAME), _store(job)
    if not job.fun:
        return _documentation(UserModules(store=store, dunders=dict, imports=host.imports, quiet=True))
    plugins = Plugins(store=store, host=host, opts=job.opts, minion=minion)
    if job.engine:
        connect(_events_of(controller))
    kind = "engines" if job.engine else "runners"
    dunders = {
        "__jid__": job.jid,
        "__user__": job.user,
        "__tag__": f"salt/run/{job.jid}",
        "__jid_event__": _JidEvents(controller),
    }

    def call(one: Any) -> Any:
        if job.engine:
            one.__globals__["__runners__"] = host.runners
        return one(*job.args, **job.kwargs)

    return plugins.call(kind, job.fun, minion, {}, call, dunders)


def _documentation(modules: UserModules) -> dict[str, str]:
    """What the runners of the tree take and say of themselves, by full name."""
    return {
        f"{name}.{fun}": f"{name}.{fun}{inspect.signature(one.call)}\n\n{inspect.getdoc(one.call) or ''}".strip()
        for name, module in modules.loaded("runners").items()
        for fun, one in module.functions.items()
    }


def _execution_function(fun: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    from minion.grains.collect import collect

    context = Context(minion_id=_NAME, make_grains=collect)
    return plain(Modules(context).call(fun, args, kwargs))


def _run(job: ProcessJob, controller: _Controller) -> ProcessReturn:
    try:
        if job.files is None and not job.folders and not job.engine:
            return ProcessReturn(value=_execution_function(job.fun, job.args, job.kwargs))
        return ProcessReturn(value=_runner(job, controller))
    except (SourceFailed, CallFailed) as error:
        said = str(error) or type(error).__name__
        return ProcessReturn(error=said + (_GRANTS if job.files is not None and _REFUSED.search(said) else ""))
    except (Exception, SystemExit) as error:  # code of a tree may raise anything
        return ProcessReturn(error=f"{type(error).__name__}: {error}")


def main(sock: socket.socket, settings: WorkerSettings) -> None:
    """Make one call, and say what came of it."""
    channel = begin(sock, settings)
    job: ProcessJob = pickle.loads(channel.receive())  # noqa: S301 - from the controller alone
    controller = _Controller(channel)
    answer = _run(job, controller)
    sys.stdout.flush()
    controller.end(answer)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), WorkerSettings.from_argument(sys.argv[2]))
