"""Why something of a machine is not adopted. Raised by all modules of this folder, told to people by `adoptions`."""

from __future__ import annotations


class NotAdopted(Exception):
    """A state, or a value of it, stays as git has it.

    Args:
        why: what is in the way.
        hint: what a person can do.
        diff: what differs, where that helps.
    """

    def __init__(self, why: str, hint: str = "", diff: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.hint = hint
        self.diff = diff
