"""What a runner or a wheel gets of the controller.

Made by `runner_jobs` for each call; the ports are wired in `composition.runners`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from controller.adapters.sdb import Profiles
from controller.compilation.mine import MineStore
from controller.config.settings import ControllerSettings
from controller.jobs.jobs import Jobs
from controller.jobs.targets import Targets
from controller.reconcile.live import LiveRevision
from controller.runners.listener import Listener
from controller.schema.keys import KeyView
from controller.sessions.sessions import Sessions
from controller.store import KeyStatus, Store
from reactors.bus import Bus
from reactors.rules.reactor_changes import ReactorChanges


class KeyPort(Protocol):
    """Changes keys of minions, with what follows from it: `controller.api.key_changes` does."""

    async def set_state(
        self, names: Sequence[str], of: Sequence[KeyStatus], to: KeyStatus, user: str
    ) -> Sequence[KeyView]:
        """Accept or reject keys that are in one of the states `of`; ServiceError when a name means none."""

    async def delete(self, names: Sequence[str], user: str) -> Sequence[KeyView]:
        """Forget keys, and the minions that had them."""


class PythonPort(Protocol):
    """Runs Python that is not the controller's, in processes of its own."""

    async def runner_of_tree(
        self, context: RunnerContext, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """What a runner of the live tree returns; ControllerCallFailed when it fails or may not be run."""

    async def execution_function(
        self, context: RunnerContext, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """What an execution function returns on this machine."""

    async def documentation_of_tree(self, context: RunnerContext) -> dict[str, str]:
        """What the runners of the live tree take and do, by full name."""

    async def has_runner(self, module: str) -> bool:
        """Whether the live tree brings this runner."""


class OrchestrationPort(Protocol):
    """Runs orchestrations: `controller.orchestration` does."""

    @property
    def own_id(self) -> str:
        """Under which results stand."""

    @property
    def resumes(self) -> bool:
        """Whether those that a controller did not live to end go on at the next start."""

    async def compiled(
        self, context: RunnerContext, fun: str, sls: Sequence[str], options: Mapping[str, Any]
    ) -> tuple[Any, Sequence[str]]:
        """What SLS come to for the controller's own id, and errors.

        Args:
            context: of the call.
            fun: `show_low_sls` or `show_sls`.
            sls: names of SLS.
            options: `pillar`, `saltenv`, `pillarenv`, `exclude`.
        """

    def low_of(self, data: Mapping[str, Any]) -> tuple[Sequence[Mapping[str, Any]], Sequence[str]]:
        """Low chunks of high data, and errors."""

    async def run(
        self, context: RunnerContext, fun: str, sls: str, low: Sequence[Mapping[str, Any]], *, test: bool
    ) -> dict[str, Any]:
        """Run low chunks; the results in Salt's running dictionary, by tag."""

    async def resume(self, context: RunnerContext) -> dict[str, Any]:
        """Go on with one that an earlier controller began."""

    def keeps(self, jid: str) -> bool:
        """Whether one goes on at the next start when the controller stops now."""

    async def control(self, context: RunnerContext, jid: str, step: str | None, wanted: Any) -> None:
        """Pause a step (until when, None: for ever), have it end there (`kill`), or take that back (`resume`)."""


@dataclass(slots=True, kw_only=True)
class RunnerPorts:
    """Parts of the controller that functions use; the same for all calls. A reload replaces `settings`."""

    store: Store
    sessions: Sessions
    jobs: Jobs
    targets: Targets
    bus: Bus
    live: LiveRevision
    mines: MineStore
    profiles: Profiles
    keys: KeyPort
    own_key: str
    """The controller's public key."""
    processes: PythonPort
    fetch: Callable[[str | None, str], int]
    """Have a remote, or all, fetched for a user; how many those are."""
    orchestrations: OrchestrationPort
    reactors: ReactorChanges
    settings: ControllerSettings
    clock: Callable[[], float]
    """Seconds since the epoch."""


class TellProgress(Protocol):
    """Tells how far a call is."""

    def __call__(self, data: Mapping[str, Any], suffix: str = "progress") -> None:
        """Publish data below the tag of the call."""


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
    say: TellProgress
    """Publishes an event of its progress, which whoever waits is shown."""
