"""Revisions, page by page, and what a search finds. Times are seconds since the epoch."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from controller.schema.structs import ApiStruct


class RevisionsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`GET /api/v1/revisions`."""

    text: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """Part of the commit, the subject or the author, in small or capital letters."""
    offset: Annotated[int, msgspec.Meta(ge=0, le=10_000_000)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 50


class RevisionView(ApiStruct, frozen=True, kw_only=True):
    """A revision of all remotes together, that was live or could not go live."""

    revision: str
    """As other answers name it."""
    digest: str
    """Of the revisions of all remotes: what tells it apart."""
    commit: str = ""
    """Of the first remote that moved with it, and so are the next three."""
    author: str = ""
    subject: str = ""
    committed_at: float = 0.0
    first_seen: float = 0.0
    """When it went live first, or was refused."""
    live_since: float | None = None
    """When it went live first; None: it was refused."""
    live: bool = False
    """Whether it is so now."""
    error: str = ""
    """Why it could not go live."""
    compile_error: str = ""
    """A minion for which it does not compile, with the first line of the error; empty: it compiled for all."""
    changed: int = 0
    """Minions that a run of it changed, of the runs that are kept."""
    failed: int = 0
    """Minions on which a run of it failed, of those."""
    quarantined: bool = False
    """Whether it was taken back for everybody."""


class RevisionPage(ApiStruct, frozen=True, kw_only=True):
    """Some of the revisions that are meant, the newest first."""

    revisions: tuple[RevisionView, ...]
    total: int
    """How many there are on all pages."""
    offset: int


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`GET /api/v1/search`."""

    q: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    """Part of an id, a subject, a function …, in small or capital letters."""
    limit: Annotated[int, msgspec.Meta(ge=1, le=50)] = 10
    """So many of each kind."""


HitKind: TypeAlias = Literal["minion", "revision", "run", "job"]


class SearchHit(ApiStruct, frozen=True, kw_only=True):
    """One thing that was found."""

    kind: HitKind
    name: str
    """The id of a minion, run or job; of a revision what other answers name it."""
    text: str = ""
    """What it is, in a line."""
    time: float | None = None
    """When it began, or was first seen; None of a minion."""


class SearchView(ApiStruct, frozen=True, kw_only=True):
    """What was found: minions by their ids, then revisions, runs and jobs, of each the newest first."""

    hits: tuple[SearchHit, ...] = ()
