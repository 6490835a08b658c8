"""Why the two sides disagree: entries of explanations.yaml, each a pattern and a reason.

A disagreement takes the first entry that fits it. An entry that fits none of the cases that it could is told: what it
explains no longer occurs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import yaml

from tools.second_opinion.comparison import Disagreement

EXPLANATIONS = Path(__file__).with_name("explanations.yaml")
_FIELDS = frozenset({"cases", "about", "place", "saltern", "salt", "why"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """An entry. What it does not name fits everything."""

    why: str
    cases: tuple[str, ...] = ("*",)
    """Globs of `formula/case`."""
    about: str = "*"
    place: str = "*"
    """A glob of the state or path."""
    saltern: str = ""
    """Regular expressions that are found in what the sides say."""
    salt: str = ""

    def fits(self, one: Disagreement) -> bool:
        """Whether it explains this."""
        return (
            self.could_fit(one.case)
            and fnmatchcase(one.about, self.about)
            and fnmatchcase(one.place, self.place)
            and re.search(self.saltern, one.saltern, re.DOTALL) is not None
            and re.search(self.salt, one.salt, re.DOTALL) is not None
        )

    def could_fit(self, case: str) -> bool:
        """Whether it speaks of this case."""
        return any(fnmatchcase(case, pattern) for pattern in self.cases)


def load_explanations(path: Path = EXPLANATIONS) -> tuple[Explanation, ...]:
    """The entries of a file; ValueError for one that is not understood."""
    entries = []
    for number, entry in enumerate(yaml.safe_load(path.read_text()) or (), 1):
        if not isinstance(entry, dict) or not entry.get("why") or set(entry) - _FIELDS:
            raise ValueError(f"{path.name}, entry {number}: wanted why, and any of {', '.join(sorted(_FIELDS))}")
        named = entry.get("cases", "*")
        given = tuple(named) if isinstance(named, list) else (str(named),)
        entries.append(Explanation(**{**entry, "cases": given}))
    return tuple(entries)


def explained(
    found: Iterable[Disagreement], entries: Sequence[Explanation]
) -> list[tuple[Disagreement, Explanation | None]]:
    """Each disagreement with the entry that explains it."""
    return [(one, next((entry for entry in entries if entry.fits(one)), None)) for one in found]


def outdated(
    entries: Sequence[Explanation], told: Sequence[tuple[Disagreement, Explanation | None]], ran: Sequence[str]
) -> list[Explanation]:
    """Entries that explain nothing, though every case that they name has run.

    An entry for all cases (`*`) is judged when `ran` is more than a selection, which the caller decides.
    """
    used = {id(entry) for _, entry in told}
    return [entry for entry in entries if id(entry) not in used and any(map(entry.could_fit, ran))]
