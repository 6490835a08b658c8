"""The error of states. A module of its own: a call that plans nothing starts without the types of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class StateFailed(Exception):
    """A plan that cannot be made, or an act that did not succeed: result False with this text as its comment.

    `changes` is what an act has done all the same (the output of a command that failed).
    """

    def __init__(self, comment: str, changes: Mapping[str, Any] | None = None) -> None:
        super().__init__(comment)
        self.changes = dict(changes or {})


class ContentUnknown(Exception):
    """What a file or database of the machine holds, and this run may not show: its comment says what is not known."""


class NotPredicted(Exception):
    """An act under test=True does something of which nobody can say what comes of it."""
