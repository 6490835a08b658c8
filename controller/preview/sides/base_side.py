"""What the head is compared with on a minion, and what a merge would run there. Pure.

A merge takes a minion from what it has applied to the head. Where the base is live, compiles and is applied, that is
the base. Where the base does not compile, or was refused, it is what was applied before. Where the last run failed, or
policy says `push: whole`, everything is run. Called by `comparison`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from controller.policy.policy import MinionPolicy, Policy
from controller.reconcile.links import links_of
from controller.reconcile.observation import GOOD
from controller.reconcile.plan import FindLinks, PushPlan, plan
from controller.store import StatusRow
from highstate.desired import Desired
from highstate.types import Minion

PUSH_WHOLE = "push: whole in saltern.yaml"
FAILED = "their last run failed"
NEVER_APPLIED = "nothing was applied there yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedSide:
    """What a minion has."""

    digest: str = ""
    """Of the document that it applied last; empty when there is none."""
    pending: bool = False
    """Whether it was told another one since."""
    released: bool = False
    """Whether that waits for `saltern sync` now, and is applied by itself under the policy of the head."""
    whole: str = ""
    """Why the next push runs all of its states; empty: it runs what changes."""
    checked: bool = False
    """Whether what a push of a part has missed is applied after it, by the policy of the head."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseSide:
    """The base of a preview, for all minions."""

    live: bool
    """Whether the base is what minions are told now, or was refused in favour of that."""
    refused: bool
    """Whether its saltern.yaml cannot be used, so that nothing of it ever went live."""
    applied: Mapping[str, AppliedSide]
    """By minion."""
    document: Callable[[str], Desired | None]
    """Applied documents by digest."""

    def is_applied(self, minion: str, digest: str) -> bool:
        """Whether a merge that leaves this document as it is leaves the minion as it is."""
        applied = self.applied.get(minion, AppliedSide())
        return not self.refused and not self.is_released(minion) and not _outdated(self, applied, digest)

    def is_checked(self, minion: str) -> bool:
        """Whether what a push of a part has missed there is applied after it."""
        return self.applied.get(minion, AppliedSide()).checked

    def is_released(self, minion: str) -> bool:
        """Whether a merge has what waits applied, even if it changes nothing else."""
        return self.live and self.applied.get(minion, AppliedSide()).released


def applied_side(row: StatusRow, minion: Minion, live: Policy, policy: Policy) -> AppliedSide:
    """What is known of a minion; `live`: the policy that holds, `policy`: that of the head."""
    now, then = live.of(minion), policy.of(minion)
    checked = then.verify == "apply"
    if row.hold is not None:
        return AppliedSide(checked=checked)  # what it has now is taken back before anything else is applied
    applied = row.applied.digest if row.applied else ""
    whole = ""
    if not applied:
        whole = NEVER_APPLIED
    elif row.last_run is not None and row.last_run.outcome not in GOOD:
        whole = FAILED
    elif then.push == "whole":
        whole = PUSH_WHOLE
    pending = is_pending(row)
    released = pending and not row.minion.paused and lifts_manual(now, then)
    return AppliedSide(digest=applied, pending=pending, released=released, whole=whole, checked=checked)


def is_pending(row: StatusRow) -> bool:
    """Whether the minion was told another document than it has applied."""
    return row.desired is not None and row.desired.digest != (row.applied.digest if row.applied else "")


def lifts_manual(live: MinionPolicy, policy: MinionPolicy) -> bool:
    """Whether what waits for a person is applied by itself once this policy is live; both of one minion."""
    return (live.apply == "manual" or live.applies_nothing) and policy.apply != "manual" and not policy.applies_nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePlan:
    """What a merge means for one minion."""

    shown: PushPlan
    """What the head changes."""
    old: Desired | None
    """What it is compared with."""
    old_digest: str
    keys: tuple[str, ...]
    """States that the merge would run."""
    whole: str = ""
    """Why these are all; empty where they are not."""

    @property
    def empty(self) -> bool:
        """Nothing is run and nothing is other."""
        return self.shown.empty and not self.keys


def merge_plan(
    minion: str,
    side: BaseSide,
    base: tuple[str, Desired] | None,
    head: tuple[str, Desired],
    links_in: FindLinks = links_of,
) -> MergePlan:
    """What a merge would do.

    Args:
        minion: whose.
        side: what is known of the base.
        base: digest and document of the base; None where it does not compile.
        head: those of the head.
        links_in: finds the links of a document's chunks.
    """
    applied = side.applied.get(minion, AppliedSide())
    if side.refused:
        base = None
    before = _applied(side, applied) if base is None or _outdated(side, applied, base[0]) else None
    digest, old = (applied.digest, before) if before is not None else (base or ("", None))
    shown = plan(old, head[1], links_in)
    if digest == head[0] and not side.is_released(minion):
        return MergePlan(shown=shown, old=old, old_digest=digest, keys=shown.run)
    if applied.whole and side.live:
        return MergePlan(shown=shown, old=old, old_digest=digest, keys=tuple(head[1].chunks), whole=applied.whole)
    keys = shown.run
    runs = bool(keys) or side.is_released(minion)
    if side.live and applied.pending and runs and (held := _applied(side, applied)) is not None:
        keys = plan(held, head[1], links_in).run  # what is pending runs with it
    return MergePlan(shown=shown, old=old, old_digest=digest, keys=keys)


def _outdated(side: BaseSide, applied: AppliedSide, base: str) -> bool:
    """Whether the base compiles to something else by now than what was made and applied of it: answers are new."""
    return side.live and bool(applied.digest) and not applied.pending and not applied.whole and applied.digest != base


def _applied(side: BaseSide, applied: AppliedSide) -> Desired | None:
    return side.document(applied.digest) if applied.digest else None
