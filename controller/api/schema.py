"""What the controller answers to people: the types of the API, and the port through which the API asks.

`controller.api.service` implements `ControllerApi`; `controller.api` serves it as JSON; `controller.cli` reads the same
types back. Nothing here decides or looks anything up. Times are seconds since the epoch, None where it never happened.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

SyncName: TypeAlias = Literal["Synced", "OutOfSync", "Progressing", "Paused", "Unknown"]
HealthName: TypeAlias = Literal["Healthy", "Degraded", "Drifted", "Failed", "Unreachable"]
TargetKind: TypeAlias = Literal[
    "glob", "list", "pcre", "grain", "grain_pcre", "pillar", "pillar_exact", "compound", "nodegroup", "ipcidr"
]
ErrorKind: TypeAlias = Literal["bad-request", "no-target", "not-found", "conflict", "compile", "forbidden", "internal"]


# --- errors ---------------------------------------------------------------------------------------------------------


class ServiceError(Exception):
    """Raised by a `ControllerApi` for what the asker can understand; becomes a JSON error and an exit code."""

    def __init__(self, kind: ErrorKind, message: str, *, hint: str = "", problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.message = message
        self.hint = hint
        self.problems = tuple(problems)
        """Ready to print, one for each error of a tree (`compile`)."""


class _View(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    pass


class _Item(_View, frozen=True, kw_only=True, tag_field="t"):
    """An item of a stream: JSON lines, told apart by `t`."""


class ErrorView(_Item, tag="error", frozen=True, kw_only=True):
    """A `ServiceError`: the body of an answer that is not 2xx, or the last line of a stream that broke."""

    error: ErrorKind
    message: str
    hint: str = ""
    problems: tuple[str, ...] = ()


# --- questions ------------------------------------------------------------------------------------------------------


class TargetExpression(_View, frozen=True, kw_only=True):
    """Which minions, in Salt's words."""

    kind: TargetKind = "glob"
    expression: str = "*"


# --- status ---------------------------------------------------------------------------------------------------------


class MinionStatus(_View, frozen=True, kw_only=True):
    """Where one minion stands."""

    id: str
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
    drifted: int = 0
    """Chunks that the last drift check found changed."""
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


class VolatileRead(_View, frozen=True, kw_only=True):
    """Something that a compile stands on besides trees and grains: its answer may be another by now."""

    name: str
    """`cmd.which`, `ext_pillar.http_json`, `vault.read_secret`, `#!py`, ..."""
    asked: str = ""
    """The arguments of a function, as JSON: `[[positional], {named}]`."""
    at: float
    """When it was asked last; of a document that stands, when that was compiled."""


class CompileView(_View, frozen=True, kw_only=True):
    """The newest compile of a minion."""

    id: str
    revision: str = ""
    """Label of the revision that was compiled."""
    compiled_at: float | None = None
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    volatile: tuple[VolatileRead, ...] = ()


class RemoteStatus(_View, frozen=True, kw_only=True):
    """A git remote as the controller last saw it. The url has no user or password in it."""

    name: str
    url: str
    commit: str = ""
    branch: str = ""
    subject: str = ""
    last_fetch: float | None = None
    error: str = ""


class FetchView(_View, frozen=True, kw_only=True):
    """What `saltern remote fetch` set off."""

    remotes: int
    """How many remotes will be fetched."""


class StatusView(_View, frozen=True, kw_only=True):
    """The whole status page."""

    minions: tuple[MinionStatus, ...]
    remotes: tuple[RemoteStatus, ...]


# --- keys -----------------------------------------------------------------------------------------------------------


class KeyView(_View, frozen=True, kw_only=True):
    """A minion's key."""

    id: str
    state: Literal["pending", "accepted", "rejected"]
    fingerprint: str
    first_seen: float
    changed: float
    conflict: bool = False
    """It asks for an id that another key already has."""


class ControllerKey(_View, frozen=True, kw_only=True):
    """What minions put into `controller_key`."""

    public: str
    fingerprint: str


# --- differences and runs -------------------------------------------------------------------------------------------


class FieldDiff(_View, frozen=True, kw_only=True):
    """One argument of a chunk, old and new; None where it is not there."""

    field: str
    old: Any = None
    new: Any = None


