"""Values in which the minions of a class differ, as named holes: `⟨grains.id⟩`, `⟨value 1⟩`. Pure; called by `classes`.

1. Texts stand in rows, a row for each minion, and in columns, a column for each place. A column whose texts are equal
   is left as it is.
2. In the others the words that differ become holes, where all texts have the same number of words and the same signs
   between them; else all between what they begin and end with is one hole.
3. A hole is named after the grain that has its value on every minion. Columns with the same values have the same hole.

It takes one look at each text, and a second one at those that differ.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from controller.schema.reports import Hole

_GRAINS = ("id", "fqdn", "host", "nodename", "fqdn_ip4", "fqdn_ip6", "ipv4", "ipv6")
_EXAMPLES = 3
_WORD = r"[\w.\-]+"
_WORDS = re.compile(rf"{_WORD}|[^\w.\-]+")
_SHORTEST = 2
"""Characters of a grain that is looked for inside of words and names: shorter ones are there by chance."""

Column: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OwnGrains:
    """What names a minion, by the names of grains."""

    values: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, minion: str, grains: Mapping[str, Any]) -> OwnGrains:
        """From the grains that a minion sent."""
        known = {name: _texts(grains.get(name)) for name in _GRAINS} | {"id": (minion,)}
        return cls({name: values for name, values in known.items() if values})

    def replaced_in(self, text: str) -> str:
        """The text with holes where it names the minion, the longest names first."""
        names = [(value, name) for name, values in self.values.items() for value in values if len(value) >= _SHORTEST]
        for value, name in sorted(names, key=lambda one: (-len(one[0]), _GRAINS.index(one[1]))):
            if value in text:
                text = _word(value).sub(hole_of(name), text)
        return text


def _texts(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list | tuple) else (value,)
    return tuple(each for each in values if isinstance(each, str) and each not in ("", "127.0.0.1", "::1", "localhost"))


def _word(value: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9⟨.]){re.escape(value)}(?![A-Za-z0-9⟩])")


def hole_of(grain: str) -> str:
    """How the hole of a grain is written."""
    return f"⟨grains.{grain}⟩"


@dataclass(slots=True)
class Holes:
    """The holes of one class.

    Args:
        minions: sorted; the rows of every column are theirs.
        grains: theirs, in the same order.
    """

    minions: Sequence[str]
    grains: Sequence[OwnGrains]
    _texts: dict[Column, str] = field(default_factory=dict)
    """Columns that are known already: files of a minion often say the same."""
    _names: dict[Column, str] = field(default_factory=dict)
    """Column -> the hole in its place."""
    _taken: dict[str, Column] = field(default_factory=dict)
    """Hole -> its column."""

    def found(self) -> tuple[Hole, ...]:
        """All holes that were made, in their order."""
        return tuple(
            Hole(name=name, examples=dict(zip(self.minions[:_EXAMPLES], column[:_EXAMPLES], strict=True)))
            for name, column in self._taken.items()
        )

    def named(self, name: str, column: Column) -> None:
        """Take the hole of a grain that stands in a text already."""
        self._taken.setdefault(name, column)

    def text(self, column: Column) -> str:
        """One text for a column."""
        if len(set(column)) == 1:
            return column[0]
        if column not in self._texts:
            start, end = _common(column)
            middle = tuple([text[start : len(text) - end] for text in column])
            first = column[0]
            self._texts[column] = first[:start] + self._middle(middle) + first[len(first) - end :]
        return self._texts[column]

    def _middle(self, column: Column) -> str:
        parts = _WORDS.findall(column[0])
        pattern = re.compile("".join("(" + _WORD + ")" if _is_word(part) else re.escape(part) for part in parts))
        rows = [found.groups() for found in map(pattern.fullmatch, column) if found]
        if len(rows) < len(column):
            return self._hole(column)
        words = iter([word[0] if len(set(word)) == 1 else self._hole(word) for word in zip(*rows, strict=True)])
        return "".join(next(words) if _is_word(part) else part for part in parts)

    def _hole(self, column: Column) -> str:
        known = self._names.get(column)
        if known is None:
            known = self._names[column] = self._of_a_grain(column) or self._numbered(column)
        return known

    def _of_a_grain(self, column: Column) -> str:
        """The grain that the texts are, or that stands in all of them between the same signs."""
        for name in _GRAINS:
            each = [own.values.get(name, ()) for own in self.grains]
            hole = hole_of(name)
            if all(text in values for text, values in zip(column, each, strict=True)):
                if self._taken.setdefault(hole, column) == column:
                    return hole
            elif all(len(values) == 1 for values in each):
                whole = tuple(values[0] for values in each)
                text = _around(hole, column, whole)
                if text and self._taken.setdefault(hole, whole) == whole:
                    return text
        return ""

    def _numbered(self, column: Column) -> str:
        number = 1 + sum(1 for name in self._taken if name.startswith("⟨value "))
        name = f"⟨value {number}⟩"
        self._taken[name] = column
        return name


def _is_word(text: str) -> bool:
    return text[0].isalnum() or text[0] in "_.-"


def _around(hole: str, column: Column, values: Column) -> str:
    """What is the same in all texts around their minions' values; empty when there is more that differs."""
    texts = {text.replace(own, hole) for text, own in zip(column, values, strict=True)}
    text = texts.pop()
    return text if not texts and hole in text and min(map(len, values)) >= _SHORTEST else ""


def _common(column: Column) -> tuple[int, int]:
    """How many characters all texts begin and end with, without parts of words."""
    start = _beginning(min(column), max(column))
    turned = [text[start:][::-1] for text in column]
    return start, _beginning(min(turned), max(turned))


def _beginning(first: str, last: str) -> int:
    """How long what both begin with is, without a part of a word: in order, all between them begin with it."""
    same = 0
    while same < len(first) and first[same] == last[same]:
        same += 1
    while same > 0 and _is_word(first[same - 1]):
        same -= 1
    return same
