"""What modules of a tree have of this minion: its execution functions and its states (`extmods.ports`).

Called by `Context.user_modules` and `minion.execution.module_host`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from extmods.dunders import ModuleScope, dunders_of
from extmods.loader import UserModules
from extmods.ports import ImportableFunctions, ModuleSources
from highstate.run.runner import run
from highstate.types import Chunk
from minion.engine import registry
from minion.execution.loader import MODULES, FunctionContext, Modules
from minion.execution.machine_clock import WAITING
from minion.execution.state_engine import EngineContext, engine_of
from minion.machine.machine import LocalMachine


class ModuleContext(EngineContext, Protocol):
    """What modules see of a `Context`."""

    minion_id: str
    opts: Mapping[str, Any]
    cachedir: str

    @property
    def grains(self) -> Mapping[str, Any]:
        """The minion's grains."""

    @property
    def pillar(self) -> Mapping[str, Any]:
        """The minion's pillar."""

    @property
    def machine(self) -> LocalMachine:
        """The machine that states change."""


class ImportedFunctions:
    """`extmods.ports.ImportableFunctions`: every execution function, for a context without pillar and tree."""

    def __init__(self, context: FunctionContext) -> None:
        self._context = context

    def has_module(self, module: str) -> bool:
        """See `ImportableFunctions`."""
        return module in MODULES

    def function(self, fun: str) -> Callable[..., Any] | None:
        """See `ImportableFunctions`."""
        return Modules(self._context).as_functions(language=True).get(fun)


def user_modules_of(context: ModuleContext, store: ModuleSources, imports: ImportableFunctions) -> UserModules:
    """The modules of a store, with the dunders of this minion; grains and pillar are read when one is loaded."""
    modules = UserModules(store=store, dunders=dict, imports=imports)
    modules.dunders = lambda: dunders_of(modules, scope_of(context))
    return modules


def scope_of(context: ModuleContext) -> ModuleScope:
    """What the dunders show of a context."""
    return ModuleScope(
        minion_id=context.minion_id,
        opts=context.opts,
        grains=context.grains,
        pillar=context.pillar,
        functions=Modules(context).as_functions(language=True),
        states=_BuiltInStates(context),
        cachedir=context.cachedir,
    )


class _BuiltInStates:
    """`extmods.ports.StateFunctions`: states of this machine, under test=True where the current run is."""

    def __init__(self, context: ModuleContext) -> None:
        self._context = context

    def names(self) -> Iterable[str]:
        """Full names of the built-in state functions."""
        return registry.names()

    def call(self, fun: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run one state; what Salt's states return."""
        state, _, function = fun.partition(".")
        test = bool(arguments.get("test", self._context.testing))
        given = {key: value for key, value in arguments.items() if key != "test"}
        chunk = Chunk(state=state, fun=function, id=name, name=name, sls="", arguments=given)
        engine = engine_of(self._context, self._context.machine, test=test)
        return run({"": chunk}, engine, test=test, clock=lambda: 0.0, hooks=WAITING)[""].as_salt(chunk)
