"""What minions have applied and what they shall have, as two sides of a comparison: both from the store.

Nothing is compiled but the templates of files, whose texts are rendered with the trees of either side. Called by
`pending`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

from controller.compilation.compile_messages import CompiledMinion
from controller.compilation.workers.budget import CompileBudget
from controller.preview.contents.sides import rendered_sides
from controller.preview.pairs import Pair, SideCompiles
from controller.preview.sides.batches import TOGETHER
from controller.reconcile.revision_sources import commits_of
from controller.store import MinionRecord, StatusRow
from gitfs.errors import GitfsError
from gitfs.source import Source, Trees
from highstate.types import Pos, Problem

_MOST_REVISIONS = 20
"""Applied ones whose trees are looked for; texts of further ones are not rendered."""
_NOTHING_APPLIED = Problem(message="nothing was applied there yet", pos=Pos(file=""))


@dataclass(slots=True, kw_only=True)
class AppliedDocuments:
    """Pairs of documents.

    Args:
        sides: compiles texts.
        source: has the trees of applied revisions.
        live: the trees that are live.
    """

    sides: SideCompiles
    source: Source
    live: Trees
    _trees: dict[str, Trees] = field(default_factory=dict)

    async def pairs(self, rows: Iterable[StatusRow], records: Mapping[str, MinionRecord]) -> AsyncGenerator[Pair, None]:
        """Both sides of these minions, in batches of the same applied revision."""
        sides, limits = self.sides, self.sides.limits
        budget = CompileBudget(limits.timeouts, limits.waiting_bytes)
        known = [row for row in rows if row.minion.id in records]
        for revision, group in groupby(sorted(known, key=_applied_revision), key=_applied_revision):
            some = list(group)
            old = await sides.threads.run(self._trees_of, revision)
            for start in range(0, len(some), TOGETHER):
                batch = some[start : start + TOGETHER]
                bases, heads = await sides.threads.run(self._documents, batch, budget)
                asked = [records[row.minion.id] for row in batch]
                requests = sides.requests.request(old, asked), sides.requests.request(self.live, asked)
                yield bases, heads, partial(rendered_sides, sides.compiles, requests, budget)
                budget.release((*bases, *heads))

    def _trees_of(self, revision: str) -> Trees:
        """The trees of an applied revision; what is live where they cannot be had: then its texts are not shown."""
        if revision not in self._trees:
            commits = commits_of(self.sides.requests.store.revisions.get(revision)) if revision else {}
            if not commits or revision == self.live.revision.digest or len(self._trees) >= _MOST_REVISIONS:
                return self.live
            try:
                self._trees[revision] = self.source.pinned(commits)
            except GitfsError:
                self._trees[revision] = self.live
        return self._trees[revision]

    def _documents(
        self, rows: Sequence[StatusRow], budget: CompileBudget
    ) -> tuple[list[CompiledMinion], list[CompiledMinion]]:
        read = self.sides.requests.store.documents.get
        digests = [(row, row.applied.digest if row.applied else "", row.desired.digest) for row in rows if row.desired]
        bases = [_compiled(row.minion.id, digest, read(digest), budget) for row, digest, _ in digests]
        heads = [_compiled(row.minion.id, digest, read(digest), budget) for row, _, digest in digests]
        return bases, heads


def _compiled(minion: str, digest: str, document: bytes | None, budget: CompileBudget) -> CompiledMinion:
    if document is None:
        return CompiledMinion(minion_id=minion, errors=(_NOTHING_APPLIED,))
    return budget.admitted(CompiledMinion(minion_id=minion, digest=digest, document=document))


def _applied_revision(row: StatusRow) -> str:
    return row.applied.revision if row.applied else ""
