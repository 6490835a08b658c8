"""The execution module `sys`: what functions there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.modules.context import Context


def list_functions(context: Context, *modules: str) -> list[str]:
    """Full names of all functions, or of those of some modules."""
    from minion.modules.loader import names

    return [name for name in names() if not modules or name.partition(".")[0] in modules or name in modules]


def list_modules(context: Context) -> list[str]:
    """Names of the modules."""
    return sorted({name.partition(".")[0] for name in list_functions(context)})


def doc(context: Context, *modules: str) -> dict[str, str]:
    """Signature and description of functions."""
    from minion.modules.loader import find, usage

    return {name: usage(name, find(name)) for name in list_functions(context, *modules)}


def list_state_functions(context: Context, *modules: str) -> list[str]:
    """Full names of all state functions, or of those of some modules."""
    from minion.states.registry import names

    return [name for name in names() if not modules or name.partition(".")[0] in modules]


FUNCTIONS: Mapping[str, Any] = {
    "doc": doc,
    "list_functions": list_functions,
    "list_modules": list_modules,
    "list_state_functions": list_state_functions,
}
