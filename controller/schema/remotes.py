"""Git remotes."""

from __future__ import annotations

from controller.schema.structs import ApiStruct


class RemoteStatus(ApiStruct, frozen=True, kw_only=True):
    """A git remote as the controller last saw it. The url has no user or password in it."""

    name: str
    url: str
    commit: str = ""
    branch: str = ""
    subject: str = ""
    last_fetch: float | None = None
    error: str = ""


class FetchView(ApiStruct, frozen=True, kw_only=True):
    """What `saltern remote fetch` set off."""

    remotes: int
    """How many remotes will be fetched."""
