"""`salt.utils.functools`: functions made of others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

Function = Callable[..., Any]


def namespaced_function(function: FunctionType, global_dict: dict[str, Any], *ignored: Any, **more: Any) -> Function:
    """The same function, with the names of another module: a virtual module takes one over so."""
    made = FunctionType(function.__code__, global_dict, function.__name__, function.__defaults__, function.__closure__)
    made.__dict__.update(function.__dict__)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__doc__ = function.__doc__
    return made


def alias_function(fun: FunctionType, name: str, doc: str | None = None) -> Function:
    """The same function under another name."""
    made = FunctionType(fun.__code__, fun.__globals__, name, fun.__defaults__, fun.__closure__)
    functools.update_wrapper(made, fun)
    made.__kwdefaults__ = fun.__kwdefaults__
    made.__name__ = name
    made.__doc__ = doc or f"This function is an alias of ``{fun.__name__}``.\n\n{fun.__doc__ or ''}"
    return made
