"""The items of a preview, in the order in which they come."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from controller.schema.plans import ChunkDiff
from controller.schema.structs import ApiStruct, StreamStruct


class MovedSource(ApiStruct, frozen=True, kw_only=True):
    """A remote that stands elsewhere in the head than in the base."""

    remote: str
    base: str = ""
    """Short commit; empty where the base does not have the remote."""
    head: str
    author: str = ""
    """Of the head's commit, as its subject."""
    subject: str = ""


class PreviewStarted(StreamStruct, tag="started", frozen=True, kw_only=True):
    """Compiled on both sides; `classes` groups of equal change follow, then `testing` results."""

    base: str
    """Short commit of the first remote that moved."""
    head: str
    moved: tuple[MovedSource, ...] = ()
    minions: int
    changed: int
    unchanged: int
    broken: int = 0
    """Minions for which the head does not compile."""
    unknown: int = 0
    """Minions whose answers it needs and that nobody could ask."""
    classes: int = 0
    testing: int = 0
    """Connected minions that are asked for a test run."""


class PreviewClass(StreamStruct, tag="class", frozen=True, kw_only=True):
    """Minions for which the head means the same change."""

    minions: tuple[str, ...]
    text: str
    changes: tuple[ChunkDiff, ...] = ()


class PreviewBroken(StreamStruct, tag="broken", frozen=True, kw_only=True):
    """Minions for which the head does not compile, for the same reasons."""

    minions: tuple[str, ...]
    errors: tuple[str, ...]


class PreviewUnknown(StreamStruct, tag="unknown", frozen=True, kw_only=True):
    """Minions of which nobody knows what the head means: it needs answers of their machines that were not to be had.

    They are not connected, or a preview does not ask for these functions.
    """

    minions: tuple[str, ...]
    functions: tuple[str, ...]


class PreviewWarned(StreamStruct, tag="warned", frozen=True, kw_only=True):
    """Minions whose compile of the head goes on with something that that of the base has not."""

    minions: tuple[str, ...]
    warnings: tuple[str, ...]


class PreviewResult(StreamStruct, tag="result", frozen=True, kw_only=True):
    """What a connected minion says that the head would change (test=True)."""

    minion: str
    outcome: str
    run_id: str = ""
    changes: int = 0
    failed: int = 0
    summary: str = ""
    states: dict[str, Any] = msgspec.field(default_factory=dict)


class PreviewSummary(StreamStruct, tag="summary", frozen=True, kw_only=True):
    """The last item."""

    minions: int
    changed: int
    unchanged: int
    broken: int = 0
    unknown: int = 0
    tested: int = 0
    failed: int = 0
    """Minions whose test run failed."""
    unreachable: int = 0
    """Changed minions that were not connected, so that nothing was tested there."""
    seconds: float = 0.0


PreviewEvent: TypeAlias = (
    PreviewStarted | PreviewClass | PreviewBroken | PreviewUnknown | PreviewWarned | PreviewResult | PreviewSummary
)
