"""The report of a preview: what a change of the trees means for the fleet. Versioned, and the same for every output.

Made by `controller.preview`; shown by `controller.report` on the terminal, as Markdown, HTML and comments; kept by the
store. It holds no secret: what is secret is redacted before it comes in here (`controller.observe.redactor`).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from controller.schema.plans import FieldDiff
from controller.schema.previews import MovedSource
from controller.schema.structs import ApiStruct


class FileDiff(ApiStruct, frozen=True, kw_only=True):
    """What changes in the content of one file."""

    path: str
    """On the minion where it is known, else `salt://…`."""
    text: str = ""
    """In the form of `diff -u`; with `⟨name⟩` where minions of the class differ. Empty when only `note` can be said."""
    source: str = ""
    """Path in the tree of the template that `text` is rendered of; empty where it is no template."""
    commit: str = ""
    """Short id and subject of the newest commit of the change that touched the template."""
    note: str = ""
    """`binary, 120 -> 140 bytes`, `too large to be compared here` and their like."""


class PillarKey(ApiStruct, frozen=True, kw_only=True):
    """A key of the pillar that is another in the head."""

    path: str
    """As `pillar.get` takes it: `users:alice:uid`."""
    origin: str = ""
    """file:line in the pillar tree; the files that the change touches there when the line is not known."""
    commit: str = ""
    """Short id and subject of the newest commit of the change that touched the file."""


class ResourceChange(ApiStruct, frozen=True, kw_only=True):
    """What a change does with one state of a minion."""

    action: Literal["added", "changed", "removed", "retriggered"]
    """Shown as `+ ~ - ↻`. Removed: it is not managed any more."""
    key: str
    """The state's tag, for programs; people read `title`."""
    title: str
    """`nginx.conf (file.managed)`."""
    function: str
    """`file.managed`."""
    origin: str = ""
    """file:line of the state's id in the head, of the base where it is removed."""
    commit: str = ""
    """Short id of the newest commit of the change that touched the file of `origin`, and its subject."""
    pillar: tuple[PillarKey, ...] = ()
    """Keys that the state or its template reads, and that are others in the head; the first ones."""
    fields: tuple[FieldDiff, ...] = ()
    """Arguments; of what is added or removed all but requisites."""
    files: tuple[FileDiff, ...] = ()
    triggered_by: tuple[str, ...] = ()
    """Titles of the states that may trigger it."""
    triggers: tuple[str, ...] = ()
    """Titles of the states that it may trigger."""
    irreversible: str = ""
    """Why a revert of the commit does not take it back; empty when it does."""
    comment: str = ""
    """Of drift: its class, and what the check said."""
    place: str = ""
    """Of an irreversible act: path:line of `origin` in the repository that the change moves, for annotations."""
    certainty: Literal["certain", "conditional", "unknown"] = "certain"
    """Conditional: a condition that is evaluated on the machine decides. Unknown: it follows something that nobody
    can foretell."""
    why_uncertain: str = ""
    prune: str = ""
    """Of what is removed: `prune` of the policy of the head, by which what it made is left, reported or removed."""


class Hole(ApiStruct, frozen=True, kw_only=True):
    """A value in which the minions of a class differ."""

    name: str
    """As it stands in the texts: `⟨grains.id⟩`, `⟨value 2⟩`."""
    examples: dict[str, str]
    """Minion -> its value, three at most."""


class LiveTest(ApiStruct, frozen=True, kw_only=True):
    """What a connected minion says about the change (test=True)."""

    minion: str
    outcome: str
    """Of a run, or `unreachable`."""
    run_id: str = ""
    summary: str = ""
    changes: int = 0
    failed: int = 0
    states: dict[str, Any] = msgspec.field(default_factory=dict)
    """Those that this change touches."""
    drift: dict[str, Any] = msgspec.field(default_factory=dict)
    """Those that would change with the base as well."""
    agent: str = ""
    """Of a stock minion, `salt 3008.1`: its Salt foretold this by test=True, which looks at the machine as it is now,
    and states that follow one that would act have `uncertain`. Empty: the minion planned it."""
    missed: dict[str, Any] = msgspec.field(default_factory=dict)
    """Those that the check after the push (`verify: apply`) would find and have applied; where it only may, they have
    `uncertain`: why."""


class ChangeClass(ApiStruct, frozen=True, kw_only=True):
    """Minions for which the head means the same change, but for the values in `holes`."""

    id: str
    """Short digest of the change, stable over previews."""
    minions: tuple[str, ...]
    """Sorted."""
    folded: str
    """The same for people: `web[1-40], db1`, or the glob that matches just these."""
    resources: tuple[ResourceChange, ...]
    note: str = ""
    """Why there is no resource, or not all of them; else empty."""
    holes: tuple[Hole, ...] = ()
    tests: tuple[LiveTest, ...] = ()
    sampled: int = 0
    """How many of the class were asked."""


class MinionErrors(ApiStruct, frozen=True, kw_only=True):
    """Minions with the same problem."""

    minions: tuple[str, ...]
    folded: str
    texts: tuple[str, ...]
    """Errors with file, line and excerpt; names of functions; warnings."""
    places: tuple[str, ...] = ()
    """path:line of each text in the repository that the change moves, where it has one there; for annotations."""


class ServiceRestart(ApiStruct, frozen=True, kw_only=True):
    """A service that restarts or stops."""

    service: str
    action: Literal["restart", "reload", "start", "stop"]
    minions: tuple[str, ...]
    folded: str
    certain: bool = True
    whole_groups: tuple[str, ...] = ()
    """`role web (12 minions)`: groups of which every minion does so."""


