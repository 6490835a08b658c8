"""Ids of minions for people: ranges (`web[01-40]`), and globs where these minions alone match them. Pure.

Called by `classes` and `forecast`. What is folded stands for just the minions that are given, in a fleet that is known.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_PLAIN = re.compile(r"[A-Za-z0-9_.\-]+")
"""Ids that may stand in a range or glob: in others, its signs could be part of the id."""
_NUMBERS = re.compile(r"[0-9]+")
_FAMILY = re.compile(r"[A-Za-z]*[_.\-]?")


@dataclass(frozen=True, slots=True)
class Fleet:
    """All minions, so that a glob is known to match no others."""

    ids: tuple[str, ...]
    """Sorted, each once."""
    _counts: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, ids: Iterable[str]) -> Fleet:
        """The fleet with these minions."""
        return cls(tuple(sorted(set(ids))))

    def with_prefix(self, prefix: str) -> int:
        """How many ids begin so."""
        if prefix not in self._counts:
            first = bisect.bisect_left(self.ids, prefix)
            self._counts[prefix] = bisect.bisect_left(self.ids, prefix + "\U0010ffff", first) - first
        return self._counts[prefix]


def folded(ids: Iterable[str], fleet: Fleet) -> str:
    """The ids as ranges, globs and single ids: `db1, web[01-40]`.

    Args:
        ids: of minions of the fleet.
        fleet: all minions.
    """
    wanted = sorted(set(ids))
    if len(wanted) > 1 and len(wanted) == len(fleet.ids):
        return "*"
    families: dict[str, list[str]] = {}
    for each in wanted:
        families.setdefault(_family(each), []).append(each)
    return ", ".join(part for family, some in families.items() for part in _parts(family, some, fleet))


def _family(name: str) -> str:
    found = _FAMILY.match(name)
    return found[0] if found and _PLAIN.fullmatch(name) else ""


def _parts(family: str, ids: Sequence[str], fleet: Fleet) -> list[str]:
    parts = min((_ranges(ids, place) for place in (-1, 0)), key=len)
    return [f"{family}*"] if len(parts) > 1 and family and fleet.with_prefix(family) == len(ids) else parts


def _ranges(ids: Iterable[str], place: int) -> list[str]:
    """Ids that differ in one number together; `place`: which of an id's numbers that is."""
    groups: dict[tuple[str, str, int], list[int]] = {}
    single: list[str] = []
    for name in ids:
        numbers = list(_NUMBERS.finditer(name)) if _PLAIN.fullmatch(name) else []
        if not numbers or len(numbers[place][0]) > 18:
            single.append(name)
            continue
        digits, (start, end) = numbers[place][0], numbers[place].span()
        groups.setdefault((name[:start], name[end:], len(digits)), []).append(int(digits))
    return single + [_range(*key, runs) for key, runs in _joined(groups).items()]


def _joined(groups: dict[tuple[str, str, int], list[int]]) -> dict[tuple[str, str, int], list[tuple[int, int]]]:
    """(before, after, digits) -> runs of numbers; groups of other lengths together where nothing is padded by zeros."""
    joined: dict[tuple[str, str, int], list[int]] = {}
    for (before, after, width), numbers in groups.items():
        padded = width > 1 and min(numbers) < 10 ** (width - 1)
        joined.setdefault((before, after, width if padded else 0), []).extend(numbers)
    return {key: _runs(sorted(numbers)) for key, numbers in joined.items()}


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def _range(before: str, after: str, width: int, runs: Sequence[tuple[int, int]]) -> str:
    def shown(number: int) -> str:
        return f"{number:0{width}d}" if width else str(number)

    texts = [shown(first) if first == last else f"{shown(first)}-{shown(last)}" for first, last in runs]
    alone = len(runs) == 1 and runs[0][0] == runs[0][1]
    return f"{before}{texts[0]}{after}" if alone else f"{before}[{','.join(texts)}]{after}"
