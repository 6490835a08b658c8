"""Limits of globs, regular expressions and targets, whoever wrote them.

Each class is a border, each field a limit. Whoever refuses something names the field (`PatternRefused.limit`), and
the controller counts it.
"""

from __future__ import annotations

from dataclasses import dataclass

from options.limits import LimitCount


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternLimits:
    """A target that a minion or a branch asks the mine with, for all the minions that it is compared with."""

    pattern_characters: LimitCount = 1_000
    """Characters of a regular expression or glob."""
    expression_characters: LimitCount = 100_000
    """Characters of a target, nodegroups unfolded."""
    expression_depth: LimitCount = 50
    """Parentheses within each other in a compound target."""
    program_bytes: LimitCount = 256 * 1024
    """Bytes of memory that one compiled regular expression may take."""
    text_characters: LimitCount = 10_000
    """Characters of the text that a pattern is compared with."""
    steps: LimitCount = 50_000_000
    """Steps of comparing, each up to about 10 ns: instructions of the program times characters of the text."""


TREE_PATTERNS = PatternLimits(
    pattern_characters=100_000,
    expression_characters=10_000_000,
    expression_depth=100,
    program_bytes=8 * 1024 * 1024,
    text_characters=1_000_000,
    steps=1_000_000_000,
)
"""Limits of a tree in its compile process, and of people at the command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktrackingLimits:
    """Regular expressions that need groups or lookaround: they run on an engine that searches by trial."""

    seconds: float = 2.0
    """Seconds that a search may take."""
    tries: int = 10_000_000
    """Tries that a search may need at worst for Python's own engine, which has no time limit, to run it."""
