"""Which events a subscriber wants: a glob, a regular expression, or a tag as it is.

Regular expressions are run in linear time (`matching.linear_regex`): a subscriber decides neither how long the event
loop computes nor how much memory that takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from matching.limits import PatternLimits
from matching.linear_regex import PatternRefused, compile_linear
from reactors.events import tag_matches

HowTagsMatch: TypeAlias = Literal["glob", "regex", "exact"]

_LIMITS = PatternLimits()


class BadTagPattern(ValueError):
    """No pattern, or one that is not run."""


@dataclass(frozen=True, slots=True)
class TagPattern:
    """A pattern of tags. `head`: how each tag that matches begins."""

    matches: Callable[[str], bool]
    head: str = ""


def tag_pattern(pattern: str, how: HowTagsMatch) -> TagPattern:
    """What a subscriber asks for; BadTagPattern for a regular expression that cannot be run.

    Args:
        pattern: of tags.
        how: `glob` as Salt's reactor matches; `regex` is found anywhere in the tag, as by `re.search`.
    """
    if how == "exact":
        return TagPattern(lambda tag: tag == pattern, pattern)
    if how == "glob":
        head = pattern[: next((at for at, letter in enumerate(pattern) if letter in "*?["), len(pattern))]
        return TagPattern(lambda tag: tag_matches(pattern, tag), head)
    try:
        compiled = compile_linear(pattern, _LIMITS)
    except (re.error, PatternRefused) as error:
        raise BadTagPattern(str(error)) from None

    def found(tag: str) -> bool:
        try:
            return compiled.search(tag)
        except PatternRefused:  # of this one tag
            return False

    return TagPattern(found)
