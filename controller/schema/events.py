"""Events, and chains of causes made of them. Times are seconds since the epoch."""

from __future__ import annotations

from typing import Any

import msgspec

from controller.schema.plans import PruneView
from controller.schema.structs import ApiStruct, StreamStruct

DROPPED = "saltern/events/dropped"
"""Tag of what stands in a stream in place of events for which its reader was too slow; `count` of them."""


class EventView(StreamStruct, tag="event", frozen=True, kw_only=True):
    """Something that happened, as `saltern events` shows it."""

    tag: str
    time: float
    id: str = ""
    cause: str = ""
    """Id of the event that this one follows from."""
    minion: str = ""
    revision: str = ""
    data: dict[str, Any] = msgspec.field(default_factory=dict)


class WhyStep(ApiStruct, frozen=True, kw_only=True):
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


class WhyState(ApiStruct, frozen=True, kw_only=True):
    """What is known of a state that drifted, or of which something is ignored."""

    key: str
    drift_class: str = ""
    """`corrective`, `intended`, `not-convergent`, `flapping`; empty where nothing differs now."""
    seen: tuple[tuple[float, str], ...] = ()
    """When it was found `drifted`, `moved` (by git), `clean`, or put right and changed `again`; oldest first."""
    changes: Any = None
    ignored: Any = None
    evidence: dict[str, Any] = msgspec.field(default_factory=dict)


class WhyView(ApiStruct, frozen=True, kw_only=True):
    """Why a minion was compiled or ran last, as `saltern why` shows it."""

    minion: str
    steps: tuple[WhyStep, ...] = ()
    """Oldest first."""
    states: tuple[WhyState, ...] = ()
    """Those that drifted, or of which something is ignored."""
    unnamed: PruneView | None = None
    """What no state names any more and is there still; with a state, what it made of that."""