class ChunkDiff(_View, frozen=True, kw_only=True):
    """What a plan does with one chunk."""

    key: str
    action: Literal["added", "changed", "removed", "retriggered"]
    fields: tuple[FieldDiff, ...] = ()
    content: tuple[str, ...] = ()
    """Content differences, one text for each file that the chunk manages."""
    by: tuple[str, ...] = ()
    """Keys of the chunks that trigger it again."""
    pos: str = ""
    """file:line of the chunk's id."""


class DriftView(_View, frozen=True, kw_only=True):
    """A chunk that the last drift check found changed."""

    key: str
    comment: str = ""
    changes: Any = None


class MinionDiff(_View, frozen=True, kw_only=True):
    """What is pending on one minion, and what drifted."""

    id: str
    base: str = ""
    """Label of the applied revision."""
    head: str = ""
    """Label of the attempted one."""
    text: str = ""
    """The plan, ready to print; empty when nothing is pending."""
    changes: tuple[ChunkDiff, ...] = ()
    drift: tuple[DriftView, ...] = ()
    drift_at: float | None = None
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class HistoryEntry(_View, frozen=True, kw_only=True):
    """One run, in a line."""

    run_id: str
    minion: str
    kind: str
    state: str
    """requested, started, finished or superseded."""
    outcome: str = ""
    """ok, changed, pending, failed or error; empty until it is finished."""
    revision: str = ""
    test: bool = False
    created: float = 0.0
    started: float | None = None
    finished: float | None = None
    seconds: float = 0.0
    changes: int = 0
    failed: int = 0
    summary: str = ""
    cause: str = ""


class RunView(_View, frozen=True, kw_only=True):
    """One run with all that came of it."""

    entry: HistoryEntry
    keys: tuple[str, ...] | None = None
    """Chunk keys that it was asked to run; None: all."""
    states: dict[str, Any] = {}
    """Salt's running dictionary by chunk key."""
    value: Any = None
    error: str = ""


# --- streams --------------------------------------------------------------------------------------------------------


class CallReturn(_Item, tag="return", frozen=True, kw_only=True):
    """What one minion returned for a function call."""

    minion: str
    ok: bool
    run_id: str = ""
    value: Any = None
    error: str = ""
    answered: bool = True
    """False: it is not connected, or did not return in time (`error` says which)."""
    seconds: float = 0.0


class CallProgress(_Item, tag="progress", frozen=True, kw_only=True):
    """How far one minion is with a run that was asked for; only for who wants to know it."""

    minion: str
    run_id: str
    done: int
    total: int
    text: str
    """`12/40 nginx (pkg.installed)`."""
    seconds: float = 0.0
    """Since the run began there."""


class SyncReturn(_Item, tag="sync", frozen=True, kw_only=True):
    """What came of a sync on one minion."""

    minion: str
    outcome: str
    """ok, changed, pending, failed, error, unreachable or paused."""
    run_id: str = ""
    changes: int = 0
    failed: int = 0
    summary: str = ""
    states: dict[str, Any] = {}
    seconds: float = 0.0


class PreviewStarted(_Item, tag="started", frozen=True, kw_only=True):
    """Compiled on both sides; `classes` groups of equal change follow, then `testing` results."""

    base: str
    head: str
    minions: int
    changed: int
    unchanged: int
    broken: int = 0
    """Minions for which the head does not compile."""
    classes: int = 0
    testing: int = 0
    """Connected minions that are asked for a test run."""


class PreviewClass(_Item, tag="class", frozen=True, kw_only=True):
    """Minions for which the head means the same change."""

    minions: tuple[str, ...]
    text: str
    changes: tuple[ChunkDiff, ...] = ()


class PreviewBroken(_Item, tag="broken", frozen=True, kw_only=True):
    """Minions for which the head does not compile, for the same reasons."""

    minions: tuple[str, ...]
    errors: tuple[str, ...]


class PreviewWarned(_Item, tag="warned", frozen=True, kw_only=True):
    """Minions whose compile of the head goes on with something that that of the base has not."""

    minions: tuple[str, ...]
    warnings: tuple[str, ...]


class PreviewResult(_Item, tag="result", frozen=True, kw_only=True):
    """What a connected minion says that the head would change (test=True)."""

    minion: str
    outcome: str
    run_id: str = ""
    changes: int = 0
    failed: int = 0
    summary: str = ""
    states: dict[str, Any] = {}


