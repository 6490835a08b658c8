"""The execution module `sys`: what functions there are."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Signature
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

    built_in = {name: usage(name, find(name)) for name in list_functions(context, *modules)}
    user = context.user_modules if context.has_user_modules() else None
    for name in user.names("modules") if user else ():
        found = user.function(name) if user else None
        if found is not None and (not modules or name in modules or name.partition(".")[0] in modules):
            built_in[name] = usage(name, found.call, own=0)
    return dict(sorted(built_in.items()))


def argspec(context: Context, *modules: str) -> dict[str, Any]:
    """What functions take: names, defaults, and whether they take more."""
    from minion.modules.loader import Modules

    found = {name: Modules(context).signature(name) for name in list_functions(context, *modules)}
    return {name: _argspec(signature) for name, signature in found.items() if signature is not None}


def _argspec(signature: Signature) -> dict[str, Any]:
    plain = [one for one in signature.parameters.values() if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    defaults = [one.default for one in plain if one.default is not one.empty]
    stars = {one.kind: one.name for one in signature.parameters.values()}
    return {
        "args": [one.name for one in plain],
        "defaults": defaults or None,
        "varargs": True if any(kind.name == "VAR_POSITIONAL" for kind in stars) else None,
        "kwargs": True if any(kind.name == "VAR_KEYWORD" for kind in stars) else None,
    }


def list_state_functions(context: Context, *modules: str) -> list[str]:
    """Full names of all state functions, or of those of some modules."""
    from minion.states.registry import names

    return [name for name in names() if not modules or name.partition(".")[0] in modules]


FUNCTIONS: Mapping[str, Any] = {
    "argspec": argspec,
    "doc": doc,
    "list_functions": list_functions,
    "list_modules": list_modules,
    "list_state_functions": list_state_functions,
}
