"""What can stand on a line of a stream."""

from __future__ import annotations

from typing import TypeAlias

from controller.schema.errors import ErrorView
from controller.schema.events import EventView
from controller.schema.fleet.replacements import ReplacementView
from controller.schema.fleet.ssh import SshRawView, SshVisitView
from controller.schema.preview_stream import PreviewItem
from controller.schema.runners import RunnerItem
from controller.schema.runs import CallProgress, CallReturn, CallStarted, SyncReturn

StreamItem: TypeAlias = (
    CallStarted
    | CallReturn
    | CallProgress
    | SyncReturn
    | RunnerItem
    | PreviewItem
    | EventView
    | SshVisitView
    | SshRawView
    | ReplacementView
    | ErrorView
)
