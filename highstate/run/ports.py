"""What `run` asks of its caller: an executor that plans and acts, and a journal that survives a crash.

The minion's `StateEngine` is the executor on a machine; the worker's journal on disk is the other journal besides
the one in memory below.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import Protocol

from highstate.records import dataclass
from highstate.types import Chunk, StateResult, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a chunk would do, as its executor found out without changing anything."""

    chunk: Chunk
    predicted: StateResult
    """What test=True reports: result None with the changes to come; True or False when there is nothing to do."""
    work: object = None
    """The executor's own; None when there is nothing to do, so that `predicted` is the result."""
    predict: Callable[[], StateResult] | None = None
    """For what only shows when it is done (user states): asks what it would do. Then `predicted` says nothing, and its
    mod_watch is called after an act that changed nothing."""


class Executor(Protocol):
    """Knows the state functions. Neither method raises: a failure is a `StateResult`."""

    def plan(self, chunk: Chunk, arguments: Mapping[str, Value], *, watched: bool) -> Prepared | None:
        """What the chunk would do now; `watched` asks for its mod_watch, and None says that it has none."""

    def act(self, prepared: Prepared) -> StateResult:
        """Do what was prepared, at most once."""


class Journal(Protocol):
    """Remembers a run over a crash. What a call records must be on disk before it returns."""

    def intents(self) -> Mapping[str, Mapping[str, Value]]:
        """Key → intended changes of an earlier attempt at this run; those with a result do not matter."""

    def results(self) -> Mapping[str, StateResult]:
        """Key → result of an earlier attempt at this run."""

    def intent(self, key: str, changes: Mapping[str, Value]) -> None:
        """The acts of this chunk begin."""

    def done(self, key: str, result: StateResult) -> None:
        """This came of the chunk."""


class Triggers(Protocol):
    """Remembers, from one run to the next, which chunks could not act on a change that they were to act on."""

    def pending_triggers(self) -> Collection[str]:
        """Chunk keys; a listener's has `mod_watch` for its function."""

    def settle(self, more: frozenset[str], less: frozenset[str]) -> None:
        """From now on those are pending too, and these no longer. Another run may go on beside this one."""


Task = Callable[[], tuple[StateResult, float]]
"""Runs a chunk of `parallel: True`; the result and when it was there, in seconds since the epoch."""


class StartedTask(Protocol):
    """A task that goes on in the background."""

    def ready(self) -> bool:
        """Whether it has ended."""

    def wait(self) -> tuple[StateResult, float]:
        """What came of it, when it has ended; what it raised is raised."""


@dataclass(frozen=True, slots=True)
class AtOnce:
    """The background of those who have none: in order, and ended when this is made."""

    ended: tuple[StateResult, float]

    def ready(self) -> bool:
        """Always."""
        return True

    def wait(self) -> tuple[StateResult, float]:
        """At once."""
        return self.ended


def at_once(task: Task) -> StartedTask:
    """Do it now."""
    return AtOnce(task())


def _ignore_result(key: str, chunk: Chunk, result: StateResult, total: int) -> str:
    """The listener that does nothing."""
    return ""


def _ignore_start(key: str, done: int, total: int) -> None:
    """The listener that does nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHooks:
    """What a caller may bring to a run besides executor and journal."""

    background: Callable[[Task], StartedTask] = at_once
    """Begins a task."""
    most_parallel: int = 0
    """How many tasks go on at once (`state_max_parallel`); 0: all that may."""
    stopping: Callable[[], bool] = lambda: False
    """Asked before each chunk: whether to stop there. A stopped run can be taken up again by its journal."""
    left_off: Callable[[], bool] = lambda: False
    """Asked of a chunk that failed: whether it did because the run is left off. Then it is done again later."""
    sleep: Callable[[float], None] = lambda seconds: None
    """Waits between the attempts of `retry`, in seconds; may wake up early when the run is to stop."""
    draw: Callable[[int], int] = lambda most: 0
    """A random number of seconds from 0 to `most`, for the `splay` of `retry`."""
    local_time: Callable[[float], datetime] = lambda seconds: datetime.fromtimestamp(seconds, UTC)
    """Seconds since the epoch as the time of day that results show (`start_time`)."""
    triggers: Triggers | None = None
    remembers_at_once: bool = False
    """Whether what a change triggers is remembered when it is made and not at the end: no journal resumes the run."""
    on_result: Callable[[str, Chunk, StateResult, int], str] = _ignore_result
    """Called with each result as soon as it is there, and with the number of chunks of the run; with those of an
    earlier attempt again. A warning for the result, or nothing."""
    on_start: Callable[[str, int, int], None] = _ignore_start
    """Called when a chunk starts, after its requisites: its key, the number of chunks done, and of all."""
    aggregate: bool = False
    """Whether chunks that do not say otherwise aggregate."""


@dataclass(slots=True, kw_only=True)
class MemoryTriggers:
    """Triggers that live as long as their process."""

    keys: frozenset[str] = frozenset()

    def pending_triggers(self) -> Collection[str]:
        """What is remembered."""
        return self.keys

    def settle(self, more: frozenset[str], less: frozenset[str]) -> None:
        """Remember more of them, and less."""
        self.keys = (self.keys - less) | more


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
