"""SLS of orchestrations, compiled where everything is: in a sandboxed process, for the id of the controller."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from controller.compilation.compile_messages import CompileRequest, StatesQuestion
from controller.compilation.compile_pool import CompilePool
from controller.config.sections import PortOptions
from controller.reconcile.live import LiveRevision
from controller.runners.errors import ControllerCallFailed
from highstate.compile_options import CompileOptions
from highstate.types import Minion


@dataclass(frozen=True, slots=True, kw_only=True)
class OrchestrationCompiler:
    """Compiles the live revision."""

    compiler: CompilePool
    live: LiveRevision
    language: CompileOptions
    ports: PortOptions
    grains: Callable[[], Mapping[str, Any]]
    """Of the controller's machine; called in a thread."""

    async def compiled(
        self, own_id: str, fun: str, sls: Sequence[str], options: Mapping[str, Any]
    ) -> tuple[Any, Sequence[str]]:
        """What SLS come to, as `state.show_low_sls` or `state.show_sls` shows it, and errors.

        Args:
            own_id: for whom they are compiled.
            fun: one of the two.
            sls: their names.
            options: `pillar`, `saltenv`, `pillarenv`.
        """
        trees = self.live.trees
        if trees is None:
            raise ControllerCallFailed("there is no live revision yet: `saltern remote list` says why")
        grains = {**await asyncio.to_thread(self.grains), "id": own_id}
        language = self.language
        if pillarenv := options.get("pillarenv"):
            language = replace(language, opts={**language.opts, "pillarenv": pillarenv})
        request = CompileRequest(
            files=trees.files,
            pillar=trees.pillar,
            minions=(Minion(id=own_id, grains=grains),),
            language=language,
            ports=self.ports,
            states=StatesQuestion(
                fun=fun, mods=tuple(sls), saltenv=options.get("saltenv") or "base", pillar=options.get("pillar") or {}
            ),
        )
        [answer] = await self.compiler.compile(request)
        if answer.errors:
            return [], [str(problem).removeprefix("state.apply: ") for problem in answer.errors]
        return msgspec.msgpack.decode(answer.document), ()

    def low_of(self, data: Mapping[str, Any]) -> tuple[Sequence[Mapping[str, Any]], Sequence[str]]:
        """Low chunks of high data, and errors."""
        # Several MiB of a process that is always there, for what is hardly ever called.
        from highstate.compile.compiler import lowstate_of
        from highstate.compile.declare import read_states
        from highstate.compile.high import High
        from highstate.compile.positions import SourceFile, SourceLocation

        high = High()
        place = SourceLocation(SourceFile(file="data", sls="data", saltenv="base"), ())
        high.bodies.update(read_states(high, dict(data), place))
        chunks = lowstate_of(high, self.language)
        return [chunk.as_salt() for chunk in chunks], [problem.message for problem in high.problems]
