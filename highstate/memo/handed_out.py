"""Mappings and lists of pillar and grains that functions gave to templates of one compile, as these changed them.

Salt gives out its own data: what `{% do salt['pillar.get']('app').update(...) %}` does is seen by `pillar.get` in the
rest of that SLS and in all that are rendered after it. `ReadSources` has one, `highstate.functions` use it, and the
pipeline asks after each render: one that changed something, and those after it, are never memoised.
"""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from highstate.memo.blanks import without_blanks
from highstate.traverse import MISSING, traverse
from highstate.types import Value

Place: TypeAlias = tuple[Value, ...]
"""`pillar` or `grains`, and the keys below it."""


@dataclass(slots=True)
class HandedOut:
    """Those of one compile."""

    changed: bool = False
    """Whether a template has changed one of them."""
    left: dict[str, Mapping[Any, Any]] = field(default_factory=dict)
    """Grains, pillar and opts as a template has left the variables of these names, for the SLS after it."""
    _values: dict[Place, Value] = field(default_factory=dict)
    _given: dict[Place, bytes] = field(default_factory=dict)
    """What each was when it was given out."""

    def known(self, place: Place) -> Value:
        """The value at a place that lies in one of them; MISSING where none has it, or where it was taken away."""
        above = self._above(place)
        return MISSING if above is None else traverse(self._values[above], place[len(above) :], MISSING)

    def has(self, place: Place) -> bool:
        """Whether a place lies in one of them."""
        return bool(self._values) and self._above(place) is not None

    def give(self, place: Place, value: Value) -> Value:
        """Hand out a mapping or list, which nobody else has; what was given out of it before stays a part of it."""
        for below, inner in self._values.items():
            if below[: len(place)] == place:
                holder = traverse(value, below[len(place) : -1], MISSING)
                if isinstance(holder, dict):
                    holder[below[-1]] = inner
        self._values[place], self._given[place] = value, packed(value)
        return value

    def settle(self) -> bool:
        """Whether one was changed by now, in this compile; as long as none was, none is kept."""
        self.changed = self.changed or any(packed(value) != self._given[at] for at, value in self._values.items())
        if not self.changed:
            self.forget()
        return self.changed

    def leave(self, changed: Mapping[str, Mapping[Any, Any]]) -> None:
        """Keep what a template has changed of its variables."""
        self.left.update(changed)
        self.changed = self.changed or bool(changed)

    def forget(self) -> None:
        """Begin anew: the data is as it was."""
        self.changed = False
        self.left.clear()
        self._values.clear()
        self._given.clear()

    def _above(self, place: Place) -> Place | None:
        lengths = range(len(place), 1, -1)
        return next((place[:length] for length in lengths if place[:length] in self._values), None)


def packed(value: Any) -> bytes:
    """Plain data as bytes, to compare; empty for anything else."""
    try:
        return marshal.dumps(value, 2)
    except ValueError:  # something that is no plain data: it came in by a change, or it is a blank
        pass
    try:
        return marshal.dumps(without_blanks(value), 2)
    except ValueError:
        return b""
