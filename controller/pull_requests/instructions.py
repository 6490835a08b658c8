"""What one look at a pull request sees, and what can be decided of it: the nouns of `decision`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from controller.forges.client import ForgeCheck, ForgeComment, Permission, PullRequest, Reaction
from controller.pull_requests.command_rules import Say
from controller.pull_requests.keys import CommentKeys
from controller.schema.reports import MergeOutcome, PreviewReport
from controller.store.pull_requests import Previewed, PullRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRules:
    """What the decision depends on beside the facts."""

    check: str
    """Name of the check: `saltern/preview (base)`."""
    comment: Literal["update", "new", "hide-and-new"] = "update"
    strangers: Literal["none", "restricted"] = "none"
    """What a pull request of a fork gets before somebody with write access asks for a preview."""
    drafts: bool = True
    """Whether drafts are previewed before somebody with write access asks for it."""
    branches: frozenset[str] = frozenset()
    """Base branches whose pull requests are previewed; empty: all."""
    controller: str = ""
    """Its name in comments."""
    environment: str = "base"
    template: str = ""
    """Of the comment, from the base's tree; empty: the one of Saltern."""
    again_seconds: float = 600.0
    """At least between the beginnings of two previews of a head whose base moves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningPreview:
    """A preview that waits or is made."""

    preview: Previewed
    command: str = ""
    """Id of the comment that asked for it with a target; empty: it is for the comment and the check."""
    again: bool = False
    """Only the base has moved since the one before: all others are made first."""
    head_at: float = 0.0
    """When the head was first seen, in seconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """All that the decision depends on."""

    record: PullRecord
    pull: PullRequest
    comments: Sequence[ForgeComment]
    """All that the forge shows, ours among them."""
    keys: CommentKeys
    permissions: Mapping[str, Permission] = field(default_factory=dict)
    """Of people whose commands are open, as far as they were asked for."""
    running: RunningPreview | None = None
    report: PreviewReport | None = None
    """What is stored about `record.previewed`."""
    body: str = ""
    """The comment that should stand there, with its marker and without its key; empty: none yet."""
    url: str = ""
    """Of the whole report."""
    base: str = ""
    """Names what is live of all remotes; empty: not known."""
    outcome: MergeOutcome | None = None
    """What is known of the merge."""


@dataclass(frozen=True, slots=True)
class Record:
    """Keep this record, and say what happened."""

    record: PullRecord
    said: tuple[Say, ...] = ()


@dataclass(frozen=True, slots=True)
class AskPermission:
    """Ask the forge what somebody may do."""

    user: str


@dataclass(frozen=True, slots=True)
class StartPreview:
    """Make a preview of the head; of these minions only where there is a target."""

    running: RunningPreview
    target: str = ""


@dataclass(frozen=True, slots=True)
class CancelPreview:
    """End the preview that is being made."""


@dataclass(frozen=True, slots=True)
class React:
    """Answer a command by a reaction."""

    comment: str
    reaction: Reaction


@dataclass(frozen=True, slots=True)
class PostAnswer:
    """Answer a command by a comment."""

    comment: str
    """Id of the command's comment."""
    body: str


@dataclass(frozen=True, slots=True)
class EndCommand:
    """A command needs no comment as its answer, or it stands there."""

    comment: str


@dataclass(frozen=True, slots=True)
class CreateComment:
    """Post the comment with the report; the shell adds the key by which it is found again."""

    body: str
    digest: str
    """See `comment_steps.body_digest`."""


@dataclass(frozen=True, slots=True)
class EditComment:
    """Replace the text of our comment. Where somebody has deleted it, another one is made."""

    comment: str
    body: str
    digest: str


@dataclass(frozen=True, slots=True)
class ReplaceComment:
    """Leave our comment as it is: another one follows it."""

    hide: str
    """Id of the comment, where it is to be hidden."""


@dataclass(frozen=True, slots=True)
class HideComment:
    """Fold an older comment of ours."""

    comment: str


@dataclass(frozen=True, slots=True)
class SetCheck:
    """Set the check on a commit."""

    head: str
    check: ForgeCheck


@dataclass(frozen=True, slots=True)
class LookAgainAt:
    """Look again at this time, in seconds since the epoch."""

    time: float


PullInstruction: TypeAlias = (
    Record
    | AskPermission
    | StartPreview
    | CancelPreview
    | React
    | PostAnswer
    | EndCommand
    | CreateComment
    | EditComment
    | ReplaceComment
    | HideComment
    | SetCheck
    | LookAgainAt
)
