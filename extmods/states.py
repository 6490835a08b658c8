"""State functions of user modules, as the engine calls them.

Called by `minion.engine.engine`. Their contract is Salt's: they return a dictionary with `name`, `changes`, `result`
and `comment`, and look at `__opts__['test']` themselves.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Mapping
from typing import Any

from extmods.loader import UserFunction, UserModules
from highstate.types import Chunk, StateResult


class CallableStates:
    """`minion.engine.engine.UserStates`."""

    def __init__(self, modules: UserModules) -> None:
        self._modules = modules

    def has(self, state: str) -> bool:
        """Whether there is such a module."""
        return state in self._modules.loaded("states")

    def takes(self, state: str, fun: str) -> bool:
        """Whether the module has this function."""
        return fun in self._modules.loaded("states")[state].functions

    def call(self, chunk: Chunk, fun: str, arguments: Mapping[str, Any], *, test: bool) -> StateResult:
        """What it returns. One at a time: `__opts__['test']` and `__low__` are the module's own."""
        loaded = self._modules.loaded("states")[chunk.state]
        function = loaded.functions[fun]
        with self._modules.lock:
            names = loaded.module.__dict__
            before = names["__opts__"].get("test")
            names["__opts__"]["test"] = test
            names.update(__low__=chunk.as_salt(), __id__=chunk.id, __sls__=chunk.sls, __env__=chunk.saltenv)
            try:
                return _result(chunk, fun, _called(function, chunk, arguments))
            except Exception:
                comment = f"An exception occurred in this state: {traceback.format_exc()}"
                return StateResult(name=chunk.name, result=False, comment=comment)
            finally:
                names["__opts__"]["test"] = before


def _called(function: UserFunction, chunk: Chunk, arguments: Mapping[str, Any]) -> Any:
    parameters = function.signature.parameters
    given = {"name": chunk.name, **arguments}
    if not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        given = {key: value for key, value in given.items() if key in parameters}
    return function.call(**given)


def _result(chunk: Chunk, fun: str, returned: Any) -> StateResult:
    if not isinstance(returned, Mapping):
        comment = f"Malformed state return: {chunk.state}.{fun} returned {type(returned).__name__}, not a dictionary"
        return StateResult(name=chunk.name, result=False, comment=comment)
    missing = [key for key in ("name", "changes", "result", "comment") if key not in returned]
    if missing:
        comment = f"Malformed state return: {chunk.state}.{fun} left out {', '.join(missing)}"
        return StateResult(name=chunk.name, result=False, comment=comment)
    comment, changes, result = returned["comment"], returned["changes"], returned["result"]
    warnings = returned.get("warnings") or ()
    return StateResult(
        name=str(returned["name"]),
        result=None if result is None else bool(result),
        comment="\n".join(str(line) for line in comment) if isinstance(comment, list | tuple) else str(comment),
        changes=changes if isinstance(changes, Mapping) else {"changes": changes},
        skip_watch=bool(returned.get("skip_watch")),
        skip_req=bool(returned.get("skip_req")),
        warnings=(warnings,) if isinstance(warnings, str) else tuple(str(one) for one in warnings),
    )
