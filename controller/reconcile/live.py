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

    @property
    def digest(self) -> str:
        """Digest of the live revision; empty when there is none."""
        return self.trees.revision.digest if self.trees else ""
