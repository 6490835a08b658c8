"""The items of a preview, in the order in which they come: how far it is, then its report."""

from __future__ import annotations

from typing import TypeAlias

from controller.schema.reports import PreviewReport
from controller.schema.structs import StreamStruct


class PreviewProgress(StreamStruct, tag="preview-progress", frozen=True, kw_only=True):
    """How far a preview is."""

    text: str
    """`compiling`, for people."""
    done: int = 0
    of: int = 0
    """Minions, or other things of which `done` are done; 0 where they cannot be counted."""


class PreviewFinished(StreamStruct, tag="preview-finished", frozen=True, kw_only=True):
    """The last item."""

    report: PreviewReport


PreviewItem: TypeAlias = PreviewProgress | PreviewFinished
"""What `Previews.preview` gives, and a line of its stream."""
