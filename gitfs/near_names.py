"""Names that are like one that is not known; for the hints of errors."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near(name: str, known: Iterable[str], *, most: int = 1) -> tuple[str, ...]:
    """The known names that are most like this one, the nearest first."""
    return tuple(difflib.get_close_matches(name, list(known), n=most))
