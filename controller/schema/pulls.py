"""Pull requests of forges, as lists show them."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from controller.schema.structs import ApiStruct


class HeldHead(ApiStruct, frozen=True, kw_only=True):
    """What minions hold of a pull request that was applied before its merge."""

    head: str
    """Whole commit."""
    minions: tuple[str, ...]
    user: str
    """Who has applied it."""
    since: float
    """Seconds since the epoch, as all times here."""
    until: float
    """Then the minions go back to what is live."""


class PullReportQuery(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`GET /api/v1/pulls/report`."""

    forge: Annotated[str, msgspec.Meta(max_length=200)]
    project: Annotated[str, msgspec.Meta(max_length=1000)]
    number: Annotated[int, msgspec.Meta(ge=1, le=2**53)]


class PullView(ApiStruct, frozen=True, kw_only=True):
    """A pull request that is previewed, as it was left after the last look."""

    forge: str
    project: str
    number: int
    title: str
    url: str = ""
    """Of the pull request."""
    head: str
    """Whole commit."""
    base_branch: str
    from_fork: bool = False
    draft: bool = False
    check: str = ""
    """Of the head: `running`, `success`, `failure`, `neutral` or `cancelled`; empty: none was set."""
    base: str = ""
    """Whole commit that the newest report is about; empty: there is none."""
    previewed_at: float | None = None
    """When the newest report was made, in seconds since the epoch."""
    previewed_head: str = ""
    """Whole commit that the newest report is about."""
    minions: int = 0
    """That were compiled."""
    changed: int = 0
    classes: int = 0
    """Distinct changes."""
    broken: int = 0
    """Minions for which the head does not compile."""
    unknown: int = 0
    """Minions of which nobody knows what the head means."""
    approved_by: str = ""
    """Who approved the head what the policy allows with an approval only."""
    preview: Literal["", "queued", "running", "done", "failed"] = ""
    """Of the head, the newest; empty: none was asked for."""
    preview_since: float | None = None
    """When that began: to wait, to be made, or when it was made or had failed; in seconds since the epoch."""
    restricted: bool = False
    """Whether it is that of a stranger's head."""
    held: tuple[HeldHead, ...] = ()
    """By head; mostly there is one at most."""
    waiting_for: str = ""
    """The one thing that comes next; empty: nothing but the merge."""
