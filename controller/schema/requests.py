"""What can be asked of the API: bodies and queries. Made by `controller.cli`, read by `controller.api.resources`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from controller.schema.structs import Identifier, RowNumber
from controller.schema.targets import TargetExpression, TargetKind


class _Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class KeysQuestion(_Question, frozen=True, kw_only=True):
    """Accept, reject or delete these keys: ids, globs or fingerprints."""

    names: tuple[str, ...]


class EnrolmentTokensQuestion(_Question, frozen=True, kw_only=True):
    """Revoke these enrolment tokens."""

    ids: tuple[str, ...]


class RotateQuestion(_Question, frozen=True, kw_only=True):
    """Rotate the key of this minion."""

    minion: str


class RotateControllerQuestion(_Question, frozen=True, kw_only=True):
    """Make the controller's next key."""


class RemotesQuestion(_Question, frozen=True, kw_only=True):
    """Fetch these remotes, by name or URL; all when none is named."""

    names: tuple[str, ...] = ()


class TargetQuestion(_Question, frozen=True, kw_only=True):
    """Pause or resume these minions."""

    target: TargetExpression


class UnapplyQuestion(_Question, frozen=True, kw_only=True):
    """Have minions go back from a pull request to what is live."""

    pull: str
    """`PROJECT#NUMBER`, or `FORGE:PROJECT#NUMBER`."""
    target: TargetExpression | None = None
    """None: all that hold it."""


class CallQuestion(_Question, frozen=True, kw_only=True):
    """`saltern run`."""

    target: TargetExpression
    fun: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    timeout: float = 30.0
    """Seconds to wait for returns. The job goes on after that."""
    limit: float = 0.0
    """Seconds after which minions end the job; 0: none."""
    wait: bool = True
    """Whether to wait at all."""
    progress: bool = False
    """Whether to tell how far runs of states are, before they return."""
    subset: int = 0
    """So many of the connected minions, by chance; 0: all."""
    batch: str = ""
    """How many minions at a time: a number, or a part of all as `10%`; empty: all."""
    batch_wait: float = 0.0
    """Seconds between the return of a minion and the one that takes its place."""
    failhard: bool = False
    """Whether no more minions of a batch begin after one that failed."""
    ret: tuple[str, ...] = ()
    """Returners that get what minions return, beside those of the configuration."""
    ret_config: str = ""
    """The profile of their options."""
    ret_kwargs: dict[str, Any] = {}
    """Options above those of the configuration."""
    metadata: dict[str, Any] = {}
    """Kept with the job, and told in its events."""


class RunnerQuestion(_Question, frozen=True, kw_only=True):
    """`saltern runner` and `saltern wheel`."""

    kind: Literal["runner", "wheel"] = "runner"
    fun: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    timeout: float = 0.0
    """Seconds to wait, 0 for as long as it takes. The call goes on after that."""
    wait: bool = True
    """Whether to wait at all."""


class SyncQuestion(_Question, frozen=True, kw_only=True):
    """`saltern sync`."""

    target: TargetExpression
    whole: bool = False
    test: bool = False
    progress: bool = False
    """As for `saltern run`."""


class PreviewQuestion(_Question, frozen=True, kw_only=True):
    """`saltern preview`, and the comparison of two revisions."""

    base: str
    head: str
    target: TargetExpression | None = None
    live: Literal["none", "sample", "all"] = "sample"
    """Which of the connected minions that would change are asked for a test run: a few of each class, or all."""
    merge: bool = False
    """Compare with the head as merged into the base."""
    restricted: bool = False
    """Compile it as a stranger's: no Python of the tree, dummies for secrets, no test run whatever `live` is."""
    revisions: bool = False
    """`saltern diff --rev`: base and head are revisions, as history shows them, too; an empty one is what is live.
    It is a comparison: no rule of a policy is checked."""


class StatusQuery(_Question, frozen=True, kw_only=True):
    """`saltern status`, and `saltern diff` of many minions: a target, or all."""

    expression: str | None = None
    kind: TargetKind = "glob"

    @property
    def target(self) -> TargetExpression | None:
        """None: all."""
        return None if self.expression is None else TargetExpression(kind=self.kind, expression=self.expression)


class DiffQuery(_Question, frozen=True, kw_only=True):
    """`saltern diff`."""

    minion: Identifier | None = None


class HistoryQuery(_Question, frozen=True, kw_only=True):
    """`saltern history`."""

    minion: Identifier | None = None
    kind: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """One of these, with commas between them: `apply,remediate`."""
    outcome: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """The same: `failed,error`."""
    before: Identifier = ""
    """Only those that were made before this run (its id): the next page."""
    limit: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 20
    causes: bool = False
    """With plan, approvals and chain of causes."""


class CompileQuery(_Question, frozen=True, kw_only=True):
    """`saltern show`; of a minion."""

    minion: Identifier


class EventsQuery(_Question, frozen=True, kw_only=True):
    """`saltern events`."""

    tag: Annotated[str, msgspec.Meta(max_length=1000)] = "*"
    match: Literal["glob", "regex", "exact"] = "glob"
    """What `tag` is; a regular expression is found anywhere in a tag."""
    after: RowNumber = 0
    """Id of an event: what is kept of the events after it comes first. Counts instead of `since`."""
    since: Annotated[float, msgspec.Meta(ge=0.0)] = 0.0
    """Seconds: events that are kept from so long ago come first."""
    follow: bool = True
    """Whether what happens from now on comes, too."""


class WhyQuery(_Question, frozen=True, kw_only=True):
    """`saltern why`."""

    minion: Identifier
    state: Annotated[str, msgspec.Meta(max_length=1000)] | None = None
    """ID or name of a state, a glob."""


class BlameQuery(_Question, frozen=True, kw_only=True):
    """`saltern blame`."""

    minion: Identifier
    state: Annotated[str, msgspec.Meta(max_length=1000)]
    """ID or name of a state, a glob."""


class PolicyQuery(_Question, frozen=True, kw_only=True):
    """`saltern policy explain`."""

    minion: Identifier


class RunQuery(_Question, frozen=True, kw_only=True):
    """`saltern show`; the beginning of an id is enough."""

    id: Annotated[Identifier, msgspec.Meta(min_length=1)]
