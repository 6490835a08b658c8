"""`salt[...]` of templates: the table of built-in functions, the caller's, and those that the live machine answers.

Called by `render`, which hands `TemplateFunctions` to templates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from highstate.functions import codecs, data, files, identity, network, random, settings, vault
from highstate.functions.call import Function, FunctionCall, FunctionFailed, NoFunction, why_live
from highstate.functions.live import LIVE_FUNCTIONS, LIVE_MODULES
from highstate.memo.tracked import plain
from highstate.types import Value

BUILT_IN: Mapping[str, Function] = {
    **random.FUNCTIONS,
    **codecs.FUNCTIONS,
    **data.FUNCTIONS,
    **files.FUNCTIONS,
    **identity.FUNCTIONS,
    **network.FUNCTIONS,
    **settings.FUNCTIONS,
    **vault.FUNCTIONS,
}
"""All functions that need no machine, by full name."""


CARRIES = "carries_blanks"
"""Attribute of functions that hand on what they read, blanks included."""
_CARRYING = frozenset(("pillar.get", "grains.get", "config.get"))


class Catalog:
    """The functions of one render: the built-in ones and the caller's."""

    def __init__(self, call: FunctionCall, extra: Mapping[str, Function], carrying: FunctionCall | None) -> None:
        self._call = call
        self._extra = extra
        self._carrying = carrying

    def find(self, name: str) -> Function | None:
        """The function with this full name, ready to be called by a template."""
        live = self._extra.get(name)
        if live is not None:
            return self._recorded(name, live)
        function = BUILT_IN.get(name)
        if function is not None and self._carrying is not None and name in _CARRYING:
            bound = _bound(function, self._carrying)
            bound.__dict__[CARRIES] = True
            return bound
        if function is not None:
            return _bound(function, self._call)
        return self._asked(name) if self._asks() and self.is_live(name) else None

    def has(self, name: str) -> bool:
        """Whether there is such a function; FunctionFailed where only the live machine could tell."""
        if name in self._extra or name in BUILT_IN:
            return True
        if self.is_live(name):
            listed = self._call.recorder.fact("sys.list_functions", (name,), {}) if self._asks() else None
            if listed is not None and not listed.error:
                return bool(listed.value)
            # A guess would quietly choose a branch of the template.
            raise FunctionFailed(why_live(name, listed), live=name)
        return False

    def has_module(self, module: str) -> bool:
        """Whether any function is in this module, or may be on the live machine."""
        return any(name.startswith(module + ".") for name in self.names()) or self.is_live(module)

    def names(self) -> list[str]:
        """Full names of all functions that there are, sorted."""
        return sorted({*BUILT_IN, *self._extra})

    def is_live(self, name: str) -> bool:
        """Whether a function that is not here is one of the live machine: of Salt's, or of the tree's `_modules`."""
        module = name.partition(".")[0]
        if name in BUILT_IN or name in self._extra:
            return False
        if module in LIVE_MODULES or name in LIVE_FUNCTIONS:
            return True
        return self._call.recorder.oid(f"_modules/{module}.py", self._call.saltenv) is not None

    def why_missing(self, name: str) -> str:
        """What to tell about a function that is not here."""
        if self.is_live(name):
            return why_live(name)
        return f"there is no function salt['{name}']"

    def _asks(self) -> bool:
        return self._call.recorder.sources.ports.facts is not None

    def _asked(self, name: str) -> Function:
        """A function whose answers come from the facts."""

        def ask(*arguments: Any, **named: Any) -> Value:
            return self._call.ask(name, *arguments, **named)

        return ask

    def _recorded(self, name: str, function: Function) -> Function:
        def call(*arguments: Any, **named: Any) -> Value:
            self._call.recorder.live[name] = None
            return function(*map(plain, arguments), **{key: plain(value) for key, value in named.items()})

        return call


class TemplateFunctions:
    """`salt` as templates use it: `salt['a.b'](...)`, `salt.a.b(...)`, `'a.b' in salt`."""

    __slots__ = ("_catalog",)

    def __init__(self, call: FunctionCall, extra: Mapping[str, Function], carrying: FunctionCall | None = None) -> None:
        """`carrying`: given to functions that hand on what they read, in a render with blanks."""
        self._catalog = Catalog(call, extra, carrying)

    def __getitem__(self, name: str) -> Function:
        function = self._catalog.find(name)
        if function is None:
            live = name if self._catalog.is_live(name) else ""
            raise NoFunction(self._catalog.why_missing(name), live=live)
        return function

    def __getattr__(self, name: str) -> Module:
        if name.startswith("_") or "." in name or not self._catalog.has_module(name):
            raise AttributeError(name)
        return Module(self._catalog, name)

    def __contains__(self, name: str) -> bool:
        return self._catalog.has(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._catalog.names())

    def get(self, name: str, default: Any = None) -> Any:
        """The function, or a default."""
        return self[name] if self._catalog.has(name) else default


class Module:
    """`salt.a`. It has no public names of its own, which would hide functions (`salt.pillar.get`)."""

    __slots__ = ("_catalog", "_module")

    def __init__(self, catalog: Catalog, module: str) -> None:
        self._catalog = catalog
        self._module = module

    def __getattr__(self, name: str) -> Function:
        function = None if name.startswith("_") else self._catalog.find(f"{self._module}.{name}")
        if function is None:
            raise AttributeError(name)
        return function


def catalog_of(functions: TemplateFunctions | Module, name: str) -> tuple[Catalog, str]:
    """What stands behind `salt` or `salt.module`, and the full name of `name` in it."""
    full = f"{functions._module}.{name}" if isinstance(functions, Module) else name
    return functions._catalog, full


def _bound(function: Function, call: FunctionCall) -> Function:
    def bound(*arguments: Any, **named: Any) -> Value:
        return function(call, *arguments, **named)

    return bound
