"""The state of minions, and their compiles. Times are seconds since the epoch, None where it never happened."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from controller.schema.remotes import RemoteStatus
from controller.schema.structs import ApiStruct

SyncName: TypeAlias = Literal["Synced", "OutOfSync", "Progressing", "Paused", "Shadow", "Held", "Unknown"]


HealthName: TypeAlias = Literal["Healthy", "Progressing", "Degraded", "Drifted", "Failed", "Unreachable"]


def stock_agent(agent: str) -> str:
    """The agent of a stock minion at a gateway, `salt 3008.1`; empty for one of this project."""
    return agent if agent.startswith("salt ") else ""


class HeldPull(ApiStruct, frozen=True, kw_only=True):
    """A pull request that was applied before its merge."""

    pull: str
    """`FORGE:PROJECT#NUMBER`."""
    head: str
    """Whole commit."""
    until: float
    """When the minion goes back at the latest."""
    user: str
    """Who asked for it, on the forge."""


class HeldRevision(ApiStruct, frozen=True, kw_only=True):
    """An earlier revision that a minion was taken back to."""

    revision: str
    rollback: str
    """Which one it was: `saltern rollback --list`."""
    user: str
    since: float
    why: str


class Unconfirmed(ApiStruct, frozen=True, kw_only=True):
    """What `apply: confirm` has applied, and nobody confirmed yet."""

    back_to: str
    """Label of the revision that the minion goes back to."""
    until: float
    """When it does."""


class MinionStatus(ApiStruct, frozen=True, kw_only=True):
    """Where one minion stands."""

    minion: str
    sync: SyncName
    health: HealthName
    connected: bool
    attempted_revision: str = ""
    """Label of the revision that was last compiled for it."""
    applied_revision: str = ""
    """Label of the revision that it last applied in full."""
    applied_at: float | None = None
    last_seen: float | None = None
    paused: bool = False
    held: HeldPull | None = None
    """The pull request that it has in place of what is live."""
    taken_back: HeldRevision | None = None
    """The earlier revision that it has in place of what is live."""
    unconfirmed: Unconfirmed | None = None
    """Set while what it has applied waits for `saltern confirm`."""
    drifted: int = 0
    """States that the last drift check found changed."""
    classes: dict[str, int] = msgspec.field(default_factory=dict)
    """Class of what differs (`corrective`, `intended`, `not-convergent`, `flapping`) -> states."""
    ignored: int = 0
    """States of which the last drift check found something changed that policy ignores."""
    unnamed: int = 0
    """Resources that a state brought into being, that none names any more, and that are there still."""
    prune_held: str = ""
    """Why none of these is removed, where the minion holds that back."""
    message: str = ""
    """One line: the error, the pending changes or the drift."""
    errors: tuple[str, ...] = ()
    """Compile errors with file, line, caret and include chain."""
    warnings: tuple[str, ...] = ()
    """What the compile went on with, in the same form."""
    volatile: tuple[str, ...] = ()
    """Functions of the live machine that its highstate stands on, as they answered when they were asked last."""
    asked_at: float | None = None
    """When the oldest of these answers was given."""
    running: tuple[str, ...] = ()
    """How far the runs are that go on there: `12/40 nginx (pkg.installed)`."""
    pending_triggers: tuple[str, ...] = ()
    """What still has to act on a change that an earlier run made, as a service that failed to restart."""
    problems: tuple[str, ...] = ()
    """What is wrong with the minion's own configuration, with its place: beacons that cannot run."""
    agent: str = ""
    """What is connected, or was when it was seen last, as it says itself; a stock minion at a gateway is
    `salt 3008.1`. Empty: nothing was that said so."""


class MinionPresence(ApiStruct, frozen=True, kw_only=True):
    """Whether a minion is there."""

    minion: str
    connected: bool
    last_seen: float | None = None
    """When it said something last; None: it has never connected."""
    os: str = ""
    os_release: str = ""
    address: str = ""
    """The first of its IPv4 addresses that is not of the loopback interface, as it says."""
    problems: tuple[str, ...] = ()
    """What is wrong with its own configuration."""
    relay: str = ""
    """The relay by which it is connected."""
    agent: str = ""
    """What is connected, or was when it was seen last, as it says itself; a stock minion at a gateway is
    `salt 3008.1`."""
    shadow: bool = False
    """Whether a policy keeps it in shadow: a Salt master drives it, and nothing is applied."""


class VolatileRead(ApiStruct, frozen=True, kw_only=True):
    """Something that a compile stands on besides trees and grains: its answer may be another by now."""

    name: str
    """`cmd.which`, `ext_pillar.http_json`, `vault.read_secret`, `#!py`, ..."""
    asked: str = ""
    """The arguments of a function, as JSON: `[[positional], {named}]`."""
    at: float
    """When it was asked last; of a document that stands, when that was compiled."""


class CompileView(ApiStruct, frozen=True, kw_only=True):
    """The newest compile of a minion."""

    minion: str
    revision: str = ""
    """Label of the revision that was compiled."""
    compiled_at: float | None = None
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    volatile: tuple[VolatileRead, ...] = ()


class ReturnerStatus(ApiStruct, frozen=True, kw_only=True):
    """How a returner of the controller is doing."""

    returner: str
    waiting: int
    dropped: int
    failures: int
    """One after the other, until now."""
    error: str


class EngineStatus(ApiStruct, frozen=True, kw_only=True):
    """How an engine of the administrator is doing."""

    engine: str
    module: str
    state: Literal["running", "waiting"]
    """`waiting`: it has ended, and is begun again."""
    since: float
    """When it was begun, or when it ended."""
    again_at: float | None = None
    """When one that waits is begun again."""
    failures: int = 0
    """How often it has ended at once, one after the other, until now."""
    error: str = ""
    """Why it ended last."""
    waits: int = 0
    """How often it has waited because it sent events faster than it may, since the controller started."""


class CompileWorker(ApiStruct, frozen=True, kw_only=True):
    """A worker of a Dask cluster."""

    worker: str
    """Its address, as Dask writes it."""
    name: str
    """That it has in the cluster."""
    state: Literal["asked", "ready", "silent", "suspended", "refused", "gone"]
    """`asked`: who it is. `silent`: without heartbeat. `suspended`: left alone, for some seconds, after it has not
    answered. `refused`: another version, or not encrypted. Only `ready` ones compile."""
    processes: int
    minions: int
    """That it has compiled for this controller, since either has started."""
    since: float
    reason: str = ""
    """Why it does not compile."""


class ExecutorStatus(ApiStruct, frozen=True, kw_only=True):
    """Where minions are compiled for the live trees, since the controller has started."""

    executor: str
    """The option `compile_executor`."""
    state: Literal["local", "connecting", "connected", "unreachable"]
    since: float | None = None
    error: str = ""
    """Why the scheduler cannot be reached."""
    minions_here: int = 0
    """Compiled by processes of the controller's machine."""
    minions_on_workers: int = 0
    fallbacks: int = 0
    """Shares of compiles that were done here, as no worker could be used."""
    fallback_at: float | None = None
    """The last of them, and why."""
    fallback_reason: str = ""
    workers: tuple[CompileWorker, ...] = ()


class StatusView(ApiStruct, frozen=True, kw_only=True):
    """The whole status page."""

    minions: tuple[MinionStatus, ...]
    remotes: tuple[RemoteStatus, ...]
    returners: tuple[ReturnerStatus, ...] = ()
    engines: tuple[EngineStatus, ...] = ()
    executor: ExecutorStatus | None = None
    """Where minions are compiled."""
