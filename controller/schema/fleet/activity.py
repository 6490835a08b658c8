"""What the fleet is doing now. Times are seconds since the epoch."""

from __future__ import annotations

from typing import Annotated

import msgspec

from controller.schema.fleet.rollouts import RolloutView
from controller.schema.structs import ApiStruct


class ActivityQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern top`."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    """Of the runs, and of the slowest minions."""


class ActiveRun(ApiStruct, frozen=True, kw_only=True):
    """A run that has no result yet."""

    run_id: str
    job: str = ""
    """The id that runs of several minions have in common; empty: it is of no job."""
    minion: str
    kind: str
    state: str
    """requested or started."""
    fun: str = ""
    """The function of a `call`."""
    user: str = ""
    created: float
    """When it was asked for."""
    done: int = 0
    """States that are through; 0 of 0 until the minion says something."""
    total: int = 0
    text: str = ""
    """`12/40 nginx (pkg.installed)`."""
    connected: bool = False
    """Whether its minion is."""


class SlowMinion(ApiStruct, frozen=True, kw_only=True):
    """A minion of whose runs one took long."""

    minion: str
    runs: int
    """Of the newest that are looked at."""
    mean_seconds: float
    most_seconds: float


class ActivityView(ApiStruct, frozen=True, kw_only=True):
    """`saltern top`."""

    at: float
    events: int
    """That there were so far: the difference of two answers, by that of `at`, is the rate."""
    accepted: int
    """Minions whose keys are."""
    connected: int
    runs: tuple[ActiveRun, ...]
    """The oldest of them first."""
    open_runs: int
    """How many there are."""
    queue: int
    """Minions that the controller has to look at."""
    compiling: int
    """Minions that are compiled now."""
    compile_queue: int
    """Minions whose compile waits."""
    rollouts: tuple[RolloutView, ...]
    """Those that are not over, newest first, without their batches."""
    slowest: tuple[SlowMinion, ...]
    """By `most_seconds`, of the newest finished runs of states."""
