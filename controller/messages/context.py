"""What all handlers of messages work with, as one value.

Made by `controller.composition.messages`. It holds nothing of its own, and knows no message.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from controller.compilation.build_reconciler import BuildReconciler
from controller.messages.after_commit import AfterCommit
from controller.observe.metrics import Metrics
from controller.reconcile.reconciler import Reconciler
from controller.sessions.sessions import Sessions
from controller.store import Store
from reactors.bus import Bus
from reactors.clock_steps import steady_beside


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageContext:
    """Where messages are stored, published and counted."""

    store: Store
    sessions: Sessions
    bus: Bus
    metrics: Metrics
    clock: Callable[[], float]
    after_commit: AfterCommit
    steady: Callable[[], float] = field(init=False)
    """The clock for durations (`reactors.clock_steps`)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "steady", steady_beside(self.clock))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconcilers:
    """Whoever gets work from what minions and people say."""

    runs: Reconciler
    builds: BuildReconciler
