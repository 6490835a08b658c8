"""Which reactors answer: those of the configuration and the tree, as the runner `reactor` has changed them since.

Held by the controller as long as it runs; a restart forgets the changes, as it does in Salt.
Source: salt/utils/reactor.py `list_all`, `add_reactor`, `delete_reactor`, `is_leader`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from reactors.rules.reactor_map import MOST_ENTRIES, ReactorEntry, ReactorMap

_ADDED = "runner reactor.add"


@dataclass(slots=True)
class ReactorChanges:
    """The reactors of the controller's file, and what was changed."""

    own: ReactorMap
    """Of the controller's file."""
    leads: bool = True
    """Whether events are answered at all."""
    _of_tree: ReactorMap = field(default_factory=ReactorMap)
    _added: tuple[ReactorEntry, ...] = ()
    _deleted: frozenset[str] = frozenset()
    _all: ReactorMap | None = None

    def of(self, of_tree: ReactorMap) -> ReactorMap:
        """All that answer: of the file, of the live tree, and added ones; without those that were deleted."""
        if self._all is None or of_tree is not self._of_tree:
            self._of_tree = of_tree
            written = (*self.own.entries, *of_tree.entries)
            kept = (entry for entry in written if entry.tag not in self._deleted)
            self._all = ReactorMap((*kept, *self._added))
        return self._all

    def add(self, of_tree: ReactorMap, tag: str, sls: Sequence[str]) -> dict[str, Any]:
        """Have events of a tag answered; Salt's answer."""
        if any(entry.tag == tag for entry in self.of(of_tree).entries):
            return {"status": False, "comment": "Reactor already exists."}
        if len(self._added) >= MOST_ENTRIES:
            return {"status": False, "comment": f"{MOST_ENTRIES} reactors were added, and that is the most."}
        self._added = (*self._added, ReactorEntry(tag=tag, sls=tuple(sls), place=_ADDED))
        self._all = None
        return {"status": True, "comment": "Reactor added."}

    def delete(self, of_tree: ReactorMap, tag: str) -> dict[str, Any]:
        """Have events of a tag not answered any more; Salt's answer."""
        if not any(entry.tag == tag for entry in self.of(of_tree).entries):
            return {"status": False, "comment": "Reactor does not exists."}
        if any(entry.tag == tag for entry in (*self.own.entries, *of_tree.entries)):
            self._deleted |= {tag}
        self._added = tuple(entry for entry in self._added if entry.tag != tag)
        self._all = None
        return {"status": True, "comment": "Reactor deleted."}
