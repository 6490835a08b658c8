"""Backtracking regular expressions with a time limit: Python's, and a search that takes too long is an error.

Called by filters of templates, which need the groups of a match, by `matcher` for what it cannot run in linear time,
and by states that run in threads; never in the controller's own process. In a thread Python's engine cannot be stopped,
so that it runs only what needs few tries in the worst case. All else runs on the `regex` package, which knows Python's
syntax and has a time limit. A limit met is an error, never another answer.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from re import _parser  # type: ignore[attr-defined]  # the parser of `re`: typeshed does not know it
from typing import Any, TypeAlias

from matching.limits import TREE_PATTERNS, BacktrackingLimits
from matching.linear_regex import PatternRefused, shortened

Work: TypeAlias = Callable[[Any, dict[str, float]], Any]

_LIMITS = BacktrackingLimits()
_MEANS_OTHER = re.compile(r"\{(?!\d*,?\d*\})|\[\[|\[:")
"""Where `regex` reads its own extensions: fuzzy matches, and sets and classes within sets."""


class SlowPattern(PatternRefused):
    """A search took longer than `BacktrackingLimits.seconds`."""


def search(pattern: str, text: str, flags: int = 0) -> re.Match[str] | None:
    """`re.search`; SlowPattern, PatternRefused for one that is too long, or re.error for what is no pattern."""
    found: re.Match[str] | None = _run(pattern, flags, text, lambda engine, limit: engine.search(text, **limit))
    return found


def match(pattern: str, text: str, flags: int = 0) -> re.Match[str] | None:
    """`re.match`; errors as `search`."""
    found: re.Match[str] | None = _run(pattern, flags, text, lambda engine, limit: engine.match(text, **limit))
    return found


def check(pattern: str) -> None:
    """Raise what `match` would raise for a pattern with any text."""
    _own(pattern, 0)


def replace(pattern: str, by: str, text: str, flags: int = 0) -> str:
    """`re.sub`; errors as `search`."""
    replaced: str = _run(pattern, flags, text, lambda engine, limit: engine.sub(by, text, **limit))
    return replaced


def worst_steps(pattern: str | bytes, length: int, flags: int = 0) -> float:
    """Steps that Python's engine takes at most to search a text of this length; errors as `search`."""
    return _own(pattern, flags)[1].of(length) * max(1, len(pattern))


def steps_a_character(pattern: str) -> float:
    """Steps that a search takes at most for each character, however long the text is; infinite where that matters."""
    tries = _own(pattern, 0)[1]
    return math.inf if tries.degree else tries.ways * max(1, len(pattern))


def run(pattern: str | bytes, flags: int, length: int, work: Work, *, endable: bool) -> Any:
    """`work(engine, limit)` on text of this length; `limit`: keyword arguments for the engine. Errors as `search`.

    Args:
        endable: whether somebody ends this process when a pattern for which there is no engine with a time limit takes
            too long; else such a pattern is refused.
    """
    if len(pattern) > TREE_PATTERNS.pattern_characters:
        message = f"{_shown(pattern)} is longer than {TREE_PATTERNS.pattern_characters} characters"
        raise PatternRefused(message, "pattern-characters")
    own, tries = _own(pattern, flags)
    if tries.of(length) <= _LIMITS.tries:
        return work(own, {})
    timed = _timed(pattern, flags)
    if timed is not None:
        return _within_limit(pattern, timed, work)
    if endable:
        return work(own, {})
    raise PatternRefused(f"{_shown(pattern)} cannot be run with a time limit: write a simpler one", "seconds")


def _run(pattern: str, flags: int, text: str, work: Work) -> Any:
    return run(pattern, flags, len(text), work, endable=True)


def _shown(pattern: str | bytes) -> str:
    return shortened(pattern if isinstance(pattern, str) else pattern.decode("latin-1"))


def _within_limit(pattern: str | bytes, timed: Any, work: Work) -> Any:
    try:
        return work(timed, {"timeout": _LIMITS.seconds})
    except TimeoutError:
        message = f"the regular expression {pattern!r} takes more than {_LIMITS.seconds:g} s: its repetitions overlap"
        raise SlowPattern(message, "seconds") from None


@functools.lru_cache(maxsize=1024)
def _own(pattern: str | bytes, flags: int) -> tuple[re.Pattern[Any], _Tries]:
    try:
        own = re.compile(pattern, flags)
        return own, _sequence_tries(_parser.parse(pattern, flags))
    except RecursionError:
        message = f"{_shown(pattern)} has too many groups within groups"
        raise PatternRefused(message, "pattern-characters") from None
    except OverflowError as error:  # of counts: a{99999999999}
        raise re.error(str(error), pattern) from None


@functools.lru_cache(maxsize=256)
def _timed(pattern: str | bytes, flags: int) -> Any:
    """The pattern on the engine with a time limit; None when that would take it for something else."""
    import regex  # type: ignore[import-untyped]  # deferred: few patterns need it, and it takes 5 MiB

    if _MEANS_OTHER.search(pattern if isinstance(pattern, str) else pattern.decode("latin-1")):
        return None
    own_flags = flags & ~(re.ASCII | re.DEBUG) | (regex.ASCII if flags & re.ASCII else 0)
    try:
        return regex.compile(pattern, own_flags)
    except (regex.error, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class _Tries:
    """How many ways a part may be tried at one place of a text: `ways` times the length to the power of `degree`."""

    ways: float
    degree: int = 0

    def of(self, length: int) -> float:
        """Tries at all places of a text of this length."""
        try:
            return self.ways * float(length + 1) ** (self.degree + 1)
        except OverflowError:
            return math.inf


def _sequence_tries(nodes: Iterable[Any]) -> _Tries:
    ways, degree = 1.0, 0
    for op, given in nodes:
        one = _node_tries(str(op), given)
        ways, degree = ways * one.ways, degree + one.degree
    return _Tries(ways, degree)


def _node_tries(op: str, given: Any) -> _Tries:
    match op:
        case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN" | "AT" | "FAILURE":
            return _Tries(1.0)
        case "SUBPATTERN":
            return _sequence_tries(given[3])
        case "ATOMIC_GROUP":
            return _sequence_tries(given)
        case "ASSERT" | "ASSERT_NOT":
            return _sequence_tries(given[1])
        case "BRANCH":
            return _sum([_sequence_tries(each) for each in given[1]])
        case "GROUPREF_EXISTS":
            return _sum([_sequence_tries(each) for each in given[1:] if each is not None])
        case "GROUPREF":
            return _Tries(1.0, 1)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return _repeat_tries(*given)
    return _Tries(math.inf)


def _sum(parts: list[_Tries]) -> _Tries:
    return _Tries(sum(part.ways for part in parts), max(part.degree for part in parts))


def _repeat_tries(least: int, most: Any, inner: Any) -> _Tries:
    once = _sequence_tries(inner)
    fixed = once == _Tries(1.0)
    if most is _parser.MAXREPEAT or most > 1000:
        return _Tries(1.0, 1) if fixed and inner.getwidth()[0] > 0 else _Tries(math.inf)
    if fixed:
        return _Tries(float(most - least + 1))
    try:
        return _Tries(once.ways**most * (most - least + 1), once.degree * int(most))
    except OverflowError:
        return _Tries(math.inf)
