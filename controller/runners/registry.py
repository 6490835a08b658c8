"""Finds the functions of runners and wheels by name, and binds the arguments of their calls.

    async def lookup_jid(context: RunnerContext, jid: str, missing: bool = False) -> Any: ...
    FUNCTIONS = {"lookup_jid": lookup_jid}

The signature is the only description of a function's arguments (`minion.arguments`). Modules are imported when one of
their functions is looked for.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from controller.runners.errors import BadControllerArguments, UnknownControllerFunction
from controller.runners.not_built import NOT_BUILT
from minion.arguments import BadValues, spec_of
from options.near_names import near
from reactors.rules.reaction import Parameters

FunctionKind: TypeAlias = Literal["runner", "wheel"]
ControllerFunction: TypeAlias = Callable[..., Awaitable[Any]]
"""`f(context, *arguments) -> value`, the value being what YAML and msgpack know."""

ROOMS: Mapping[FunctionKind, str] = {"runner": "controller.runners.modules", "wheel": "controller.wheels"}
MODULES: Mapping[FunctionKind, tuple[str, ...]] = {
    "runner": (
        *(
            "cache",
            "cloud",
            "config",
            "doc",
            "error",
            "event",
            "fileserver",
            "git_pillar",
            "http",
            "jobs",
            "manage",
            "match",
            "mine",
        ),
        *("pillar", "queue", "reactor", "salt", "saltutil", "sdb", "state", "survey", "test", "vault"),
    ),
    "wheel": ("config", "error", "file_roots", "key", "minions", "pillar_roots"),
}


_SECRET_VALUES = frozenset(
    (
        "runner vault.generate_new_token",
        "runner vault.generate_secret_id",
        "runner vault.get_role_id",
        "runner cache.pillar",
        "runner pillar.show_pillar",
        "runner sdb.get",
        "runner sdb.get_or_set_hash",
    )
)
"""What these return is for who asks, and for nobody who reads events or the history."""


class BoundCall(NamedTuple):
    """A function with its converted arguments."""

    function: ControllerFunction
    args: Sequence[Any]
    kwargs: Mapping[str, Any]


def find(kind: FunctionKind, fun: str) -> ControllerFunction:
    """The function `module.name`; UnknownControllerFunction with near names."""
    module, _, name = fun.partition(".")
    found = functions_of(kind, module).get(name) if module in MODULES[kind] else None
    if found is None:
        raise UnknownControllerFunction(f"'{fun}' is not available.{_near(kind, fun)}")
    return found


def functions_of(kind: FunctionKind, module: str) -> Mapping[str, ControllerFunction]:
    """The functions of a module that is there."""
    functions: Mapping[str, ControllerFunction] = importlib.import_module(f"{ROOMS[kind]}.{module}").FUNCTIONS
    return functions


def names(kind: FunctionKind) -> list[str]:
    """Full names of all functions, sorted."""
    return sorted(f"{module}.{name}" for module in MODULES[kind] for name in functions_of(kind, module))


def is_secret(kind: FunctionKind, fun: str) -> bool:
    """Whether what a function returns may hold secrets."""
    return f"{kind} {fun}" in _SECRET_VALUES


def parameters_of(kind: FunctionKind, fun: str) -> Parameters | None:
    """What a function takes from a reaction; None when there is no such function."""
    try:
        spec = spec_of(find(kind, fun), 1)
    except UnknownControllerFunction:
        return None
    optional = tuple(name for name, one in spec.parameters.items() if one.single and name not in spec.required)
    return Parameters(positional=spec.required, optional=optional, any_name=spec.takes_anything)


def bind(kind: FunctionKind, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> BoundCall:
    """A call, with its arguments as the function's types.

    Raises:
        UnknownControllerFunction: there is no such function.
        BadControllerArguments: it does not take them; the text has its usage.
    """
    function = find(kind, fun)
    spec = spec_of(function, 1)
    try:
        positional, keywords = spec.bind(fun, args, kwargs)
        missing = [name for name in spec.required[len(positional) :] if name not in keywords]
        if missing:
            raise BadValues(f"missing {' and '.join(missing)}")
        unknown = [] if spec.takes_anything else [name for name in keywords if name not in spec.parameters]
        if unknown:
            raise BadValues(f"there is no argument {' or '.join(unknown)}")
    except BadValues as error:
        said = str(error)
        text = said if said.startswith("Passed invalid arguments") else f"Passed invalid arguments to {fun}: {said}"
        raise BadControllerArguments(f"{text}\n\nUsage: {usage(fun, function)}") from None
    private = {name: one for name, one in kwargs.items() if name.startswith("__")} if spec.takes_anything else {}
    return BoundCall(function, positional, {**spec.grouped(keywords), **private})


def usage(fun: str, function: ControllerFunction) -> str:
    """The signature as its caller sees it, and the docstring."""
    return f"{fun}{spec_of(function, 1).signature()}\n\n{inspect.getdoc(function) or ''}".strip()


def _near(kind: FunctionKind, fun: str) -> str:
    if fun in NOT_BUILT[kind]:
        return f" It is not built: {NOT_BUILT[kind][fun]}."
    module, _, name = fun.partition(".")
    if module not in MODULES[kind]:
        meant = near(module, MODULES[kind])
        hint = f" Did you mean {meant[0]}?" if meant else ""
        return f" There is no {kind} '{module}'.{hint} `saltern {kind} -d` lists all."
    known = sorted(functions_of(kind, module))
    meant = near(name, known, most=3, cutoff=0.5)
    listed = [f"{module}.{one}" for one in meant or known]
    return f" Did you mean {' or '.join(listed)}?" if meant else f" There are: {', '.join(listed)}."
