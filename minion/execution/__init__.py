"""Execution functions, found by Salt's names.

Called by the worker, by `saltern call`, and by conditions and templates of states. A module is a Python file of this
package with `FUNCTIONS: Mapping[str, Function]`, named in `MODULES` below; each function takes the `Context` first:

    def item(context: Context, *keys: str) -> dict[str, Any]: ...
    FUNCTIONS = {"item": item}

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
