"""What is live now: the trees that were taken last, and their policy. Set by `SourceReconciler`, read by others."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.reconcile.policy import Policy
from gitfs.source import Trees


@dataclass(slots=True)
class LiveRevision:
    """The live trees and their policy. They are replaced together, and never changed."""

    trees: Trees | None = None
    policy: Policy = field(default_factory=Policy)
    followed: Policy | None = None
    """The policy of the newest revision that everybody was compiled against; None: there was none yet."""

    def policy_for(self, attempted: str) -> Policy:
        """The policy for a minion: until it is compiled against the live revision, that of the one before holds, so
        that a push which lifts `apply: manual` does not start what the push replaces.

        Args:
            attempted: digest of the revision that it was compiled against.
        """
        return self.policy if self.followed is None or attempted == self.digest else self.followed

    @property
    def digest(self) -> str:
        """Digest of the live revision; empty when there is none."""
        return self.trees.revision.digest if self.trees else ""
