"""Names that are like one that is not known, for the hints of errors: of options, states, functions, remotes."""

from __future__ import annotations

from collections.abc import Iterable

_SPARE = 5
"""Names that are looked at beyond those wanted."""
_SHORT, _OF_SHORT, _OF_LONG = 4, 0.6, 0.7
_LEAST = 0.6
"""Likeness that modules of functions need."""


def near(name: str, known: Iterable[str], *, most: int = 1, cutoff: float | None = None) -> tuple[str, ...]:
    """The known names that are most like this one, the nearest first.

    Args:
        name: as written.
        known: names that there are.
        most: names to give.
        cutoff: likeness that is needed, 0 to 1; by default more of long names, of which a slip changes little.
    """
    # For errors alone: an agent that is idle and a call start without difflib.
    from difflib import get_close_matches

    likeness = cutoff or (_OF_SHORT if len(name) <= _SHORT else _OF_LONG)
    like = get_close_matches(name, list(known), n=most + _SPARE, cutoff=likeness)
    return tuple(one for one in like if _modules_alike(name, one))[:most]


def _modules_alike(name: str, other: str) -> bool:
    """Whether the modules of two functions are alike, too: `salt.function` is no slip for `test.function`."""
    from difflib import SequenceMatcher

    module, dot, _ = name.partition(".")
    other_module, other_dot, _ = other.partition(".")
    return not (dot and other_dot) or SequenceMatcher(None, module, other_module).ratio() >= _LEAST


def did_you_mean(
    name: str, known: Iterable[str], *, most: int = 1, cutoff: float | None = None, quote: str = ""
) -> str:
    """`did you mean A or B?`, each between quotes; empty when nothing is near."""
    found = [f"{quote}{one}{quote}" for one in near(name, known, most=most, cutoff=cutoff)]
    return f"did you mean {' or '.join(found)}?" if found else ""
