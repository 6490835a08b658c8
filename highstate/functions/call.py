"""What a function of templates gets besides its arguments, and how it fails. Called by all modules of this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from highstate.functions.live import OF_THE_FLEET
from highstate.memo.sources import fresh
from highstate.memo.tracked import Recorder, plain
from highstate.ports import Fact
from highstate.traverse import MISSING, traverse
from highstate.types import Value


class FunctionFailed(Exception):
    """A function was called in a way that it cannot serve. `live` names one that only the live machine has."""

    def __init__(self, message: str, *, live: str = "") -> None:
        super().__init__(message)
        self.live = live


class NoFunction(FunctionFailed, KeyError):
    """`salt[...]` names a function that is not here; Jinja takes it for an undefined one."""

    __str__ = Exception.__str__  # not KeyError's, which quotes


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCall:
    """What a function may see: recorded grains, pillar, opts and files of the render that calls it."""

    recorder: Recorder
    saltenv: str
    render: Callable[[str, str, Mapping[str, Value]], Value]
    """Renders text through a pipeline (text, pipeline, variables)."""

    def opt(self, name: str, default: Value = None) -> Value:
        """A minion option."""
        return self.recorder.tracked("opts").get(name, default)

    def look_up(self, root: str, key: Value, default: Value = None, delimiter: str = ":") -> Value:
        """The value of pillar or grains at `a:b`, or at a list of keys; a mapping or list is the same one each time."""
        handed_out = self.recorder.sources.handed_out
        found = traverse(self.recorder.untouched(root), key, MISSING, delimiter=delimiter)
        keys = key.split(delimiter) if isinstance(key, str) else key if isinstance(key, list) else [key]
        place = (root, *keys)
        if handed_out.has(place):
            found = handed_out.known(place)
        elif isinstance(found, Mapping | list):
            return handed_out.give(place, plain(found))
        return default if found is MISSING else found

    def ask(self, fun: str, /, *arguments: Value, **named: Value) -> Value:
        """What the machine answers, where a function cannot tell by itself; FunctionFailed when it is not known."""
        given = {key: plain(value) for key, value in named.items()}
        fact = self.recorder.fact(fun, [plain(one) for one in arguments], given)
        if fact is None or fact.error:
            raise FunctionFailed(why_live(fun, fact), live=fun)
        return fresh(fact.value)


Function = Callable[..., Value]


def why_live(name: str, fact: Fact | None = None) -> str:
    """What to tell about a function of the live machine that gave no value."""
    if fact is not None and name in OF_THE_FLEET:
        return f"salt['{name}']: {fact.error}"
    why = fact.error if fact is not None else "is not available on the controller"
    return f"salt['{name}'] asks the live machine and {why}"
