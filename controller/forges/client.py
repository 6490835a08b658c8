"""The port to a forge: pull requests, comments, checks and permissions. The clients are in `controller.forges.kinds`.

Used by `controller.pull_requests`. An adapter decides nothing: it asks and says what it was told. Every call ends
within the forge's limit of time (`ForgeLimits`), and reads no more than its limits of bytes and pages.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


class ForgeError(Exception):
    """A forge could not do what it was asked; the text says what to do."""


class ForgeUnavailable(ForgeError):
    """It may work later: no answer, 5xx, a rate limit. `retry_after` in seconds; 0 when the forge does not say."""

    def __init__(self, text: str, retry_after: float = 0.0) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class ForgeRefused(ForgeError):
    """It will not work until somebody changes something: permissions, a wrong project, a wrong token."""


class ForgeNotFound(ForgeRefused):
    """There is no such pull request, comment or project (or the token may not see it)."""


class PullState(enum.Enum):
    """What a pull request is."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull (merge) request as the forge has it now."""

    project: str
    """As in the configuration, like `org/states`."""
    number: int
    title: str
    author: str
    state: PullState
    draft: bool = False
    head: str
    """Whole commit."""
    head_branch: str = ""
    from_fork: bool = False
    """The head lies in another repository than the base."""
    base_branch: str
    merge_commit: str = ""
    """What the merge made, where it is merged."""
    updated: str = ""
    """The forge's mark of its last change; equal when nothing changed. Empty: this forge has none."""
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeComment:
    """A comment on a pull request."""

    id: str
    author: str
    body: str
    created: float
    """Seconds since the epoch."""
    edited: bool = False


class CheckState(enum.Enum):
    """Of a check or status."""

    RUNNING = "running"
    SUCCESS = "success"
    FAILURE = "failure"
    NEUTRAL = "neutral"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """A remark on a line of the pull request."""

    path: str
    line: int
    level: Literal["notice", "warning", "failure"]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeCheck:
    """The check `name` on a commit."""

    name: str
    """`saltern/preview (base)`."""
    state: CheckState
    title: str
    """One line, 140 characters at most."""
    summary: str = ""
    """Markdown, where the forge shows it."""
    url: str = ""
    annotations: tuple[Annotation, ...] = ()


class Permission(enum.IntEnum):
    """What a person may do with a project."""

    NONE = 0
    READ = 1
    WRITE = 2
    ADMIN = 3


class Reaction(enum.Enum):
    """The answer to a command."""

    SEEN = "seen"
    DONE = "done"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessResult:
    """One line of `saltern forge check`."""

    what: str
    """`read pull requests of org/states`."""
    ok: bool
    detail: str = ""
    """What was seen, or what is missing and how it is given."""


class ForgeClient(Protocol):
    """One forge with its credentials. All methods raise `ForgeError`."""

    name: str
    """As in the configuration."""
    comment_bytes: int
    """Characters that a comment may have."""

    async def pull_request(self, project: str, number: int) -> PullRequest:
        """As it is now."""

    async def open_pull_requests(self, project: str) -> Sequence[PullRequest]:
        """All open ones, the newest change first; bounded. An unchanged answer costs a conditional request."""

    async def comments(self, project: str, number: int) -> Sequence[ForgeComment]:
        """All comments, the oldest first; bounded."""

    async def create_comment(self, project: str, number: int, body: str) -> ForgeComment:
        """Add one."""

    async def edit_comment(self, project: str, number: int, comment: str, body: str) -> None:
        """Replace the text of one of ours. ForgeNotFound when somebody has deleted it."""

    async def hide_comment(self, project: str, number: int, comment: str) -> None:
        """Fold it as outdated where the forge can, else replace its text by a line that says so."""

    async def react(self, project: str, number: int, comment: str, reaction: Reaction) -> None:
        """Answer a comment; where the forge has no reactions nothing is done."""

    async def set_check(self, project: str, head: str, check: ForgeCheck) -> None:
        """Create or replace the check of this name on a commit."""

    async def permission(self, project: str, user: str) -> Permission:
        """What a person may do."""

    async def check_access(self, project: str) -> Sequence[AccessResult]:
        """Prove each access that previews need, one by one."""

    async def close(self) -> None:
        """End connections."""
