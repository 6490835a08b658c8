"""What somebody may have meant who wrote a name that is not known; for the hints of errors."""

from __future__ import annotations

from collections.abc import Collection


def near(name: str, known: Collection[str], *, most: int = 1, cutoff: float = 0.6) -> tuple[str, ...]:
    """The known names that are most like this one, the nearest first.

    Args:
        name: as written.
        known: names that there are.
        most: names to give.
        cutoff: likeness that is needed, 0 to 1.
    """
    # An agent that is idle does not load difflib.
    from difflib import get_close_matches

    return tuple(get_close_matches(name, sorted(known), n=most, cutoff=cutoff))


def did_you_mean(name: str, known: Collection[str], *, most: int = 1, cutoff: float = 0.6) -> str:
    """`did you mean NAME?` (or `did you mean A, B?`); empty when nothing is near."""
    found = near(name, known, most=most, cutoff=cutoff)
    return f"did you mean {', '.join(found)}?" if found else ""
