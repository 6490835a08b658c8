"""What plans get: a machine without the methods that change it.

Called by the engine, so that a state that plans has nothing to write with, whatever its code does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.machine.plan import Machine, Reader, Value

WRITING = frozenset(name for name in vars(Machine) if not name.startswith("_"))
"""Methods of `Machine` that a `Reader` has not."""


_KEPT = frozenset(name for name in vars(Reader) if not name.startswith("_")) | {"accumulated"}
"""What stays the same for the life of a machine: each is looked up once, since every plan asks for some of them."""


class WritesInPlan(Exception):
    """A plan tried to change the machine: a fault of the state function."""


class ReadOnly:
    """A `Reader`: everything of a machine but what changes it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._rendered: dict[tuple[str, ...], bytes] = {}

    def begin_state(self) -> None:
        """Forget what the templates of the state before gave."""
        self._rendered.clear()

    def render(self, path: str, saltenv: str, context: Mapping[str, Value]) -> bytes:
        """As `Reader.render`, once for each state: a template may use up what it is given (`popitem` of the pillar)."""
        key = ("source", path, saltenv, repr(context))
        if key not in self._rendered:
            self._rendered[key] = self._machine.render(path, saltenv, context)
        return self._rendered[key]

    def render_text(self, text: str, engine: str, saltenv: str, context: Mapping[str, Value]) -> bytes:
        """As `Reader.render_text`, once for each state."""
        key = ("text", text, engine, saltenv, repr(context))
        if key not in self._rendered:
            self._rendered[key] = self._machine.render_text(text, engine, saltenv, context)
        return self._rendered[key]

    def __getattr__(self, name: str) -> Any:
        if name in WRITING:
            raise WritesInPlan(f"a plan may not call {name}: return a Change whose act does it")
        found = getattr(self._machine, name)
        if name in _KEPT:
            vars(self)[name] = found
        return found
