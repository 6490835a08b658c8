"""What one look at a pull request sees, and what can be decided of it: the nouns of `decision`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from controller.forges.client import ForgeCheck, ForgeComment, Permission, PullRequest, Reaction
from controller.policy.policy import PreviewPolicy
from controller.preview.live.head_documents import HeadDocuments
from controller.pull_requests.keys import CommentKeys
from controller.schema.reports import ApplyOutcome, MergeOutcome, PreviewReport
from controller.store import HoldRecord
from controller.store.pull_requests import Previewed, PullRecord


@dataclass(frozen=True, slots=True)
class Say:
    """An event to publish: what happened, in the log that people audit."""

    what: str
    """The end of the tag."""
    data: Mapping[str, Any] = field(default_factory=dict)


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
    policy: PreviewPolicy = field(default_factory=PreviewPolicy)
    """What the base allows."""
    manual: bool = False
    """Whether the base's policy leaves it to people when something is applied."""
    again_seconds: float = 600.0
    """At least between the beginnings of two previews of a head whose base moves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningPreview:
    """A preview that waits or is made."""

    preview: Previewed
    command: str = ""
    """Id of the comment that asked for it with a target; empty: it is for the comment and the check."""
    minions: tuple[str, ...] = ()
    """Not a preview, but the documents of the head for these minions, to be applied."""
    again: bool = False
    """Only the base has moved since the one before: all others are made first."""
    head_at: float = 0.0
    """When the head was first seen, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class ReadyDocuments:
    """The documents of the head for a command to apply it."""

    command: str
    """Id of the command's comment."""
    documents: HeadDocuments


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
    holds: Sequence[HoldRecord] = ()
    """What minions hold of this pull request."""
    held_by_others: Mapping[str, str] = field(default_factory=dict)
    """Minions that hold another one -> its name."""
    merged_minions: frozenset[str] = frozenset()
    """Of those that hold it: what is live for them has the merge in it."""
    connected: frozenset[str] = frozenset()
    """Minions that are connected."""
    ready: ReadyDocuments | None = None
    """What is to be applied, when it was compiled."""
    applied: ApplyOutcome | None = None
    """What became of what was applied."""


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
class PlaceHolds:
    """Have minions hold documents of the head, and keep this record with that."""

    holds: tuple[HoldRecord, ...]
    documents: HeadDocuments
    record: PullRecord
    said: tuple[Say, ...]


@dataclass(frozen=True, slots=True)
class ReleaseHolds:
    """Have minions go back to what is live."""

    holds: tuple[HoldRecord, ...]
    why: str


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
    | PlaceHolds
    | ReleaseHolds
    | LookAgainAt
)
