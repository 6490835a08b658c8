"""The high data while it is compiled: bodies by ID, pending extends and excludes, and where each came from.

`assemble` makes one, `extend`, `verify` and `requisites` work on it, `chunks` reads it. It is the one mutable
thing of a compile and never leaves this package. Argument lists belong to it; the values inside them are shared
with what was rendered, so they are replaced, never changed in place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from highstate.compile.positions import SourceLocation
from highstate.types import Problem, Value

Body = dict[str, Value]
"""Salt's: state -> list of functions (strings) and arguments (dicts), and `__sls__`, `__env__`, ..."""

REQUISITES = (
    "onfail",
    "onfail_any",
    "onfail_all",
    "require",
    "require_any",
    "onchanges",
    "onchanges_any",
    "watch",
    "watch_any",
    "prereq",
    "prerequired",
    "listen",
)
"""Salt's requisites in the order of their weight: when a chunk is needed sooner, the heaviest kind says by whom."""

REQUISITE_ARGUMENTS = frozenset((*REQUISITES, "onfail_stop"))
"""Arguments that hold requisites: checked for their form, and joined (not replaced) by `extend`."""


@dataclass(slots=True, kw_only=True)
class Extend:
    """One entry of an `extend:` (or one that a `_in` requisite amounts to)."""

    id: str
    body: Body
    location: SourceLocation


@dataclass(slots=True, kw_only=True)
class High:
    """The high data of one minion, in the making."""

    bodies: dict[str, Body] = field(default_factory=dict)
    extends: list[Extend] = field(default_factory=list)
    excludes: list[Value] = field(default_factory=list)
    locations: dict[str, SourceLocation] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    incomplete: bool = False
    """An SLS could not be rendered, so IDs that seem not to exist may well be in it."""

    def location(self, id_: str) -> SourceLocation:
        """Where an ID was declared."""
        return self.locations[id_]

    def declarations(self) -> Iterator[tuple[str, str, list[Value]]]:
        """(ID, state, arguments) of everything that is well enough formed to be looked at."""
        for id_, body in self.bodies.items():
            if id_.startswith("__"):
                continue
            for state in states_of(body):
                if isinstance(body[state], list):
                    yield id_, state, body[state]

    def as_salt(self) -> dict[str, Value]:
        """Salt's high data; a copy as deep as anything here is ever changed."""
        salt: dict[str, Value] = {id_: copy_body(body) for id_, body in self.bodies.items()}
        if self.extends:
            salt["__extend__"] = [{extend.id: copy_body(extend.body)} for extend in self.extends]
        if self.excludes:
            salt["__exclude__"] = list(self.excludes)
        return salt


def states_of(body: Body) -> list[str]:
    """The state declarations of a body, without Salt's own keys."""
    return [key for key in body if not key.startswith("__")]


def copy_body(body: Body) -> Body:
    """A body whose lists may be changed without the original noticing."""
    return {key: list(value) if isinstance(value, list) else value for key, value in body.items()}


def first_key(argument: Value) -> Value:
    """The name of an argument: the first key of its dict, None when it has none."""
    return next(iter(argument), None) if isinstance(argument, dict) else None
