"""The line at the end of our comments by which they are found again. Pure.

A comment is looked for by its key before another is made, so that a controller that was killed between posting and
recording finds what it posted. A key is computed, so that it needs no storage, and nobody can make one up; whoever
copies a key from a comment comes later than the comment, and the oldest one counts.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field

from controller.forges.client import ForgeComment

_DIGITS = 32
ROOM = 80
"""Characters that `with_key` adds at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentKeys:
    """The keys of one pull request's comments."""

    secret: bytes = field(repr=False)
    forge: str
    project: str
    number: int
    html: bool = True
    """Whether the forge hides HTML comments; where it does not, a definition of a link takes the place."""

    def report(self, serial: int) -> str:
        """Of the comment with the report that is made after so many others."""
        return self._key("report", str(serial))

    def answer(self, comment: str) -> str:
        """Of the answer to a comment."""
        return self._key("answer", comment)

    def with_key(self, body: str, key: str) -> str:
        """A comment with its key as the last line."""
        line = f"<!-- saltern-key:{key} -->" if self.html else f'[//]: # "saltern-key:{key}"'
        return f"{body.rstrip()}\n\n{line}\n"

    def _key(self, *parts: str) -> str:
        text = "\0".join((self.forge, self.project, str(self.number), *parts))
        return hmac.new(self.secret, text.encode(), hashlib.sha256).hexdigest()[:_DIGITS]


def find_by_key(comments: Sequence[ForgeComment], key: str) -> ForgeComment | None:
    """The oldest comment that has a key."""
    found = [each for each in comments if f"saltern-key:{key}" in each.body]
    return min(found, key=lambda each: each.created, default=None)
