"""Salt's dunders, as they stand in the namespace of a module.

Called by loaders of modules for a minion (`minion.execution.tree_modules`, `extmods.plugins`). `__salt__`,
`__utils__` and `__states__` look a function up when it is asked for, so that modules may name each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from extmods.loader import UserModules
from extmods.ports import NO_FUNCTIONS, Functions, StateFunctions


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleScope:
    """The minion that modules are loaded for, and what they may call."""

    minion_id: str
    opts: Mapping[str, Any]
    grains: Mapping[str, Any]
    pillar: Mapping[str, Any]
    functions: Functions
    """`__salt__`: built-in execution functions and those of the tree."""
    states: StateFunctions = NO_FUNCTIONS
    cachedir: str = ""


def dunders_of(modules: UserModules, scope: ModuleScope) -> dict[str, Any]:
    """The dunders of a namespace; `__opts__` is a copy for each module."""
    return {
        "__salt__": scope.functions,
        "__utils__": _Utilities(modules),
        "__states__": _States(modules, scope.states),
        "__grains__": scope.grains,
        "__pillar__": scope.pillar,
        "__opts__": {
            **scope.opts,
            "id": scope.minion_id,
            "cachedir": scope.cachedir,
            "grains": scope.grains,
            "pillar": scope.pillar,
            "test": scope.opts.get("test", False),
        },
        "__env__": "base",
        "__sdb__": {},
        "__proxy__": {},
        "__serializers__": {},
        "__low__": {},
        "__instance_id__": scope.minion_id,
        "__running__": {},
        "__lowstate__": [],
    }


class _Utilities(Mapping[str, Callable[..., Any]]):
    """Functions of `_utils` by full name."""

    def __init__(self, modules: UserModules) -> None:
        self._modules = modules

    def __getitem__(self, fun: str) -> Callable[..., Any]:
        module, _, name = fun.partition(".")
        found = self._modules.loaded("utils").get(module)
        if found is None or name not in found.functions:
            raise KeyError(fun)
        return found.functions[name].call

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules.names("utils"))

    def __len__(self) -> int:
        return len(self._modules.names("utils"))


class _States(Mapping[str, Callable[..., Any]]):
    """State functions by full name, built-in ones too; a call gives Salt's dictionary."""

    def __init__(self, modules: UserModules, states: StateFunctions) -> None:
        self._modules = modules
        self._states = states

    def __getitem__(self, fun: str) -> Callable[..., Any]:
        if fun not in list(self):
            raise KeyError(fun)
        return lambda name, **arguments: self._states.call(fun, str(name), arguments)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._states.names(), *self._modules.names("states")}))

    def __len__(self) -> int:
        return len(list(iter(self)))
