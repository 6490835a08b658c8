"""What the adapters say alike where forges differ: the mark of a pull request's last change, and outdated comments."""

from __future__ import annotations

OUTDATED = "_This comment is outdated; a newer one stands below._"
"""Text of a comment that the forge cannot fold."""


def mark_of(updated: str, state: str, head: str, base: str) -> str:
    """The mark of the last change of a pull request.

    Forges give whole seconds, in which a pull request may change twice: what matters most stands in it, too.
    """
    return f"{updated} {state} {head} {base}"
