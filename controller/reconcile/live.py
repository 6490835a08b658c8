"""What is live now: the trees that were taken last, and their policy. Set by `SourceReconciler`, read by others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from controller.policy.policy import MinionPolicy, Policy, changed
from gitfs.source import Trees
from highstate.types import Minion

GrainValues: TypeAlias = Mapping[str, Any]

EARLIER = 16
"""Revisions before the live one whose policies are remembered, for minions that are not compiled against it yet."""
_BY_HAND = {"apply": "manual", "verify": "none", "drift.mode": "report"}
_UNKNOWN = Policy(apply="manual", verify="report")
"""Starts nothing by itself."""


@dataclass(slots=True)
class LiveRevision:
    """The live trees and their policy. They are replaced together, and never changed."""

    trees: Trees | None = None
    nodegroups: Mapping[str, Any] = field(default_factory=dict)
    """Of the configuration, which targets of a policy may name."""
    policy: Policy = field(default_factory=Policy)
    event: int = 0
    """Id of the event that told of them."""
    by_hand: Callable[[str], bool] = lambda _: False
    """Whether a minion is visited over ssh, so that nothing is begun there unless somebody asks, or its policy says."""
    visited: Callable[[str], bool] = lambda _: False
    """Whether a minion that is visited over ssh is well while it is not connected."""
    _earlier: dict[str, Policy] = field(default_factory=dict)
    """Digest -> policy of the revisions that were live before, the newest last; nothing from before a restart."""
    _of_minions: dict[str, tuple[Policy, GrainValues, MinionPolicy]] = field(default_factory=dict)
    """Minion -> what was found last, and of what."""

    def take(self, trees: Trees, policy: Policy) -> bool:
        """Make these trees live, with their policy; whether that is another than the one before."""
        changed = self.trees is None or policy != self.policy
        if self.trees is not None:
            self._earlier[self.digest] = self.policy
        self._earlier.pop(trees.revision.digest, None)
        for digest in list(self._earlier)[:-EARLIER]:
            del self._earlier[digest]
        self.trees = trees
        if changed:
            self.policy = policy
        return changed

    def knows(self, attempted: str) -> bool:
        """Whether the policy of a revision is known: of the live one, and of those that were live since the start."""
        return self.trees is not None and (attempted in (self.digest, "") or attempted in self._earlier)

    def policy_for(self, attempted: str) -> Policy:
        """The policy for a minion: that of the revision which it was compiled against, so that a push which lifts
        `apply: manual` does not start what the push replaces. Where that is not known, because the controller was
        started since, nothing starts by itself until the minion is compiled against the live revision.

        Args:
            attempted: digest of the revision that it was compiled against; empty: none, or that of a pull request.
        """
        if self.trees is not None and attempted in (self.digest, ""):
            return self.policy
        return self._earlier.get(attempted, _UNKNOWN)

    def policy_of(
        self, minion: str, attempted: str, grains: GrainValues | None, stored: Callable[[], GrainValues]
    ) -> MinionPolicy:
        """What of it holds for a minion.

        Args:
            minion: its id.
            attempted: as above.
            grains: what it says while it is connected; None: it is not.
            stored: gives what it said last.
        """
        policy = self.policy_for(attempted)
        if self.by_hand(minion):
            return self._policy_by_hand(policy, minion, stored() if grains is None else grains)
        if not policy.policies:
            return policy
        known = self._of_minions.get(minion)
        if (
            known is None
            or known[0] is not policy
            or (grains is not None and grains is not known[1] and grains != known[1])
        ):
            said = stored() if grains is None else grains
            known = self._of_minions[minion] = policy, said, policy.of(Minion(id=minion, grains=said))
        return known[2]

    @staticmethod
    def _policy_by_hand(policy: Policy, minion: str, grains: GrainValues) -> MinionPolicy:
        found = policy.of(Minion(id=minion, grains=grains))
        return found if found.visits == "auto" else changed(found, _BY_HAND)

    @property
    def has_bounds(self) -> bool:
        """Whether a window, a suspension, a shadow or a rollout holds for any minion."""
        policies = (self.policy, *self._earlier.values())
        keys = {"windows", "suspend", "shadow"}
        bounds = (keys & entry.changes.keys() for each in policies for entry in each.policies)
        return any(each.windows or each.applies_nothing or each.rollout for each in policies) or any(bounds)

    @property
    def label(self) -> str:
        """What people call the live revision; empty when there is none."""
        return self.trees.revision.id if self.trees else ""

    @property
    def digest(self) -> str:
        """Digest of the live revision; empty when there is none."""
        return self.trees.revision.digest if self.trees else ""
