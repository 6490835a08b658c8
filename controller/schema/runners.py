"""Calls of runners and wheels, as they go on."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from controller.schema.structs import StreamStruct


class RunnerStarted(StreamStruct, tag="runner-started", frozen=True, kw_only=True):
    """It has begun."""

    jid: str


class RunnerProgress(StreamStruct, tag="runner-progress", frozen=True, kw_only=True):
    """The data of a progress event."""

    data: dict[str, Any] = msgspec.field(default_factory=dict)


class RunnerOutput(StreamStruct, tag="runner-output", frozen=True, kw_only=True):
    """Text that it prints."""

    text: str


class RunnerReturn(StreamStruct, tag="runner-return", frozen=True, kw_only=True):
    """What came of it."""

    jid: str
    success: bool
    value: Any = None
    """What it returned; the text of the error when it raised one."""
    ended: bool = True
    """False: not within the time that was waited."""


RunnerItem: TypeAlias = RunnerStarted | RunnerProgress | RunnerOutput | RunnerReturn
