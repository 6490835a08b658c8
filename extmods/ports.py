"""What modules of a tree need of the process that loads them. The caller supplies it: the minion, or a compile.

The minion's adapters are `minion.execution.tree_modules`, those of a compile `extmods.compile_functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

Functions = Mapping[str, Callable[..., Any]]
"""Full name of a function -> what calls it."""

FileWriter = Callable[[Path, bytes], None]
"""Replaces a file, so that after a crash it has the old content or the new one. Raises OSError."""


class ModuleSources(Protocol):
    """Where modules come from, by content (`store.ModuleStore`)."""

    def index(self) -> Mapping[str, Mapping[str, str]]:
        """Kind -> module -> content id."""

    def source(self, oid: str) -> bytes:
        """A content; OSError when it is gone."""


class ImportableFunctions(Protocol):
    """Execution functions that a module may import as `salt.modules.MODULE`."""

    def has_module(self, module: str) -> bool:
        """Whether there is an execution module of this name."""

    def function(self, fun: str) -> Callable[..., Any] | None:
        """The function with this full name; it knows neither pillar nor tree. None: there is none."""


class StateFunctions(Protocol):
    """Built-in states, for `__states__`."""

    def names(self) -> Iterable[str]:
        """Full names of the built-in state functions."""

    def call(self, fun: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run one state, built-in or of the tree; what Salt's states return."""


class NoFunctions:
    """`ImportableFunctions` and `StateFunctions` of a process that has neither."""

    def has_module(self, module: str) -> bool:
        """See `ImportableFunctions`."""
        return False

    def function(self, fun: str) -> None:
        """See `ImportableFunctions`."""

    def names(self) -> Iterable[str]:
        """See `StateFunctions`."""
        return ()

    def call(self, fun: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """See `StateFunctions`."""
        raise KeyError(fun)


NO_FUNCTIONS = NoFunctions()
