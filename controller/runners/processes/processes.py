"""Which calls run in a process of their own: runners of the live tree, and execution functions of this machine."""

from __future__ import annotations

import asyncio
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from controller.adapters.admin_modules import FolderStore
from controller.compilation.sandbox_policy import sandbox_policy_of
from controller.compilation.workers.settings import WorkerSettings
from controller.config.limits import EngineLimits, RunnerLimits
from controller.config.settings import ControllerSettings
from controller.jobs.tree_returners import VIRTUAL
from controller.reconcile.live import LiveRevision
from controller.runners import registry
from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed, UnknownControllerFunction
from controller.runners.option_values import option_values
from controller.runners.processes.messages import ProcessJob
from controller.runners.processes.process import AskRunner, FunctionProcess
from extmods.compile_modules import Tree
from highstate.types import Files
from options.limits import CountRefusal

NOT_FOR_TREES = frozenset({"salt.cmd", "http.query"})
"""Runners that run in the process which calls them: a tree has no more of this machine than its sandbox lets it."""


@dataclass(slots=True, kw_only=True)
class RunnerProcesses:
    """Starts processes for calls. `PythonPort` of a context."""

    settings: ControllerSettings
    live: LiveRevision
    on_refusal: CountRefusal
    _listed: tuple[str, frozenset[str]] = ("", frozenset())
    """Digest of a revision, and the runners that it brings."""

    async def runner_of_tree(
        self, context: RunnerContext, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """What a runner of the administrator or of the live tree returns.

        ControllerCallFailed when it fails or may not be run.
        """
        if fun.partition(".")[0] in await asyncio.to_thread(_runners_in, self._folders):
            job = self._job(context, fun, args, kwargs)._replace(folders=self._folders)
            return await self._process(sandboxed=False).run(context, job)
        files = self._files()
        if not self.settings.language.opts.get("allow_py_renderer", True) or files is None:
            raise ControllerCallFailed(
                f"_runners/{fun.partition('.')[0]}.py is Python of the tree, which is switched off; "
                "see the option allow_py_renderer"
            )
        job = self._job(context, fun, args, kwargs)._replace(files=files)
        return await self._process(sandboxed=True).run(context, job)

    async def engine(
        self, context: RunnerContext, module: str, arguments: Mapping[str, Any], limits: EngineLimits, ask: AskRunner
    ) -> None:
        """Run an engine of the administrator until it ends.

        ControllerCallFailed when it fails. `ask` answers its questions, whatever their number.
        """
        job = self._job(context, f"{module}.start", (), arguments)
        folders, dirs = self._folders, self.settings.ports.engines_dirs
        job = job._replace(folders=folders, engines_dirs=dirs, engine=True, opts={**job.opts, "__role": "master"})
        await self._engine_process(limits, ask, sandboxed=False).run(context, job)

    async def engine_of_tree(
        self, context: RunnerContext, module: str, arguments: Mapping[str, Any], limits: EngineLimits, ask: AskRunner
    ) -> None:
        """Run an engine of the live tree until it ends, where runners of a tree run: in the sandbox.

        ControllerCallFailed when it fails, or Python of the tree is switched off.
        """
        files = self._files()
        if files is None or not self.settings.language.opts.get("allow_py_renderer", True):
            raise ControllerCallFailed(
                f"_engines/{module}.py is Python of the tree, which is switched off; see the option allow_py_renderer"
            )
        job = self._job(context, f"{module}.start", (), arguments)
        job = job._replace(files=files, engine=True, opts={**job.opts, "__role": "master"})
        await self._engine_process(limits, ask, sandboxed=True).run(context, job)

    async def engine_code(self, module: str) -> str:
        """Names what the live tree has for an engine; empty when it does not bring it."""
        files = self._files()
        return "" if files is None else await asyncio.to_thread(_engine_code, files, module)

    def _engine_process(self, limits: EngineLimits, ask: AskRunner, *, sandboxed: bool) -> FunctionProcess:
        bounds = RunnerLimits(
            seconds=math.inf,
            messages=sys.maxsize - 1,
            value_bytes=limits.message_bytes,
            memory_bytes=limits.memory_bytes,
            output_bytes=limits.output_bytes,
        )
        process = self._process(sandboxed=sandboxed)
        settings = structs.replace(process.settings, memory_bytes=limits.memory_bytes)
        return replace(process, settings=settings, limits=bounds, ask=ask)

    async def execution_function(
        self, context: RunnerContext, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """What an execution function returns on this machine, as the controller's user."""
        return await self._process(sandboxed=False).run(context, self._job(context, fun, args, kwargs))

    async def documentation_of_tree(self, context: RunnerContext) -> dict[str, str]:
        """What the runners of the live tree take and do, by full name; nothing where they may not be run."""
        if not await self._runners() or not self.settings.language.opts.get("allow_py_renderer", True):
            return {}
        found: dict[str, str] = await self.runner_of_tree(context, "", (), {})
        return found

    async def has_runner(self, module: str) -> bool:
        """Whether the administrator or the live tree brings this runner."""
        return module in await self._runners() or module in await asyncio.to_thread(_runners_in, self._folders)

    async def _runners(self) -> frozenset[str]:
        """Names of the runners of the live tree."""
        trees = self.live.trees
        if trees is None:
            return frozenset()
        if trees.revision.digest != self._listed[0]:
            self._listed = (trees.revision.digest, await asyncio.to_thread(_runners_of, trees.files))
        return self._listed[1]

    @property
    def _folders(self) -> tuple[str, ...]:
        """Of the administrator's modules."""
        ports = self.settings.ports
        return tuple(folder for folder in (ports.extension_modules, *ports.module_dirs) if folder)

    def _files(self) -> Files | None:
        return self.live.trees.files if self.live.trees is not None else None

    def _job(self, context: RunnerContext, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> ProcessJob:
        return ProcessJob(
            fun=fun,
            args=tuple(args),
            kwargs=dict(kwargs),
            files=None,
            folders=(),
            opts=option_values(context.ports.settings),
            jid=context.jid,
            user=context.user,
            runners=tuple(registry.names("runner")),
        )

    def _process(self, *, sandboxed: bool) -> FunctionProcess:
        limits: RunnerLimits = self.settings.limits.runner
        return FunctionProcess(
            settings=WorkerSettings(
                sandbox_policy=sandbox_policy_of(self.settings) if sandboxed else None,
                memory_bytes=limits.memory_bytes,
                max_states=0,
                controller_pid=os.getpid(),
            ),
            limits=limits,
            on_refusal=self.on_refusal,
            ask=_ask,
        )


def _engine_code(files: Files, module: str) -> str:
    """The contents that an engine of a tree may load, as one text."""
    index = Tree(files).modules("base").index()
    if module not in index.get("engines", {}):
        return ""
    return repr([sorted(index.get(kind, {}).items()) for kind in ("engines", "modules", "utils")])


async def _ask(context: RunnerContext, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call one of the controller's runners for a runner of the tree, which may call all that runs no program here."""
    if fun in NOT_FOR_TREES:
        raise UnknownControllerFunction(f"{fun} runs in the process of the runner")
    bound = registry.bind("runner", fun, args, kwargs)
    return await bound.function(context, *bound.args, **bound.kwargs)


def _runners_in(folders: Sequence[str]) -> frozenset[str]:
    """Names of the runners in folders of the administrator."""
    return frozenset(FolderStore([Path(one) for one in folders]).index().get("runners", ()))


def _runners_of(files: Files) -> frozenset[str]:
    """Names of the runners of a tree: of their files, and those that they may give themselves, unless we have them.

    What a module calls itself is known for certain only when it runs, which it does not here.
    """
    modules = Tree(files).modules("base")
    found = modules.index().get("runners", {})
    virtual = {
        name for oid in found.values() for name in VIRTUAL.findall(modules.source(oid).decode("utf-8", "replace"))
    }
    return frozenset(found) | (virtual - set(registry.MODULES["runner"]))
