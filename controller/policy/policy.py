"""The types of saltern.yaml: how a push is applied and drift is handled, as data in git, beside the base top.sls.

`MinionPolicy` is what holds for one minion. A `Policy` is that of a revision: what holds for all minions, and the
entries of `policies`, which change that for those that their targets mean (`Policy.of`).

`reading` makes it of a tree; docs/policy.md has every key.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import msgspec

from controller.policy.notifications import NotificationPolicy
from controller.policy.rollout import RolloutPolicy
from highstate.compile_options import MissingSource
from highstate.run.ignoring import IgnoreRule
from highstate.targeting.match import match_minion
from highstate.targeting.targeted_beacons import TargetedBeacons
from highstate.types import Minion
from reactors.controller_jobs import ControllerJobs
from reactors.events import tag_matches
from reactors.remediation import RetryPolicy
from reactors.rules.native_rule import NativeRules
from reactors.rules.reactor_map import ReactorMap
from reactors.schedule import BadSchedule, parse_schedule
from reactors.windows import Window

_FEW = msgspec.Meta(max_length=100)
_Glob: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
LEAST_AUTONOMY = 1.0
"""Seconds."""


class DriftPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What minions do to find drift, and what is done about it. Times in seconds."""

    mode: Literal["report", "remediate"] = "report"
    interval: float = 1800.0
    splay: float = 60.0
    cron: str = ""
    """Takes the place of `interval` when it is not empty."""
    timezone: str = ""
    """Whose clocks `cron` follows, as `Europe/Berlin`; empty: those of each minion."""
    watch: bool = False
    """Whether minions also check a file or service as soon as somebody else changes it."""
    autonomy: float | bool = 300.0
    """Seconds without a controller after which a minion remediates by itself; False: it never does."""

    def schedule(self) -> dict[str, float | str | bool]:
        """As the desired document carries it (`minion.agent.drift`); BadSchedule when it cannot be followed."""
        schedule: dict[str, float | str | bool] = {}
        if self.cron:
            schedule = {"cron": self.cron, "splay": self.splay}
            schedule |= {"timezone": self.timezone} if self.timezone else {}
        elif self.timezone:
            raise BadSchedule("timezone says how the times of cron are read, and there is no cron")
        elif self.interval > 0:
            schedule = {"interval": self.interval, "splay": self.splay}
        parse_schedule(schedule)
        return {**schedule, "watch": True} if self.watch else schedule


def check_autonomy(drift: DriftPolicy) -> None:
    """ValueError for what is neither a time nor `false`."""
    if drift.autonomy is True or (drift.autonomy is not False and drift.autonomy < LEAST_AUTONOMY):
        raise ValueError(
            f"drift.autonomy: a time from {LEAST_AUTONOMY:g} s on is wanted, such as `5m`, or `false` for never"
        )


class IgnoredDifference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of `ignore_differences`: what may differ, and for how long."""

    state: _Glob = "*"
    """State function, a glob."""
    id: _Glob = "*"
    """ID or name of the state, a glob."""
    field: _Glob = "*"
    """Attribute of `changes`, a glob."""
    expires: datetime.date | None = None
    """Last day on which it holds, UTC."""
    reason: Annotated[str, msgspec.Meta(max_length=500)] = ""

    def rule(self) -> IgnoreRule:
        """As minions have it."""
        day = self.expires.isoformat() if self.expires else ""
        return IgnoreRule(state=self.state, id=self.id, field=self.field, expires=day, reason=self.reason)

    def text(self) -> str:
        """It in a few words."""
        said = [f"{name} {value!r}" for name in ("state", "id", "field") if (value := getattr(self, name)) != "*"]
        return ", ".join(said) + (f", until {self.expires.isoformat()}" if self.expires else "")


class EventPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept of events."""

    durable: Annotated[tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=255)], ...], _FEW] = ()
    """Globs of tags whose events are on disk before anybody sees them, and are all answered by reactors."""

    def is_durable(self, tag: str) -> bool:
        """Whether events of a tag are durable."""
        return any(tag_matches(pattern, tag) for pattern in self.durable)


_TOP = "top"


class PreviewPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What previews of pull requests check, and what may be done there. That of the base holds, never of the head."""

    live: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 2
    """Connected minions of each class of change that are asked for a test run; 0: none."""
    max_minions: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Minions that a change may concern."""
    forbid: tuple[str, ...] = ()
    """State functions (globs) that a change may not add, change or trigger."""
    irreversible: Literal["allow", "approve"] = "allow"
    """Whether what a revert does not take back needs an approval."""
    whole_group: Literal["allow", "approve"] = "allow"
    """Whether a restart or stop of a service on all minions of a group needs an approval."""
    strangers: Literal["none", "restricted"] = "none"
    """What a pull request of somebody without write access gets before a maintainer asks for its preview."""
    public_pillar: tuple[str, ...] = ()
    """Keys of the pillar (paths with `:`, each part a glob) that strangers may see, with all below them."""
    comment: Literal["update", "new", "hide-and-new"] = "update"
    """What happens to the comment of an earlier preview."""
    apply: bool = False
    """Whether people with write access may apply a pull request before its merge."""
    canary: int | str = 1
    """Minions of each class of change that `/saltern apply --canary` begins with: a number, or a percentage as text."""
    apply_hold: Annotated[float, msgspec.Meta(ge=1, le=7 * 86400)] = 3600.0
    """Seconds until minions that a pull request was applied to go back, unless it is merged."""
    drafts: bool = True
    """Whether drafts are previewed before somebody with write access asks for it."""
    groups: str | tuple[str, ...] = ("role", "roles")
    """Grains whose values are groups of minions, beside the nodegroups; `top` for the targets of the top file."""

    def canaries_of(self, minions: int) -> int:
        """How many of so many minions of a class are canaries, at least one. ValueError when `canary` is neither."""
        if isinstance(self.canary, int) and not isinstance(self.canary, bool) and self.canary >= 1:
            return min(minions, self.canary)
        share = re.fullmatch(r"(\d{1,3})\s*%", self.canary) if isinstance(self.canary, str) else None
        if share is None or not 1 <= int(share[1]) <= 100:
            raise ValueError(f"previews.canary: {self.canary!r} is no number from 1 and no percentage from 1% to 100%")
        return max(1, math.ceil(minions * int(share[1]) / 100))

    @property
    def group_grains(self) -> tuple[str, ...]:
        """The grains of `groups`."""
        groups = (self.groups,) if isinstance(self.groups, str) else self.groups
        return tuple(name for name in groups if name != _TOP)

    @property
    def group_targets(self) -> bool:
        """Whether the targets of the top file are groups, too."""
        return _TOP in ((self.groups,) if isinstance(self.groups, str) else self.groups)


class MinionPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds for one minion."""

    apply: Literal["auto", "manual", "confirm"] = "auto"
    """`confirm`: applied at once, and taken back unless somebody confirms it."""
    confirm: Annotated[float, msgspec.Meta(ge=1, le=7 * 86400)] = 900.0
    """Seconds that people have for that."""
    push: Literal["changed", "whole"] = "changed"
    verify: Literal["apply", "report", "none"] = "apply"
    """What a minion does when it has applied a part: plan the whole once, and apply or report what was missed."""
    drift: DriftPolicy = DriftPolicy()
    retry: RetryPolicy = RetryPolicy()
    windows: Annotated[tuple[Window, ...], _FEW] = ()
    suspend: bool = False
    """Whether nothing is applied, as if each minion were paused."""
    shadow: bool = False
    """Whether the minion is only looked at: nothing is applied, by nobody, and what only looks may be called there."""
    ignore_differences: Annotated[tuple[IgnoredDifference, ...], _FEW] = ()
    """What is no drift, and is not put right."""
    visits: Literal["manual", "auto"] = "manual"
    """Whether a machine of the roster is visited over ssh only when somebody asks, or also for pushes and drift."""
    prune: Literal["off", "report", "on"] = "report"
    """What becomes of that which states brought into being and that git no longer names."""
    prune_limit: int | str | None = None
    """More resources than this number, or percentage of all, are not removed; None: 20, and a quarter of all."""

    @property
    def applies_nothing(self) -> bool:
        """Whether nothing is applied until the policy is another one."""
        return self.suspend or self.shadow

    def drift_document(self) -> dict[str, Any]:
        """What the desired document says about drift; BadSchedule when its schedule cannot be followed."""
        rules = [each.rule().as_plain() for each in self.ignore_differences]
        ignored, shadow = {"ignore": rules} if rules else {}, {"shadow": True} if self.shadow else {}
        return {**self.drift.schedule(), **ignored, **self._prune_document(), **shadow}

    def _prune_document(self) -> dict[str, Any]:
        """What it says of pruning; nothing where that is the default."""
        if self.prune == "report" and self.prune_limit is None:
            return {}
        limit = {} if self.prune_limit is None else {"limit": self.prune_limit}
        return {"prune": {"mode": self.prune, **limit}}


def check_prune_limit(limit: int | str | None) -> None:
    """ValueError for what is neither a number nor a percentage."""
    if isinstance(limit, int) and limit >= 0:
        return
    share = re.fullmatch(r"(\d{1,3})\s*%", limit) if isinstance(limit, str) else None
    if limit is not None and (share is None or int(share[1]) > 100):
        raise ValueError(f"prune_limit: {limit!r} is neither a number nor a percentage from 0% to 100%")


class TargetedPolicy(NamedTuple):
    """An entry of `policies`."""

    name: str
    target: str
    """As it is written."""
    expression: str
    """The same with nodegroups written out."""
    changes: Mapping[str, Any]
    """Key (`apply`, `drift.mode`) -> value. `windows` and `ignore_differences` are added to those that hold already."""
    line: int
    """Where it is in saltern.yaml."""

    def concerns(self, minion: Minion) -> bool:
        """Whether the target means a minion."""
        return match_minion(self.expression, minion)


class Policy(MinionPolicy, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The policy of a revision."""

    facts: tuple[str, ...] = ()
    """Functions (globs) that templates may ask of minions beside those that only look."""
    missing_source: MissingSource = "refuse"
    """What a salt:// source that is not in the tree does: the minion's compile fails, or the state does there."""
    previews: PreviewPolicy = PreviewPolicy()
    events: EventPolicy = EventPolicy()
    reactor: ReactorMap = ReactorMap()
    """Which SLS of the tree answer which events."""
    rules: NativeRules = NativeRules()
    """Native rules: events answered by typed calls."""
    schedule: ControllerJobs = msgspec.field(default_factory=ControllerJobs)
    """What the controller runs at times."""
    beacons: tuple[TargetedBeacons, ...] = ()
    """Beacons of minions."""
    rollout: RolloutPolicy | None = None
    """In which order a push is applied, and on which conditions; None: everywhere at once."""
    notifications: NotificationPolicy = NotificationPolicy()
    """What is notified of, and who gets it."""
    policies: tuple[TargetedPolicy, ...] = ()
    """What is other for some minions; of two that say the same key the later one counts."""

    def of(self, minion: Minion) -> MinionPolicy:
        """What holds for a minion."""
        found: MinionPolicy = self
        for entry in self.policies:
            if entry.concerns(minion):
                found = changed(found, entry.changes)
        return found


def changed(policy: MinionPolicy, changes: Mapping[str, Any]) -> MinionPolicy:
    """A policy with the changes of an entry.

    An interval of drift checks takes the place of an earlier cron expression; windows and ignored differences are
    added, and nothing takes a
    suspension back: what forbids something is not lifted by an entry that says nothing of it.
    """
    drift = {key.removeprefix("drift."): value for key, value in changes.items() if key.startswith("drift.")}
    retry = {key.removeprefix("retry."): value for key, value in changes.items() if key.startswith("retry.")}
    if "interval" in drift and "cron" not in drift:
        drift |= {"cron": "", "timezone": ""}
    return MinionPolicy(
        apply=changes.get("apply", policy.apply),
        confirm=changes.get("confirm", policy.confirm),
        push=changes.get("push", policy.push),
        verify=changes.get("verify", policy.verify),
        drift=msgspec.structs.replace(policy.drift, **drift),
        retry=msgspec.structs.replace(policy.retry, **retry),
        windows=(*policy.windows, *changes.get("windows", ())),
        suspend=policy.suspend or changes.get("suspend", False),
        shadow=changes.get("shadow", policy.shadow),
        ignore_differences=(*policy.ignore_differences, *changes.get("ignore_differences", ())),
        visits=changes.get("visits", policy.visits),
        prune=changes.get("prune", policy.prune),
        prune_limit=changes.get("prune_limit", policy.prune_limit),
    )