class ApplyTiming(ApiStruct, frozen=True, kw_only=True):
    """What decides when the change is applied."""

    kind: Literal["manual", "paused", "offline", "policy", "whole", "pending", "second-run"]
    text: str
    minions: tuple[str, ...] = ()
    folded: str = ""
    """The same for people, as in `ChangeClass`."""


class Violation(ApiStruct, frozen=True, kw_only=True):
    """A rule of the policy that the change breaks."""

    rule: str
    """Its key in saltern.yaml: `previews.max_minions`."""
    message: str
    approvable: bool = False
    """Whether `/saltern approve` takes it away."""


class Capability(ApiStruct, frozen=True, kw_only=True):
    """Something that the change newly lets the trees do."""

    kind: Literal["renderer", "python", "command", "remote", "secret", "function"]
    text: str
    origin: str = ""


class PreviewReport(ApiStruct, frozen=True, kw_only=True):
    """All that is known of a change before it is made."""

    kind: Literal["preview", "plan", "pending"] = "preview"
    """Of a change that is proposed; from one revision to another; what the fleet has not applied yet."""
    controller: str = ""
    environment: str = "base"
    made_at: float
    """Seconds since the epoch."""
    seconds: float = 0.0
    base: str
    """Whole commit that the head is compared with."""
    head: str
    """Whole commit that is previewed."""
    merged: bool = False
    """Whether the head was compared as the forge would merge it into the base; else by itself."""
    restricted: bool = False
    """Whether it was compiled as a stranger's: no Python of the tree, dummies for secrets, no test run."""
    answers_at: float = 0.0
    """Seconds since the epoch: the oldest recorded answer of a machine that it may stand on, where machines were not
    asked anew; 0: none."""
    moved: tuple[MovedSource, ...] = ()
    minions: int
    changed: int = 0
    unchanged: int = 0
    classes: tuple[ChangeClass, ...] = ()
    broken: tuple[MinionErrors, ...] = ()
    """The head does not compile."""
    unknown: tuple[MinionErrors, ...] = ()
    """It needs answers of machines that nobody gave."""
    warned: tuple[MinionErrors, ...] = ()
    """Warnings that the base does not have."""
    restarts: tuple[ServiceRestart, ...] = ()
    timing: tuple[ApplyTiming, ...] = ()
    violations: tuple[Violation, ...] = ()
    capabilities: tuple[Capability, ...] = ()
    drift: tuple[ChangeClass, ...] = ()
    """Of what is pending: what drifted, by classes of the same drift."""
    notes: tuple[MinionErrors, ...] = ()
    """Of what is pending: what policy ignores, and what no state names any more."""
    problems: tuple[str, ...] = ()
    """What concerns the whole change: a saltern.yaml that cannot be used, a conflict, a limit that was reached."""

    @property
    def broken_minions(self) -> int:
        """For which the head does not compile."""
        return sum(len(each.minions) for each in self.broken)

    @property
    def unknown_minions(self) -> int:
        """Of which nobody knows what the head means."""
        return sum(len(each.minions) for each in self.unknown)

    @property
    def irreversible(self) -> int:
        """Resources that a revert does not take back, each counted on every minion."""
        return sum(len(each.minions) for each in self.classes for resource in each.resources if resource.irreversible)


class ReportPage(ApiStruct, frozen=True, kw_only=True):
    """A report as a browser or program gets it."""

    content: bytes
    media_type: str
    policy: str
    """Content security policy."""


class ClassOutcome(ApiStruct, frozen=True, kw_only=True):
    """What became of one class of a report when the change was merged. Each minion of it is in one of the lists."""

    id: str
    """Of the `ChangeClass`."""
    applied: tuple[str, ...] = ()
    """As the preview said."""
    differs: dict[str, str] = msgspec.field(default_factory=dict)
    """Minions that applied it, and did something else than the preview said: what."""
    failed: dict[str, str] = msgspec.field(default_factory=dict)
    """Minions whose run failed: the summary of the run."""
    waiting: tuple[str, ...] = ()
    """Without a finished run yet."""
    others: dict[str, str] = msgspec.field(default_factory=dict)
    """Minions of the lists before whose run also did what a pull request foretold that was merged together with it."""
    others_failed: tuple[str, ...] = ()
    """Those of `failed` where only states failed that such a pull request foretold, and this one did not."""


class MergeOutcome(ApiStruct, frozen=True, kw_only=True):
    """What happened after the merge of a change that was previewed."""

    commit: str
    """That the merge made."""
    revision: str = ""
    """Label of the first revision with that commit; empty while there is none."""
    at: float
    """Seconds since the epoch: when this was found."""
    classes: tuple[ClassOutcome, ...] = ()
    complete: bool = False
    """Nothing more is waited for."""


class ApplyOutcome(ApiStruct, frozen=True, kw_only=True):
    """What became of a head that was applied before its merge."""

    head: str
    """Whole commit."""
    user: str
    """Who asked for it."""
    until: float
    """When minions go back at the latest, in seconds since the epoch."""
    canary: bool = False
    minions: int
    classes: tuple[ClassOutcome, ...] = ()
    """Those of the report with minions to which it was applied, when the report is about this head."""
    complete: bool = False
    """Nothing more is waited for."""
    released: str = ""
    """Why it was taken back; empty: it is held."""