class PreviewSummary(_Item, tag="summary", frozen=True, kw_only=True):
    """The last item."""

    minions: int
    changed: int
    unchanged: int
    broken: int = 0
    tested: int = 0
    failed: int = 0
    """Minions whose test run failed."""
    unreachable: int = 0
    """Changed minions that were not connected, so that nothing was tested there."""
    seconds: float = 0.0


PreviewEvent: TypeAlias = PreviewStarted | PreviewClass | PreviewBroken | PreviewWarned | PreviewResult | PreviewSummary


class EventView(_Item, tag="event", frozen=True, kw_only=True):
    """Something that happened, as `saltern events` shows it."""

    tag: str
    time: float
    id: str = ""
    cause: str = ""
    """Id of the event that this one follows from."""
    minion: str = ""
    revision: str = ""
    data: dict[str, Any] = {}


class WhyStep(_View, frozen=True, kw_only=True):
    """An event of the chain that led to a run or a compile, or that followed from it."""

    id: str
    """Of the event."""
    cause: str = ""
    """Id of the event that this one follows from."""
    tag: str
    time: float
    step: str
    """`push`, `fetch`, `revision`, `compile`, `run`, `start`, `result`, `applied`, `request`, `grains`, ..."""
    text: str
    details: tuple[str, ...] = ()
    """Subjects of commits, errors with file and line, failed states."""
    revision: str = ""


class WhyView(_View, frozen=True, kw_only=True):
    """Why a minion was compiled or ran last, as `saltern why` shows it."""

    id: str
    steps: tuple[WhyStep, ...] = ()
    """Oldest first."""


StreamItem: TypeAlias = CallReturn | CallProgress | SyncReturn | PreviewEvent | EventView | ErrorView


# --- the port -------------------------------------------------------------------------------------------------------


class ControllerApi(Protocol):
    """The controller, as far as people may ask it. Called on its own event loop; every method may raise ServiceError.

    A target that matches no minion is a ServiceError of kind `no-target`.
    """

    def status(self, target: TargetExpression | None) -> Sequence[MinionStatus]:
        """All minions that the target names (None: all), sorted by id."""

    def remotes(self) -> Sequence[RemoteStatus]:
        """All git remotes."""

    def keys(self) -> Sequence[KeyView]:
        """All keys, sorted by state and id."""

    def controller_key(self) -> ControllerKey:
        """The controller's own key."""

    def accept(self, names: Sequence[str]) -> Sequence[KeyView]:
        """Accept keys by id, glob or fingerprint; the keys as they are now."""

    def reject(self, names: Sequence[str]) -> Sequence[KeyView]:
        """Reject keys; a connected minion is cut off."""

    def delete(self, names: Sequence[str]) -> Sequence[KeyView]:
        """Forget keys, and the minions that had them."""

    def diff(self, minion: str | None) -> Sequence[MinionDiff]:
        """What is pending and what drifted: of one minion, or of all that have any."""

    def history(self, minion: str | None, limit: int) -> Sequence[HistoryEntry]:
        """Runs, newest first."""

    def compile_detail(self, minion: str) -> CompileView:
        """The newest compile of a minion, with its warnings and what it stands on."""

    async def why(self, minion: str) -> WhyView:
        """What led to the newest run or compile of a minion, and what followed."""

    def run_detail(self, run_id: str) -> RunView:
        """One run; an unambiguous beginning of its id is enough."""

    def call(
        self,
        target: TargetExpression,
        fun: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        timeout: float,
        *,
        progress: bool,
    ) -> AsyncIterator[CallReturn | CallProgress]:
        """Run a function on minions; one return a minion, as they come, and with `progress` how far they are."""

    def sync(
        self, target: TargetExpression, *, whole: bool, test: bool, progress: bool
    ) -> AsyncIterator[SyncReturn | CallProgress]:
        """Apply what is pending now (`whole`: the whole highstate; `test`: only say what would change)."""

    async def pause(self, target: TargetExpression) -> Sequence[str]:
        """Apply nothing more on these minions; their ids."""

    async def resume(self, target: TargetExpression) -> Sequence[str]:
        """The opposite of pause."""

    def preview(
        self, base: str, head: str, target: TargetExpression | None, *, live: bool
    ) -> AsyncIterator[PreviewEvent]:
        """What moving from one ref to another would change; `live` also asks the connected minions (test=True)."""

    def events(self) -> AsyncIterator[EventView]:
        """Everything that happens from now on."""

    async def hook(self, remote_hint: str | None) -> int:
        """Somebody pushed: fetch the remotes that this url or name means (None: all); how many these are."""
