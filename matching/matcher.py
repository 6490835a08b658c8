"""The one matcher of patterns: globs and regular expressions of trees, minions, branches and people.

Called by `targeting.match` and whoever compares an id, grain, path or tag with a pattern that somebody wrote. It only
says whether a text matches. A matcher is made for one question and counts what the question has cost; a question
that costs more than its limits is refused. A text that is over them, or of a kind that a pattern cannot be compared
with, does not match: it is one minion's own. Regular expressions run in linear time (`linear_regex`); a compile
process, which can be ended, may also run those that look around, on an engine with a time limit (`bounded_regex`).
"""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

from matching import bounded_regex
from matching.limits import TREE_PATTERNS, PatternLimits
from matching.linear_regex import LinearRegex, NotLinear, PatternRefused, TextRefused, compile_linear, shortened

CHARACTERS_A_STEP = 50
"""Characters that are split, hashed or compared for equality in one step."""
STEPS_A_LOOK = 100
"""Steps that it costs to look up a value, or to take up a word of a target."""
_FEW_A_CHARACTER = 1_000
"""Steps a character up to which a pattern of the configuration runs on Python's engine."""
_FEW_STEPS = 1_000_000
"""Steps that such a pattern may take for a text that the linear engine does not know."""
_OUTSIDERS = PatternLimits()
_GLOB_SPECIAL = frozenset("*?[")


@dataclass(slots=True, kw_only=True)
class Matcher:
    """Compares patterns with texts, for one question."""

    limits: PatternLimits = _OUTSIDERS
    backtracking: bool = False
    """Whether patterns that cannot be run in linear time are run with a time limit: never in the controller's process,
    whose event loop they would hold up."""
    spent: int = 0
    """Steps so far."""

    def matches(self, pattern: str, text: str) -> bool:
        """`re.match`; re.error for what is no pattern, PatternRefused for one that is not run."""
        return self._compare(pattern, text, LinearRegex.match, bounded_regex.match)

    def searches(self, pattern: str, text: str) -> bool:
        """`re.search`; errors as `matches`."""
        return self._compare(pattern, text, LinearRegex.search, bounded_regex.search)

    def glob(self, pattern: str, text: str) -> bool:
        """`fnmatch.fnmatchcase`; PatternRefused for a pattern or text that is over the limits."""
        if not _GLOB_SPECIAL.intersection(pattern):
            return pattern == text
        if pattern == "*":
            return True
        limits = self.limits
        if len(pattern) > limits.pattern_characters:
            message = f"{shortened(pattern)} is longer than {limits.pattern_characters} characters: use shorter ones"
            raise PatternRefused(message, "pattern-characters")
        if len(text) > limits.text_characters and not self.backtracking:
            return False
        if "[" in pattern and not pattern.isascii() and not self.backtracking:
            instead = "use ? or a list for letters that are not ASCII"
            raise NotLinear(pattern, "has a [...] beside letters that are not ASCII", instead)
        self.spend(len(pattern) * len(text))
        return _glob(pattern)(text) is not None

    def check(self, pattern: str) -> None:
        """Raise what `matches` would raise for a pattern with any text."""
        try:
            compile_linear(pattern, self.limits)
        except NotLinear:
            if not self.backtracking:
                raise
            bounded_regex.check(pattern)

    def spend(self, steps: int) -> None:
        """Count steps; PatternRefused when the question has become too expensive."""
        self.spent += steps
        if self.spent > self.limits.steps:
            message = f"the target takes more than {self.limits.steps} steps to match: use simpler patterns"
            raise PatternRefused(message, "steps")

    def _compare(
        self,
        pattern: str,
        text: str,
        linear: Callable[[LinearRegex, str], bool],
        by_trial: Callable[[str, str], object],
    ) -> bool:
        try:
            compiled = compile_linear(pattern, self.limits)
            self.spend(compiled.cost(text))
            return linear(compiled, text)
        except (NotLinear, TextRefused) as error:
            if self.backtracking:
                return by_trial(pattern, text) is not None
            if isinstance(error, NotLinear):
                raise
            return False


def tree_matcher() -> Matcher:
    """A matcher for what a tree asks while it is compiled, in a process that can be ended."""
    return Matcher(limits=TREE_PATTERNS, backtracking=True)


def prepared_search(pattern: str) -> Callable[[str], bool]:
    """`re.search` of a pattern of the configuration in many short texts of outsiders, in bounded time for each.

    Python's own engine runs a pattern that it needs no trials for (`/\\.svn($|/)`), because it is faster. A text that
    cannot be compared in bounded time does not match. Raises re.error for what is no pattern, PatternRefused for one
    that is not run.
    """
    few = bounded_regex.steps_a_character(pattern) <= _FEW_A_CHARACTER
    own = re.compile(pattern)
    if few:
        return lambda text: own.search(text) is not None
    try:
        linear = compile_linear(pattern, TREE_PATTERNS)
    except NotLinear as error:
        raise NotLinear(pattern, error.what, "write it without") from None

    def search(text: str) -> bool:
        try:
            return linear.search(text)
        except TextRefused:
            if bounded_regex.worst_steps(pattern, len(text)) > _FEW_STEPS:
                return False
            return own.search(text) is not None

    return search


def prepared_glob(pattern: str) -> Callable[[str], bool]:
    """`fnmatch.fnmatchcase` of a pattern of the configuration with many texts."""
    compiled = _glob(pattern)
    return lambda text: compiled(text) is not None


def person_matcher() -> Matcher:
    """A matcher for what a person asks of the controller."""
    return Matcher(limits=TREE_PATTERNS)


@functools.lru_cache(maxsize=1024)
def _glob(pattern: str) -> Callable[[str], re.Match[str] | None]:
    """Python's translation does not go back before what a `*` has passed: patterns times text at worst."""
    return re.compile(fnmatch.translate(pattern)).match
