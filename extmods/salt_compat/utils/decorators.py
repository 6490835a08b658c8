"""`salt.utils.decorators` and `salt.utils.decorators.jinja`: what stands above functions of user modules."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from extmods.salt_compat.exceptions import CommandExecutionError, SaltInvocationError

Function = Callable[..., Any]

DEPENDS = "__depends__"
"""The attribute of a function that says on what it depends."""


def memoize(function: Function) -> Function:
    """Keeps what the function gave for the same arguments."""
    kept: dict[str, Any] = {}

    @functools.wraps(function)
    def remembered(*args: Any, **kwargs: Any) -> Any:
        key = f"{[str(one) for one in args]}{sorted((name, str(value)) for name, value in kwargs.items())}"
        if key not in kept:
            kept[key] = function(*args, **kwargs)
        return kept[key]

    return remembered


def depends(*needed: Any, **options: Any) -> Callable[[Function], Function]:
    """The function is none of its module's when what it depends on is not there: a condition, or a name of the module.

    A function of another module is looked for when this one is called, which fails without it.
    """
    fallback = options.get("fallback_function")

    def wrap(function: Function) -> Function:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            missing = [one for one in needed if not _is_there(one, function)]
            if not missing:
                return function(*args, **kwargs)
            if fallback is not None:
                return fallback(*args, **kwargs)
            raise CommandExecutionError(f"{function.__name__} needs {', '.join(map(str, missing))}")

        checked.__dict__[DEPENDS] = () if fallback is not None else needed
        return checked

    return wrap


def lacks_dependency(function: Function) -> bool:
    """Whether a function depends on what its module does not have."""
    needed = getattr(function, DEPENDS, ())
    here = (one for one in needed if not (isinstance(one, str) and "." in one))
    return not all(_is_there(one, inspect.unwrap(function)) for one in here)


def _is_there(needed: Any, function: Function) -> bool:
    names = getattr(function, "__globals__", {})
    if not isinstance(needed, str):
        return bool(needed)
    return bool(names.get(needed)) or needed in names.get("__salt__", {})


def require_one_of(*names: str) -> Callable[[Function], Function]:
    """Exactly one of some arguments must be given."""
    return _counted(names, exactly=True)


def allow_one_of(*names: str) -> Callable[[Function], Function]:
    """At most one of some arguments may be given."""
    return _counted(names, exactly=False)


def _counted(names: tuple[str, ...], *, exactly: bool) -> Callable[[Function], Function]:
    def wrap(function: Function) -> Function:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            given = [name for name in names if kwargs.get(name) is not None]
            if len(given) > 1 or (exactly and not given):
                raise SaltInvocationError(f"{'One' if exactly else 'At most one'} of these: {', '.join(names)}")
            return function(*args, **kwargs)

        return checked

    return wrap


def ignores_kwargs(*names: str) -> Callable[[Function], Function]:
    """Some arguments do not reach the function."""

    def wrap(function: Function) -> Function:
        @functools.wraps(function)
        def without(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **{name: value for name, value in kwargs.items() if name not in names})

        return without

    return wrap


def timing(function: Function) -> Function:
    """The function as it is: how long it takes is in its result here."""
    return function


ensure_unicode_args = timing


def is_deprecated(
    globals: Any = None,  # noqa: A002  (Salt's name)
    version: Any = None,
    with_successor: Any = None,
) -> Callable[[Function], Function]:
    """The function as it is: which one a module takes is its author's."""
    return lambda function: function


with_deprecated = is_deprecated


def jinja_filter(name: str | None = None) -> Callable[[Function], Function]:
    """The function as it is: templates have the filters of the language."""
    return lambda function: function


jinja_test = jinja_global = jinja_filter
