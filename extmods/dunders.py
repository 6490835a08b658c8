"""Salt's dunders for user modules, made of a `Context`.

Called through `Context.user_modules`. `__salt__`, `__utils__` and `__states__` find their functions when they are asked
for, so that modules may name each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minion.execution.context import Context


def dunders_of(context: Context) -> dict[str, Any]:
    """A namespace's dunders; `__opts__` is a copy for each module."""
    from minion.execution.loader import Modules

    return {
        "__salt__": Modules(context).as_functions(language=True),
        "__utils__": _Utilities(context),
        "__states__": _States(context),
        "__grains__": context.grains,
        "__pillar__": context.pillar,
        "__opts__": {
            **context.opts,
            "id": context.minion_id,
            "cachedir": context.cachedir,
            "grains": context.grains,
            "pillar": context.pillar,
            "test": context.opts.get("test", False),
        },
        "__env__": "base",
        "__sdb__": {},
        "__proxy__": {},
        "__serializers__": {},
        "__low__": {},
        "__instance_id__": context.minion_id,
        "__running__": {},
        "__lowstate__": [],
    }


class _Utilities(Mapping[str, Callable[..., Any]]):
    """Functions of `_utils` by full name."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def __getitem__(self, fun: str) -> Callable[..., Any]:
        module, _, name = fun.partition(".")
        found = self._context.user_modules.loaded("utils").get(module)
        if found is None or name not in found.functions:
            raise KeyError(fun)
        return found.functions[name].call

    def __iter__(self) -> Iterator[str]:
        return iter(self._context.user_modules.names("utils"))

    def __len__(self) -> int:
        return len(self._context.user_modules.names("utils"))


class _States(Mapping[str, Callable[..., Any]]):
    """State functions by full name, built-in ones too; a call gives Salt's dictionary."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def __getitem__(self, fun: str) -> Callable[..., Any]:
        if fun not in list(self):
            raise KeyError(fun)
        return lambda name, **arguments: self._call(fun, str(name), arguments)

    def __iter__(self) -> Iterator[str]:
        from minion.engine.registry import names

        return iter(sorted({*names(), *self._context.user_modules.names("states")}))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _call(self, fun: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        from highstate.run import run
        from highstate.types import Chunk
        from minion.modules.state.runs import engine_of

        state, _, function = fun.partition(".")
        test = bool(arguments.get("test", self._context.testing))
        given = {key: value for key, value in arguments.items() if key != "test"}
        chunk = Chunk(state=state, fun=function, id=name, name=name, sls="", arguments=given)
        engine = engine_of(self._context, self._context.machine, test=test)
        return run({"": chunk}, engine, test=test, clock=lambda: 0.0)[""].as_salt(chunk)
