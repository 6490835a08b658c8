"""What YAML has read of a text with blanks, and whether it reads the same with values in their place.

A value that may be filled in is one word of letters, digits, dots, dashes and underscores (`blanks.fillable`), which
ends no scalar and begins nothing. What is left is the kind of a scalar: `{{ value }}` alone may be a number. Called by
`renderers`, and by those who fill in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import yaml
from yaml.resolver import Resolver

from highstate.memo.blanks import (
    LONGEST,
    TOKEN,
    BlankRefused,
    Filled,
    NotAlike,
    always_text,
    form_of,
    has_blanks,
    numbers_in,
)
from highstate.types import Value

_MISREAD = re.compile(r"[&*!%\\]\S*" + TOKEN.pattern)
"""Names of anchors, tags and escapes have rules of their own."""
_LONGEST = 1_000_000
"""Characters of a text, far from what a template may write."""
_MOST_LINE = 900
"""Characters: a key may have 1024."""
_RESOLVER = Resolver()
_FIRST = frozenset(Resolver.yaml_implicit_resolvers)
_STR = "tag:yaml.org,2002:str"


def scalars_with_blanks(text: str, data: Value) -> set[str]:
    """The scalars of the data that have blanks in them; BlankRefused where a value might be read as something else."""
    if not has_blanks(text):
        return set()
    if len(text) > _LONGEST or _MISREAD.search(text):
        raise BlankRefused
    for line in text.splitlines():
        if len(line) > _MOST_LINE or has_blanks(line):
            blanks = len(TOKEN.findall(line))
            if blanks and len(line) + blanks * LONGEST > _MOST_LINE:
                raise BlankRefused
    found: set[str] = set()
    _gather(data, found, set())
    return found


def _gather(value: Value, found: set[str], seen: set[int]) -> None:
    if isinstance(value, str):
        if has_blanks(value):
            found.add(value)
    elif isinstance(value, dict | list | tuple) and id(value) not in seen:
        seen.add(id(value))
        for inner in (*value, *value.values()) if isinstance(value, dict) else value:
            _gather(inner, found, seen)


@dataclass(frozen=True, slots=True)
class BlankScalars:
    """Scalars with blanks, which must be text when they are filled in."""

    forms: tuple[Filled, ...]
    numbers: tuple[int, ...]
    """Of the blanks in them."""

    @classmethod
    def of(cls, scalars: Iterable[str]) -> BlankScalars:
        """Those of a compile."""
        known = sorted(scalars)
        numbers = {number for scalar in known for number in numbers_in(scalar)}
        forms = tuple(form for scalar in known if (form := form_of(scalar)) is not None)
        return cls(forms, tuple(sorted(numbers)))

    def check(self, texts: Sequence[str]) -> None:
        """NotAlike where one of them is a number, a date or another word, filled in with these texts."""
        if not always_text(texts[number] for number in self.numbers) and not all(
            _is_text(str(form(texts))) for form in self.forms
        ):
            raise NotAlike


def _is_text(scalar: str) -> bool:
    """Whether a scalar without quotes is text."""
    if scalar[:1] not in _FIRST:
        return True
    return str(_RESOLVER.resolve(yaml.ScalarNode, scalar, (True, False))) == _STR  # type: ignore[no-untyped-call]
