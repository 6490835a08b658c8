"""What `saltern adopt` asks and gets. Times are seconds since the epoch."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from controller.schema.structs import ApiStruct


class AdoptQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern adopt`."""

    minion: str
    state: Annotated[str, msgspec.Meta(max_length=1000)] | None = None
    """ID or name of a state, a glob; None: those that drifted."""
    push: bool = False
    """Push a branch to each remote that is changed."""
    author: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """`Name <address>`; empty: who asks."""
    branch: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """Its name; empty: made of the minion, the state and the change."""
    message: Annotated[str, msgspec.Meta(max_length=10_000)] = ""
    """Of the commit; empty: it tells what was adopted."""
    shared: bool = False
    """Also where other minions are changed by it."""
    expected: Annotated[tuple[Annotated[str, msgspec.Meta(max_length=64)], ...], msgspec.Meta(max_length=20)] = ()
    """`AdoptCommit.digest` of what was shown; something else is not pushed. Empty: whatever it is."""


class AdoptedState(ApiStruct, frozen=True, kw_only=True):
    """A state of which git has what the machine has, with the commit."""

    key: str
    places: tuple[str, ...]
    """What was changed in git: `states/web.sls:4`, `pillar/web.sls:3 (nginx:version)`."""
    evidence: dict[str, Any] = msgspec.field(default_factory=dict)
    """Who changed the machine and when, as far as it tells (`saltern why`)."""


class RefusedState(ApiStruct, frozen=True, kw_only=True):
    """A state that is not adopted."""

    key: str
    why: str
    hint: str = ""
    """What a person can do."""
    diff: str = ""
    """What differs, from git to the machine, where that helps."""


class AdoptCommit(ApiStruct, frozen=True, kw_only=True):
    """The commit for one repository."""

    remote: str
    url: str
    """Without credentials."""
    base: str
    """Whole id of the commit that is live, and its parent."""
    commit: str
    digest: str
    """Of the base and the new contents: equal where the same is adopted again."""
    branch: str
    """Its name, where it was or can be pushed."""
    page: str = ""
    """Where people open a pull request of it; empty where the forge is not known."""
    obstacle: str = ""
    """Why it is not pushed, as far as that is known without trying."""
    author: str
    committer: str
    """`Name <address>`."""
    at: int
    message: str
    patch: bytes
    """As `git am` takes it."""
    files: dict[str, bytes]
    """Path in the repository -> new content."""
    pushed: bool = False
    error: str = ""
    """Why it was not pushed."""


class AdoptEffect(ApiStruct, frozen=True, kw_only=True):
    """What the commit changes beside the adopted states."""

    minions: tuple[str, ...]
    states: tuple[str, ...]
    """Titles."""


class AdoptView(ApiStruct, frozen=True, kw_only=True):
    """What `saltern adopt` tells."""

    minion: str
    adopted: tuple[AdoptedState, ...] = ()
    refused: tuple[RefusedState, ...] = ()
    unchanged: tuple[str, ...] = ()
    """Keys of the states in which the machine has what git says."""
    commits: tuple[AdoptCommit, ...] = ()
    effects: tuple[AdoptEffect, ...] = ()
