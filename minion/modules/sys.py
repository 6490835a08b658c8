"""The execution module `sys`: what functions there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Signature
from typing import TYPE_CHECKING, Any

from minion.execution.context import Context

if TYPE_CHECKING:
    from extmods.loader import UserFunction
    from minion.engine.registry import Function as StateFunction


def list_functions(context: Context, *modules: str) -> list[str]:
    """Full names of all functions, or of those of some modules."""
    from minion.execution.loader import names

    own = context.user_modules.names("modules") if context.has_user_modules() else ()
    return _chosen(sorted({*names(), *own}), modules)


def list_modules(context: Context, *modules: str) -> list[str]:
    """Names of the modules, or of those that a glob fits."""
    return _fitting(sorted({name.partition(".")[0] for name in list_functions(context)}), modules)


def doc(context: Context, *modules: str) -> dict[str, str]:
    """Signature and description of functions."""
    from minion.execution.loader import find, usage, usage_of_user

    described = {}
    for name in list_functions(context, *modules):
        user = context.user_modules.function(name) if context.has_user_modules() else None
        described[name] = usage(name, find(name)) if user is None else usage_of_user(name, user.call)
    return described


def argspec(context: Context, *modules: str) -> dict[str, Any]:
    """What functions take: names, defaults, and whether they take more."""
    from minion.execution.loader import Modules

    found = {name: Modules(context).signature(name) for name in list_functions(context, *modules)}
    return {name: _argspec(signature) for name, signature in found.items() if signature is not None}


def _argspec(signature: Signature) -> dict[str, Any]:
    plain = [one for one in signature.parameters.values() if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    defaults = [one.default for one in plain if one.default is not one.empty]
    stars = {one.kind: one.name for one in signature.parameters.values()}
    return {
        "args": [one.name for one in plain] or None,
        "defaults": defaults or None,
        "varargs": True if any(kind.name == "VAR_POSITIONAL" for kind in stars) else None,
        "kwargs": True if any(kind.name == "VAR_KEYWORD" for kind in stars) else None,
    }


def list_state_functions(context: Context, *modules: str) -> list[str]:
    """Full names of all state functions, or of those of some modules."""
    from minion.engine.registry import names

    own = context.user_modules.names("states") if context.has_user_modules() else ()
    return _chosen(sorted({*names(), *own}), modules)


def list_state_modules(context: Context, *modules: str) -> list[str]:
    """Names of the state modules, or of those that a glob fits."""
    return _fitting(sorted({name.partition(".")[0] for name in list_state_functions(context)}), modules)


def state_doc(context: Context, *modules: str) -> dict[str, str]:
    """Signature and description of state functions."""
    import inspect

    from minion.execution.loader import usage_of_user

    described = {}
    for name in list_state_functions(context, *modules):
        if (user := _user_state(context, name)) is not None:
            described[name] = usage_of_user(name, user.call)
            continue
        one = _state(name)
        described[name] = f"{name}{one.spec.signature('name')}\n\n{inspect.getdoc(one.call) or ''}".strip()
    return described


def state_argspec(context: Context, *modules: str) -> dict[str, Any]:
    """What state functions take: names, defaults, and whether they take more."""
    found = {name: _user_state(context, name) for name in list_state_functions(context, *modules)}
    return {
        name: _argspec(_state(name).spec.signature("name") if user is None else user.signature)
        for name, user in found.items()
    }


def _user_state(context: Context, name: str) -> UserFunction | None:
    """A state function of the tree."""
    module, _, fun = name.partition(".")
    loaded = context.user_modules.loaded("states").get(module) if context.has_user_modules() else None
    return loaded.functions.get(fun) if loaded else None


def _state(name: str) -> StateFunction:
    from minion.engine.registry import find

    module, _, fun = name.partition(".")
    return find(module, fun, "")


def reload_modules(context: Context) -> bool:
    """Load user modules anew."""
    context.reload("modules")
    return True


def _chosen(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The functions of modules, or those that a glob fits; all when nothing is wanted."""
    import fnmatch

    patterns = [one if "." in one or "*" in one else f"{one.rstrip('.')}.*" for one in wanted] or ["*"]
    return [name for name in names if any(fnmatch.fnmatchcase(name, one) for one in patterns)]


def _fitting(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    import fnmatch

    return [name for name in names if not patterns or any(fnmatch.fnmatchcase(name, one) for one in patterns)]


FUNCTIONS: Mapping[str, Any] = {
    "argspec": argspec,
    "doc": doc,
    "list_functions": list_functions,
    "list_modules": list_modules,
    "list_state_functions": list_state_functions,
    "list_state_modules": list_state_modules,
    "reload_modules": reload_modules,
    "state_argspec": state_argspec,
    "state_doc": state_doc,
}
