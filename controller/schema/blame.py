"""Where the values of a state come from (`saltern blame`). Times are seconds since the epoch."""

from __future__ import annotations

from typing import Any

from controller.schema.structs import ApiStruct


class BlameCommit(ApiStruct, frozen=True, kw_only=True):
    """The commit that last changed a line."""

    commit: str
    author: str = ""
    at: float = 0.0
    subject: str = ""


class BlamePlace(ApiStruct, frozen=True, kw_only=True):
    """A line."""

    file: str
    """Path in its repository, or in its folder."""
    line: int
    commit: BlameCommit | None = None
    """None: it is in no git repository, or further back than was looked."""


class BlamePillar(ApiStruct, frozen=True, kw_only=True):
    """A key of pillar that a value is made of."""

    path: str
    """With `:` between keys."""
    value: Any = None
    places: tuple[BlamePlace, ...] = ()
    """Where it is written; of several, each may be the one that counts."""


class BlameValue(ApiStruct, frozen=True, kw_only=True):
    """An argument of a state."""

    name: str
    value: Any = None
    place: BlamePlace | None = None
    pillar: tuple[BlamePillar, ...] = ()


class BlameState(ApiStruct, frozen=True, kw_only=True):
    """A state."""

    key: str
    sls: str
    saltenv: str = "base"
    values: tuple[BlameValue, ...] = ()


class BlameView(ApiStruct, frozen=True, kw_only=True):
    """What `saltern blame` tells."""

    minion: str
    revision: str = ""
    """Label of the revision that its document was compiled from."""
    states: tuple[BlameState, ...] = ()
    more: int = 0
    """States that are meant, too, and not shown."""
