"""Execution functions as states meet them: a plan sees which there are, an act may call them.

Given by the engine to state functions with a parameter `functions` (module.run, event.send, saltutil, schedule).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Signature
from typing import Annotated, Protocol

from minion.arguments.types import SUPPLIED
from minion.machine.failure import StateFailed
from minion.machine.plan import Value


class ConditionFunctions(Protocol):
    """The execution functions that a condition may name."""

    def call(self, fun: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        """Its return value; raises what it raises."""

    def call_with_retcode(self, fun: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> tuple[Value, int]:
        """The same, and the exit code that the function left (0: none, or success)."""


class ForeseenCalls(Protocol):
    """Calls under test=True, done in memory."""

    def call(self, fun: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        """What the function would return; NotPredicted where nobody knows."""

    def looked(self, fun: str, args: Sequence[Value], kwargs: Mapping[str, Value], found: Value) -> Value:
        """What a function that looks would find, of which the machine says `found`."""


class KnownFunctions:
    """The functions there are; under test=True they are called in memory alone, as far as `foreseen` knows them."""

    def __init__(self, functions: ConditionFunctions | None, *, foreseen: ForeseenCalls | None = None) -> None:
        self._functions = functions
        self._foreseen = foreseen

    def signature(self, fun: str) -> Signature | None:
        """What the function takes; None when there is no such function."""
        ask = getattr(self._functions, "signature", None)
        found: Signature | None = ask(fun) if ask is not None else None
        return found

    def look(self, fun: str, args: Sequence[Value] = (), kwargs: Mapping[str, Value] | None = None) -> Value:
        """The value of a function that changes nothing, under test=True and in a preview too."""
        ask = getattr(self._functions, "look", None) or (self._functions and self._functions.call)
        if not ask:
            raise StateFailed(f"{fun} cannot be called here")
        found = ask(fun, args, kwargs or {})
        return found if self._foreseen is None else self._foreseen.looked(fun, args, kwargs or {}, found)

    def call(self, fun: str, args: Sequence[Value] = (), kwargs: Mapping[str, Value] | None = None) -> Value:
        """Its value; StateFailed with what went wrong."""
        if self._foreseen is not None:
            return self._foreseen.call(fun, args, kwargs or {})
        if self._functions is None:
            raise StateFailed(f"{fun} cannot be called here")
        try:
            return self._functions.call(fun, args, kwargs or {})
        except StateFailed:
            raise
        except Exception as error:
            raise StateFailed(str(error) or type(error).__name__) from error


Functions = Annotated[KnownFunctions, SUPPLIED]
"""The type of a state's parameter `functions`: the engine supplies it."""
