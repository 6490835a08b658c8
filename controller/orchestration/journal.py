"""The journal of an orchestration in the store, and what a person wants of it: pauses, and its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from controller.store import Store
from highstate.types import StateResult, Value

EVERY = "__all__"
"""Stands for all steps, as in Salt."""
KILL = "kill"


@dataclass(slots=True, kw_only=True)
class StepJournal:
    """`highstate.run.ports.Journal`. What a step asked for is kept by the step itself."""

    store: Store
    jid: str
    on_loop: Callable[[Callable[[], Any]], Any]
    """Calls a function on the controller's loop, and waits."""
    clock: Callable[[], float]
    known: dict[str, StateResult] = field(default_factory=dict)
    """Key -> result, of steps that ended before the controller did."""

    def intents(self) -> Mapping[str, Mapping[str, Value]]:
        """None: a step that was begun goes on where it was."""
        return {}

    def results(self) -> Mapping[str, StateResult]:
        """See `Journal`."""
        return dict(self.known)

    def intent(self, key: str, changes: Mapping[str, Value]) -> None:
        """A step begins."""
        self.on_loop(lambda: self.store.orchestrations.begin_step(self.jid, key, self.clock()))

    def done(self, key: str, result: StateResult) -> None:
        """Keep a result."""
        self.on_loop(lambda: self._keep(key, asdict(result)))

    def _keep(self, key: str, result: Mapping[str, Any]) -> None:
        with self.store.transaction():
            self.store.orchestrations.begin_step(self.jid, key, self.clock())
            self.store.orchestrations.end_step(self.jid, key, result)


def result_of(kept: Mapping[str, Any]) -> StateResult:
    """What `StepJournal.done` kept."""
    return StateResult(**{**kept, "warnings": tuple(kept.get("warnings") or ())})


@dataclass(slots=True, kw_only=True)
class Controls:
    """Pauses of steps, set on the loop and looked at by the thread of the run."""

    clock: Callable[[], float]
    wanted: dict[str, Any] = field(default_factory=dict)
    """See `OrchestrationRecord.controls`."""
    changed: threading.Event = field(default_factory=threading.Event)
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set when the controller stops."""
    killed: bool = False

    def gate(self, step: str) -> str:
        """Wait while a step is paused; why it is not to be done, or nothing."""
        while not self.stopping.is_set():
            self.changed.clear()
            wanted = [self.wanted[one] for one in (step, EVERY) if one in self.wanted]
            if KILL in wanted:
                self.killed = True
                return "Not run: the orchestration was ended by state.soft_kill"
            until = [None if one is None else float(one) for one in wanted]
            left = [float("inf") if one is None else one - self.clock() for one in until]
            longest = max(left, default=0.0)
            if longest <= 0:
                return ""
            self.changed.wait(min(longest, 1.0))
        return "Not run: the controller stopped"

    def sleep(self, seconds: float) -> None:
        """Between attempts of `retry`."""
        end = time.monotonic() + seconds
        while not self.stopping.is_set() and not self.killed and (left := end - time.monotonic()) > 0:
            self.stopping.wait(min(left, 1.0))
