"""Rendered SLS split into shape and values: two with one shape compile alike, whatever their values are.

The shape of a declaration is all that a compile looks at: IDs, states, functions, names, order, requisites. Values of
other arguments are only carried along; `with_placeholders` puts a `Placeholder` in the place of each, which notices
when someone looks at it all the same. Used by `shared_compile`, which makes one compile serve all minions of a class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import Any

from highstate.memo.sources import digest_value
from highstate.types import Value

_WHOLE = frozenset(("include", "extend", "exclude"))
"""Keys of an SLS that are no IDs."""
_REQUISITES = ("require", "watch", "onchanges", "onfail", "prereq", "prerequired", "listen", "use")
_SHAPING = frozenset(("name", "names", "order", "state", "fun", "aggregate", *_REQUISITES))
"""Arguments, or their part before the first underscore, whose values a compile looks at."""
_MOST = 20_000
_MOST_SLS = 2_000
_FORGOTTEN_PART = 16
"""So large a part of what is known goes at once when there is too much."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A digest that is equal where a compile does the same, and the values of each ID that are left out of it."""

    digest: bytes
    values: Mapping[Value, tuple[Value, ...]]


class Placeholder:
    """Stands for the value `number` of an ID in an SLS of the compile."""

    __slots__ = ("location", "looked", "number", "value")

    def __init__(self, location: tuple[int, Value], number: int, value: Value) -> None:
        self.location = location
        self.number = number
        self.value = value
        self.looked = False
        """Whether the outcome may depend on the value."""

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        self.looked = True
        return bool(self.value == (other.value if isinstance(other, Placeholder) else other))

    def __hash__(self) -> int:
        self.looked = True
        return hash(self.value)

    def __bool__(self) -> bool:
        self.looked = True
        return bool(self.value)

    def __str__(self) -> str:
        self.looked = True
        return str(self.value)

    def __iter__(self) -> Any:
        self.looked = True
        return iter(self.value)


def shape_of(data: Mapping[Value, Value]) -> Shape:
    """The shape of a rendered SLS, whose data nobody changes: most of those of a class are the same object."""
    known = _known_sls.get(id(data))
    if known is not None:
        return known[1]
    digests: list[Value] = []
    values: dict[Value, tuple[Value, ...]] = {}
    for id_, declaration in data.items():
        if id_ in _WHOLE or not isinstance(declaration, dict):
            digests.append((id_, digest_value(declaration)))
            continue
        digest, values[id_] = _declaration(declaration)
        digests.append((id_, digest))
    found = Shape(digest_value(digests), values)
    with _lock:
        _known_sls[id(data)] = (data, found)
        while len(_known_sls) > _MOST_SLS:
            _forget_first(_known_sls, _FORGOTTEN_PART)
    return found


def with_placeholders(data: Mapping[Value, Value], step: int) -> tuple[dict[Value, Value], list[Placeholder]]:
    """The same data with placeholders for the values that `shape_of` leaves out."""
    made: dict[Value, Value] = {}
    placeholders: list[Placeholder] = []
    for id_, declaration in data.items():
        if id_ in _WHOLE or not isinstance(declaration, dict):
            made[id_] = declaration
            continue
        number = 0
        body: dict[Value, Value] = {}
        for state, run in declaration.items():
            body[state] = run
            if isinstance(run, list):
                arguments = body[state] = list(run)
                for index, argument in enumerate(run):
                    if carried(argument):
                        [(key, value)] = argument.items()
                        placeholder = Placeholder((step, id_), number, value)
                        placeholders.append(placeholder)
                        arguments[index] = {key: placeholder}
                        number += 1
        made[id_] = body
    return made, placeholders


def carried(argument: Value) -> bool:
    """Whether an argument's value is nothing that a compile looks at."""
    if not isinstance(argument, dict) or len(argument) != 1:
        return False
    key = next(iter(argument))
    return isinstance(key, str) and not key.startswith("_") and key.partition("_")[0] not in _SHAPING


_known: dict[int, tuple[Value, bytes, tuple[Value, ...]]] = {}
"""By identity of the declaration, which is kept here so that no other can have it. The oldest go first.

A plain dict: a cache of cachetools takes three calls of Python for each of the hundreds of declarations of a minion.
"""
_known_sls: dict[int, tuple[Mapping[Value, Value], Shape]] = {}
"""By identity of the data of an SLS, in the same way."""
_lock = Lock()


def forget_oldest_shapes() -> None:
    """Give up the half of the known shapes that were found first."""
    with _lock:
        _forget_first(_known, 2)
        _forget_first(_known_sls, 2)


def _forget_first(known: dict[int, Any], part: int) -> None:
    """Drop the first of so many parts, at once: to find the first of a dict passes over all that were deleted there."""
    for key in list(islice(known, -(-len(known) // part))):
        del known[key]


def _declaration(declaration: dict[Value, Value]) -> tuple[bytes, tuple[Value, ...]]:
    known = _known.get(id(declaration))
    if known is not None:
        return known[1], known[2]
    values: list[Value] = []
    shape: list[Value] = []
    for state, run in declaration.items():
        if not isinstance(run, list):
            shape.append((state, run))
            continue
        arguments: list[Value] = []
        for argument in run:
            if carried(argument):
                [(key, value)] = argument.items()
                values.append(value)
                arguments.append((key,))
            else:
                arguments.append(argument)
        shape.append((state, arguments))
    found = digest_value(shape), tuple(values)
    with _lock:
        _known[id(declaration)] = (declaration, *found)
        while len(_known) > _MOST:
            _forget_first(_known, _FORGOTTEN_PART)
    return found
