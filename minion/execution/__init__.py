"""Execution functions, found by Salt's names.

Called by the worker, by `saltern call`, and by conditions and templates of states. A module is a Python file of
`minion.modules` with `FUNCTIONS: Mapping[str, Function]`, named in `minion.execution.loader`; each function takes the
`Context` first:

    def item(context: Context, *keys: str, default: Any = "", saltenv: CompiledPillar = None) -> dict[str, Any]: ...
    FUNCTIONS = {"item": item}

Parameters have Salt's names, stand in Salt's order, and say by their types what a value becomes (`minion.arguments`).
Salt's arguments that are refused here, or do nothing, are parameters too, with types of `minion.execution.arguments`:
the loader refuses or drops them, so that the function never gets one. Keywords that many functions share are a
TypedDict: `**options: Unpack[CommandOptions]`.

Modules are imported when a function of theirs is first called.
"""

from minion.execution.context import Context, LowstateSource
from minion.execution.errors import BadArguments, CallFailed, CompileFailed, OthersRun, UnknownFunction
from minion.execution.loader import MODULES, Modules

__all__ = [
    "MODULES",
    "BadArguments",
    "CallFailed",
    "CompileFailed",
    "Context",
    "LowstateSource",
    "Modules",
    "OthersRun",
    "UnknownFunction",
]
