"""Parts that previews and their reports share."""

from __future__ import annotations

from controller.schema.structs import ApiStruct


class MovedSource(ApiStruct, frozen=True, kw_only=True):
    """A remote that stands elsewhere in the head than in the base."""

    remote: str
    base: str = ""
    """Short commit; empty where the base does not have the remote."""
    head: str
    author: str = ""
    """Of the head's commit, as its subject."""
    subject: str = ""
