"""`salt[...]` of templates: Salt's execution functions that need nothing but the minion's data and the tree.

A module here is a table of functions `f(call: Call, *arguments)`; `Call` is what they may see. Functions of the
live machine are not here: a caller with such a machine passes them as `Context.functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from highstate.functions.live import LIVE_MODULES
from highstate.tracked import Recorder
from highstate.types import Value

__all__ = ["Call", "FunctionFailed", "Functions"]


class FunctionFailed(Exception):
    """A function was called in a way that it cannot serve. `live` names one that only the live machine has."""

    def __init__(self, message: str, *, live: str = "") -> None:
        super().__init__(message)
        self.live = live


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a function may see: recorded grains, pillar, opts and files of the render that calls it."""

    recorder: Recorder
    saltenv: str
    render: Callable[[str, str, Mapping[str, Value]], Value]
    """Renders text through a pipeline (text, pipeline, variables)."""

    def opt(self, name: str, default: Value = None) -> Value:
        """A minion option."""
        return self.recorder.view("opts").get(name, default)


Function = Callable[..., Value]


@lru_cache(maxsize=1)
def registry() -> Mapping[str, Function]:
    """All built-in functions by full name. Loaded on first use, since the modules import this one."""
    from highstate.functions.codecs import FUNCTIONS as CODECS
    from highstate.functions.data import FUNCTIONS as DATA
    from highstate.functions.files import FUNCTIONS as FILES
    from highstate.functions.identity import FUNCTIONS as IDENTITY
    from highstate.functions.settings import FUNCTIONS as SETTINGS

    tables = (CODECS, DATA, FILES, IDENTITY, SETTINGS)
    return {name: function for table in tables for name, function in table.items()}


class Functions:
    """`salt` as templates use it: `salt['a.b'](...)`, `salt.a.b(...)`, `'a.b' in salt`."""

    __slots__ = ("_call", "_extra", "_module")

    def __init__(self, call: Call, extra: Mapping[str, Function], module: str = "") -> None:
        self._call = call
        self._extra = extra
        self._module = module

    def __getitem__(self, name: str) -> Any:
        full = self.full_name(name)
        live = self._extra.get(full)
        if live is not None:
            return self._recorded(full, live)
        function = registry().get(full)
        if function is None:
            raise KeyError(full)
        return _bound(function, self._call)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._module:
            try:
                return self[name]
            except KeyError:
                raise AttributeError(name) from None
        if any(known.startswith(name + ".") for known in self._all()) or self._is_live(name):
            return Functions(self._call, self._extra, name)
        raise AttributeError(name)

    def __contains__(self, name: str) -> bool:
        full = self.full_name(name)
        if full in self._extra or full in registry():
            return True
        if self._is_live(full.partition(".")[0]):
            # Whether the machine has it is not known here, and a guess would quietly choose a branch.
            raise FunctionFailed(self.why_missing(name), live=full)
        return False

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def get(self, name: str, default: Any = None) -> Any:
        """The function, or a default."""
        return self[name] if name in self else default  # noqa: SIM401  (this is that get)

    def names(self) -> list[str]:
        """Full names of the functions that there are, sorted."""
        return sorted(name for name in self._all() if name.startswith(self._module))

    def full_name(self, name: str) -> str:
        """`get` of `salt.pillar` is `pillar.get`."""
        return f"{self._module}.{name}" if self._module else name

    def why_missing(self, name: str) -> str:
        """What to tell about a function that is not here."""
        full = self.full_name(name)
        if self._is_live(full.partition(".")[0]):
            return f"salt['{full}'] asks the live machine and is not available on the controller"
        return f"there is no function salt['{full}']"

    def is_live(self, full: str) -> bool:
        """Whether `full` belongs to a module of the live machine."""
        return full not in registry() and self._is_live(full.partition(".")[0])

    def _all(self) -> set[str]:
        return {*registry(), *self._extra}

    def _is_live(self, module: str) -> bool:
        if module in LIVE_MODULES:
            return True
        call = self._call
        return call.recorder.oid(f"_modules/{module}.py", call.saltenv) is not None

    def _recorded(self, name: str, function: Function) -> Function:
        def call(*arguments: Any, **named: Any) -> Value:
            self._call.recorder.live[name] = None
            return function(*arguments, **named)

        return call


def _bound(function: Function, call: Call) -> Function:
    def bound(*arguments: Any, **named: Any) -> Value:
        return function(call, *arguments, **named)

    return bound
