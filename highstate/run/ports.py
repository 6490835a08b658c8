"""What `run` asks of its caller: an executor that plans and acts, and a journal that survives a crash.

The minion's `StateEngine` is the executor on a machine; the worker's journal on disk is the other journal besides
the one in memory below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from highstate.types import Chunk, StateResult, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a chunk would do, as its executor found out without changing anything."""

    chunk: Chunk
    predicted: StateResult
    """What test=True reports: result None with the changes to come; True or False when there is nothing to do."""
    work: object = None
    """The executor's own; None when there is nothing to do, so that `predicted` is the result."""
    skip_watch: bool = False
    """A condition (`unless`, `onlyif`, `creates`) keeps the chunk from running, its mod_watch included."""


class Executor(Protocol):
    """Knows the state functions. Neither method raises: a failure is a `StateResult`."""

    def plan(self, chunk: Chunk, arguments: Mapping[str, Value], *, watched: bool) -> Prepared | None:
        """What the chunk would do now; `watched` asks for its mod_watch, and None says that it has none."""

    def act(self, prepared: Prepared) -> StateResult:
        """Do what was prepared, at most once."""


class Journal(Protocol):
    """Remembers a run over a crash. What it is told must be on disk before the call returns."""

    def intents(self) -> Mapping[str, Mapping[str, Value]]:
        """Key → intended changes of an earlier attempt at this run; those with a result do not matter."""

    def results(self) -> Mapping[str, StateResult]:
        """Key → result of an earlier attempt at this run."""

    def intent(self, key: str, changes: Mapping[str, Value]) -> None:
        """The acts of this chunk begin."""

    def done(self, key: str, result: StateResult) -> None:
        """This came of the chunk."""


@dataclass(slots=True, kw_only=True)
class MemoryJournal:
    """A journal that lives as long as its process: for tests, and for runs that nobody takes up again."""

    intended: dict[str, Mapping[str, Value]] = field(default_factory=dict)
    finished: dict[str, StateResult] = field(default_factory=dict)

    def intents(self) -> Mapping[str, Mapping[str, Value]]:
        """What was begun."""
        return dict(self.intended)

    def results(self) -> Mapping[str, StateResult]:
        """What was finished."""
        return dict(self.finished)

    def intent(self, key: str, changes: Mapping[str, Value]) -> None:
        """Remember that the acts begin."""
        self.intended[key] = changes

    def done(self, key: str, result: StateResult) -> None:
        """Remember the result."""
        self.finished[key] = result
