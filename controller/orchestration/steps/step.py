"""What a step of an orchestration gets, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from controller.config.limits import OrchestrationLimits
from controller.runners.context import RunnerContext
from controller.runners.runner_jobs import RunnerJobs
from controller.store.orchestrations.table import StepRecord


class StepFailed(Exception):
    """A step cannot be done; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """What came of a step."""

    result: bool | None
    comment: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    jid: str = ""
    """Of its job; Salt shows it in the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepContext:
    """One step."""

    call: RunnerContext
    """The orchestration, a call of a runner."""
    runners: RunnerJobs
    limits: OrchestrationLimits
    key: str
    """Of its chunk, as it is kept; that of a test run has `#test` at its end."""
    test: bool
    """Whether it only says what it would do."""
    reconnect_until: float
    """Seconds since the epoch until which minions are waited for that are not connected; after a restart."""
    record: StepRecord
    """What is known of it already: more than its key where a controller ended in the middle of it."""

    def remember(self, asked: Any) -> None:
        """Keep whom it asks, before anybody is asked."""
        self.call.ports.store.orchestrations.ask_step(self.call.jid, self.key, asked)

    def tell(self, message: str) -> None:
        """Say how far it is."""
        self.call.say({"message": message})


def texts(value: Any) -> tuple[str, ...]:
    """A list, or words between commas; StepFailed for anything else."""
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(one.strip() for one in value.split(",") if one.strip())
    if isinstance(value, list | tuple):
        return tuple(map(str, value))
    raise StepFailed(f"a list or words between commas are wanted, not {value!r}")


StepFunction: TypeAlias = Callable[..., Any]
"""`async f(step, name, **arguments) -> StepOutcome`; its signature says what it takes (`minion.arguments`)."""
