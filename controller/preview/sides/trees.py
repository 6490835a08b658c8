"""The trees of the refs that a preview compares; what is not known yet is fetched once. Called by `preview`."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from controller.preview.sides.revisions import RevisionTrees
from controller.preview.threads import PreviewThreads
from controller.schema.errors import ServiceError
from controller.schema.requests import PreviewQuestion
from gitfs.errors import GitfsError, UnknownRef
from gitfs.mirror.fetched import Fetched
from gitfs.source import MergedTrees, Source

FETCH_SECONDS = 30.0
"""How long remotes are waited for when a ref is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideTrees:
    """Finds the trees of both sides."""

    source: Source
    revisions: RevisionTrees
    threads: PreviewThreads

    def _found(self, question: PreviewQuestion) -> MergedTrees:
        """The trees that are compared; UnknownRef."""
        if question.revisions:
            of = self.revisions.of
            return MergedTrees(before=of(question.base), after=of(question.head), merged=False)
        if question.merge:
            return self.source.merged(question.base, question.head)
        return MergedTrees(before=self.source.at(question.base), after=self.source.at(question.head), merged=False)

    async def sides(self, question: PreviewQuestion) -> MergedTrees:
        """The trees that are compared; ServiceError where a ref is not there."""
        with contextlib.suppress(UnknownRef):
            return await self.threads.run(self._found, question)
        await self.threads.run(self._fetch)  # it may have been pushed a moment ago
        try:
            return await self.threads.run(self._found, question)
        except UnknownRef as error:
            raise ServiceError("not-found", str(error), hint="`saltern remote list` shows what is fetched") from error
        except GitfsError as error:
            raise ServiceError("conflict", f"a revision cannot be read any more: {error}") from error

    def _fetch(self) -> None:
        """Bring what the remotes have now; what that means for live trees is for the next notice of each remote."""
        for fetched in self.source.fetch(patience=FETCH_SECONDS):
            if isinstance(fetched, Fetched) and fetched.changed:
                self.source.on_news(fetched.remote)
