"""What a runner or a wheel gets of the controller.

Made by `runner_jobs` for each call; the ports are wired in `composition.runners`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from controller.config.settings import ControllerSettings
from controller.jobs.jobs import Jobs
from controller.jobs.targets import Targets
from controller.reconcile.live import LiveRevision
from controller.runners.listener import Listener
from controller.sessions.sessions import Sessions
from controller.store import Store
from reactors.bus import Bus


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerPorts:
    """Parts of the controller that functions use; the same for all calls."""

    store: Store
    sessions: Sessions
    jobs: Jobs
    targets: Targets
    bus: Bus
    live: LiveRevision
    settings: ControllerSettings
    clock: Callable[[], float]
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerContext:
    """One call."""

    ports: RunnerPorts
    jid: str
    user: str
    """Who asks; empty when that is not known."""
    cause: int
    """Id of the event that says that the call has begun."""
    listener: Listener
    """Who waits for it, and has what it prints."""
    say: Callable[[Mapping[str, Any]], None]
    """Publishes a progress event, which whoever waits is shown."""
