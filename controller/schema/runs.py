"""Runs and function calls: their history, and their results as they come. Times are seconds since the epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from controller.schema.events import WhyStep
from controller.schema.structs import ApiStruct, StreamStruct
from wire.messages import Ending

MOST_WITH_CAUSES = 500
"""Runs of one answer that are told with what led to them."""


class HistoryEntry(ApiStruct, frozen=True, kw_only=True):
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
    classes: dict[str, int] = msgspec.field(default_factory=dict)
    """Of a drift check: class of what differs -> states."""
    user: str = ""
    """Who asked for it; empty when nobody did."""
    fun: str = ""
    """The function of a `call`."""
    args: str = ""
    """Its arguments as one would type them; passwords are left out."""


class Approval(ApiStruct, frozen=True, kw_only=True):
    """Somebody agreed."""

    user: str
    at: float


class CausedEntry(HistoryEntry, frozen=True, kw_only=True):
    """One run with what led to it. Empty beyond the newest `MOST_WITH_CAUSES` of an answer."""

    plan: str = ""
    """What it was planned to do, by kinds of changes; empty where that is too long ago to be known."""
    rollout: str = ""
    """Id of the rollout that let it through; empty: none."""
    approvals: tuple[Approval, ...] = ()
    """Of that rollout."""
    steps: tuple[WhyStep, ...] = ()
    """The events that led to it, and those that follow from it, oldest first, without the failed states."""


class RunView(ApiStruct, frozen=True, kw_only=True):
    """One run with what led to it and all that came of it."""

    entry: HistoryEntry
    plan: str = ""
    """What it was planned to do, by kinds of changes; empty where that is too long ago to be known."""
    rollout: str = ""
    """Id of the rollout that let it through; empty: none."""
    approvals: tuple[Approval, ...] = ()
    """Of that rollout."""
    steps: tuple[WhyStep, ...] = ()
    """The events that led to it, and those that follow from it, oldest first, as long as they are kept."""
    keys: tuple[str, ...] | None = None
    """Keys of the states that it was asked to run; None: all."""
    states: dict[str, Any] = msgspec.field(default_factory=dict)
    """Salt's running dictionary by the keys of states."""
    value: Any = None
    error: str = ""


class CallStarted(StreamStruct, tag="call-started", frozen=True, kw_only=True):
    """Minions were asked; the first item of a call."""

    jid: str
    """Of the job: the runs of its minions have it in common."""
    minions: tuple[str, ...]
    """Who is meant."""
    missing: tuple[str, ...] = ()
    """Those of them that are not connected."""
    unknown: tuple[str, ...] = ()
    """Ids that the target lists and no accepted key has: nobody is asked under them."""


class CallReturn(StreamStruct, tag="return", frozen=True, kw_only=True):
    """What one minion returned for a function call."""

    minion: str
    ok: bool
    run_id: str = ""
    value: Any = None
    error: str = ""
    retcode: int = 0
    """What its command or function left, else 0 when it is well and 1 when it is not."""
    answered: bool = True
    """False: it is not connected, or did not return in time (`error` says which)."""
    seconds: float = 0.0
    ending: Ending = ""
    """Where it did not end by itself: timed out, cancelled, refused or unreachable; `error` says more."""


class CallProgress(StreamStruct, tag="progress", frozen=True, kw_only=True):
    """How far one minion is with a run that was asked for; only for who wants to know it."""

    minion: str
    run_id: str
    done: int
    total: int
    text: str
    """`12/40 nginx (pkg.installed)`."""
    seconds: float = 0.0
    """Since the run began there."""


def unknown_returns(begun: CallStarted) -> Sequence[CallReturn]:
    """What is told of ids that the target lists and no accepted key has."""
    error = "Minion did not return. [No accepted key has this id: saltern key list]"
    return [CallReturn(minion=each, ok=False, error=error, retcode=1, answered=False) for each in begun.unknown]


def salt_return(item: CallReturn, jid: str) -> dict[str, Any]:
    """A return as Salt's clients give it: `ret`, `retcode`, `jid`, and `out` where it has states or did not come."""
    if not item.answered:
        return missing_return(item.error, jid)
    value = item.error if item.error and item.value is None else item.value
    states = isinstance(value, dict) and bool(value) and all("_|-" in str(key) for key in value)
    shown = {"ret": value, "retcode": item.retcode, "jid": jid}
    return {**shown, "out": "highstate"} if states else shown


def missing_return(why: str, jid: str) -> dict[str, Any]:
    """The same of a minion that gives nothing back."""
    return {"ret": why, "retcode": 1, "out": "no_return", "jid": jid}


CallItem: TypeAlias = CallStarted | CallReturn | CallProgress
"""What can stand on a line of the answer to a call."""


class SyncReturn(StreamStruct, tag="sync", frozen=True, kw_only=True):
    """What came of a sync on one minion."""

    minion: str
    outcome: str
    """ok, changed, pending, failed, error, unreachable, refused (it follows another controller), paused or
    outside-window."""
    run_id: str = ""
    changes: int = 0
    failed: int = 0
    summary: str = ""
    states: dict[str, Any] = msgspec.field(default_factory=dict)
    seconds: float = 0.0
