"""Functions that templates call where they are compiled on the machine itself (`saltern call --local`).

`LocalFacts` is the port `Facts` of the language for `RootsCompiler`: each question is a call, made at once. The
controller asks the minion over the wire instead, within what policy allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from highstate.ports import Fact
from minion.execution.errors import UnknownFunction
from minion.execution.loader import Modules


class LocalFacts:
    """See `highstate.ports.Facts`. Its functions are found when the first is called."""

    def __init__(self, make_modules: Callable[[], Modules]) -> None:
        self._make_modules = make_modules

    @cached_property
    def _functions(self) -> Mapping[str, Callable[..., Any]]:
        return self._make_modules().as_functions(language=True)

    def answer(self, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Fact:
        """The function's value, or why it gave none."""
        try:
            return Fact(value=self._functions[fun](*args, **kwargs))
        except (KeyError, UnknownFunction) as missing:
            unknown = fun not in self._functions
            return Fact(error="there is no such function" if unknown else f"failed: {missing}", absent=unknown)
        except Exception as error:  # whatever a function raises is the template's failure, with its place
            return Fact(error=f"failed: {error}")
