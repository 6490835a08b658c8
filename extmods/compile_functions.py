"""What a compile gives the modules that it calls: the functions of templates, `_modules` of the tree, and HTTP.

The default of `extmods.compile_modules`. Nothing here runs a program or changes a machine: a compile may do neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from extmods.dunders import ModuleScope
from extmods.loader import UserModules
from extmods.ports import ImportableFunctions
from extmods.salt_compat.utils import http
from highstate.files import MemoryFiles
from highstate.functions.call import FunctionCall
from highstate.functions.catalog import BUILT_IN, TemplateFunctions
from highstate.memo.tracked import Recorder, plain
from highstate.render.context import RenderContext
from highstate.render.renderers import render_string
from highstate.types import Files, Minion, Value

_BESIDE_TEMPLATES: Mapping[str, Callable[..., Any]] = {"http.query": http.query}
"""Functions that templates do not have."""


@dataclass(frozen=True, slots=True)
class CompileHost:
    """`plugins.ModuleHost` of a compile."""

    files: Files

    @property
    def imports(self) -> ImportableFunctions:
        """`salt.modules.*`, for no minion in particular."""
        return _Importable()

    def scope(
        self, modules: UserModules, minion: Minion, opts: Mapping[str, Any], pillar: Mapping[str, Value]
    ) -> ModuleScope:
        """See `ModuleHost`."""
        around = RenderContext(minion=minion, files=self.files, pillar=pillar, opts=opts)
        functions = CompileFunctions(around, modules)
        return ModuleScope(minion_id=minion.id, opts=opts, grains=minion.grains, pillar=pillar, functions=functions)


class CompileFunctions(Mapping[str, Callable[..., Any]]):
    """`__salt__` in a compile; a function of the tree's `_modules` stands before a built-in one."""

    def __init__(self, around: RenderContext, modules: UserModules | None = None) -> None:
        self._around = around
        self._modules = modules

    def __getitem__(self, fun: str) -> Callable[..., Any]:
        own = self._modules.function(fun) if self._modules is not None else None
        if own is not None:
            return own.call
        built_in = self._templates[fun]
        return lambda *args, **kwargs: plain(built_in(*args, **kwargs))

    def __iter__(self) -> Iterator[str]:
        own = self._modules.names("modules") if self._modules is not None else ()
        return iter(sorted({*self._templates, *own}))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @cached_property
    def _templates(self) -> TemplateFunctions:
        recorder = Recorder(self._around.sources)  # what it records is not used: such a compile is never memoised

        def render(text: str, pipeline: str, variables: Mapping[str, Value]) -> Value:
            return render_string(text, pipeline, variables, self._around, recorder)

        return TemplateFunctions(FunctionCall(recorder=recorder, saltenv="base", render=render), _BESIDE_TEMPLATES)


class _Importable:
    """`ImportableFunctions` of a compile."""

    def has_module(self, module: str) -> bool:
        """See `ImportableFunctions`."""
        return any(fun.partition(".")[0] == module for fun in (*BUILT_IN, *_BESIDE_TEMPLATES))

    def function(self, fun: str) -> Callable[..., Any] | None:
        """See `ImportableFunctions`."""
        return CompileFunctions(RenderContext(minion=Minion(id="", grains={}), files=MemoryFiles({}))).get(fun)
