"""What adapters say alike where forges differ: the mark of a pull request's last change, comments, outdated ones."""

from __future__ import annotations

from datetime import datetime

from controller.forges.client import ForgeComment

OUTDATED = "_This comment is outdated; a newer one stands below._"
"""Text of a comment that the forge cannot fold."""


def mark_of(updated: str, state: str, head: str, base: str) -> str:
    """The mark of the last change of a pull request.

    Forges give whole seconds, in which a pull request may change twice: what matters most stands in it, too.
    """
    return f"{updated} {state} {head} {base}"


def comment_of(number: int, author: str, body: str, created: str, updated: str) -> ForgeComment:
    """A comment of a forge that gives both times as text (ISO 8601); an edit shows in the second."""
    return ForgeComment(
        id=str(number),
        author=author,
        body=body,
        created=datetime.fromisoformat(created).timestamp(),
        edited=created != updated,
    )
