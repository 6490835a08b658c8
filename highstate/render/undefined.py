"""What an undefined name does: it raises on every use, and says what was looked for and where."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jinja2
from jinja2.filters import do_default
from jinja2.utils import missing

from highstate.functions.call import FunctionFailed
from highstate.functions.catalog import Module, TemplateFunctions, catalog_of
from highstate.memo.tracked import TrackedMapping, place_of


class MissingName(jinja2.UndefinedError):
    """Something undefined was used. `known` are the names that there are at that place, None: those in scope."""

    name: str = ""
    known: tuple[str, ...] | None = None


class MissingFunction(MissingName):
    """A function was called that `salt` has not."""

    live: bool = False
    """Whether the live machine may have it."""


class Missing(jinja2.StrictUndefined):
    """Strict, with messages in the words of Salt's users."""

    def __init__(self, hint: str | None = None, obj: Any = missing, name: str | None = None, exc: Any = None) -> None:
        super().__init__(hint, obj, name)
        # Jinja wants a class to make the error of; anything that makes one will do.
        self._undefined_exception: Any = self._error if exc is None else exc

    def _error(self, message: str) -> jinja2.TemplateRuntimeError:
        obj, name = self._undefined_obj, str(self._undefined_name)
        if isinstance(obj, TemplateFunctions | Module):
            catalog, full = catalog_of(obj, name)
            function = MissingFunction(catalog.why_missing(full))
            function.name, function.known, function.live = full, tuple(catalog.names()), catalog.is_live(full)
            return function
        error = MissingName(message)
        error.name = name
        if isinstance(obj, TrackedMapping):
            error = MissingName(f"{place_of(obj)} has no key {name!r}")
            error.name, error.known = name, tuple(map(str, obj))
        elif isinstance(obj, dict):
            error = MissingName(f"there is no key {name!r} here")
            error.name, error.known = name, tuple(map(str, obj))
        elif obj is not missing:
            error.known = ()
        return error


def is_defined(value: Any) -> bool:
    """Jinja's test; FunctionFailed where only the live machine could tell: a guess would choose a branch."""
    if isinstance(value, Missing) and isinstance(value._undefined_obj, TemplateFunctions | Module):
        catalog, full = catalog_of(value._undefined_obj, str(value._undefined_name))
        if catalog.is_live(full):
            raise FunctionFailed(catalog.why_missing(full), live=full)
    return not isinstance(value, jinja2.Undefined)


def default(value: Any, default_value: Any = "", boolean: bool = False) -> Any:
    """Jinja's filter, with the same care."""
    is_defined(value)
    return do_default(value, default_value, boolean)


CAREFUL_TESTS: Mapping[str, Callable[..., bool]] = {
    "defined": is_defined,
    "undefined": lambda value: not is_defined(value),
}
CAREFUL_FILTERS: Mapping[str, Callable[..., Any]] = {"default": default, "d": default}
