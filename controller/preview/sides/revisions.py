"""The trees of what people call a revision: what is live, a branch or tag, a revision that was live, a commit.

A revision is a set of sources: its label or commit, as history shows it, brings back where all remotes stood then. Any
other commit is shown by the remotes that have it, beside what is live of the others. Called in a thread.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.reconcile.live import LiveRevision
from controller.reconcile.revision_sources import commits_of
from controller.schema.errors import ServiceError
from controller.store import RevisionRecord, Store
from gitfs.source import Source, Trees

_MOST_REVISIONS = 1000
_SHORTEST = 4
"""Characters of a label or commit that name a revision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionTrees:
    """Finds the trees of revisions."""

    source: Source
    store: Store
    live: LiveRevision

    def of(self, name: str) -> Trees:
        """The trees; empty: what is live. UnknownRef: nothing has this name; ServiceError: nothing is live."""
        if not name:
            if self.live.trees is None:
                raise ServiceError("conflict", "nothing is live yet", hint="`saltern remote list` says why")
            return self.live.trees
        known = None if name in self.source.names() else self._known(name)
        if known is None:
            return self.source.at(name)
        if self.live.trees is not None and known.digest == self.live.digest:
            return self.live.trees
        if not (commits := commits_of(known)):
            raise ServiceError("conflict", f"{known.label} is of local folders alone, which have no history")
        return self.source.pinned(commits)

    def _known(self, name: str) -> RevisionRecord | None:
        """The newest revision with this label, else with a label or commit that begins so."""
        found = self.store.revisions.newest_of(_MOST_REVISIONS)
        exact = next((each for each in found if each.label == name), None)
        if exact is not None or len(name) < _SHORTEST:
            return exact
        return next((each for each in found if each.label.startswith(name) or each.commit.startswith(name)), None)
