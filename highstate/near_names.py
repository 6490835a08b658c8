"""What somebody may have meant who wrote a name that is not known; for the hints of errors."""

from __future__ import annotations

from collections.abc import Iterable


def near(name: str, known: Iterable[str], *, most: int = 1, cutoff: float = 0.6) -> tuple[str, ...]:
    """The known names that are most like this one, the nearest first.

    Args:
        name: as written.
        known: names that there are.
        most: names to give.
        cutoff: likeness that is needed, 0 to 1.
    """
    # For errors alone: an agent that is idle and a call start without difflib.
    from difflib import get_close_matches

    return tuple(get_close_matches(name, list(known), n=most, cutoff=cutoff))


def did_you_mean(name: str, known: Iterable[str], *, most: int = 1, cutoff: float = 0.6, quote: str = "") -> str:
    """`did you mean A or B?`, each between quotes; empty when nothing is near."""
    found = [f"{quote}{one}{quote}" for one in near(name, known, most=most, cutoff=cutoff)]
    return f"did you mean {' or '.join(found)}?" if found else ""
