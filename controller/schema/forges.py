"""Forges: the projects that the controller looks after, and what it may do there."""

from __future__ import annotations

from controller.schema.structs import ApiStruct


class ForgeProjectView(ApiStruct, frozen=True, kw_only=True):
    """A project of a forge."""

    forge: str
    kind: str
    project: str
    remotes: tuple[str, ...]
    """Names of the remotes that are its repository."""
    api: str


class ForgeAccessView(ApiStruct, frozen=True, kw_only=True):
    """One access that previews need."""

    forge: str
    project: str
    access: str
    """`read pull requests of org/states`."""
    ok: bool
    detail: str = ""
    """What was seen, or what is missing and how it is given."""
