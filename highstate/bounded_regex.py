"""Regular expressions of trees: Python's, except that one which would search for ever ends with an error.

Called by filters of templates and by targeting. Python's own engine cannot be stopped, so patterns that may backtrack
without measure (a repeated group, or two repetitions) run on the `regex` package, which knows Python's syntax and has
a time limit. A limit met is an error, never another answer.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

MAX_SECONDS = 2.0
"""A search that takes longer is ended."""

_REPETITION = re.compile(r"[*+}]")
_REPEATED_GROUP = re.compile(r"\)[*+{]")


class SlowPattern(ValueError):
    """A search took longer than `MAX_SECONDS`."""


def search(pattern: str, text: str, flags: int = 0) -> re.Match[str] | None:
    """`re.search`; SlowPattern, or re.error for what is no pattern."""
    found: re.Match[str] | None = _run(pattern, flags, lambda engine, limit: engine.search(text, **limit))
    return found


def match(pattern: str, text: str, flags: int = 0) -> re.Match[str] | None:
    """`re.match`; SlowPattern, or re.error for what is no pattern."""
    found: re.Match[str] | None = _run(pattern, flags, lambda engine, limit: engine.match(text, **limit))
    return found


def replace(pattern: str, by: str, text: str, flags: int = 0) -> str:
    """`re.sub`; SlowPattern, or re.error for what is no pattern."""
    replaced: str = _run(pattern, flags, lambda engine, limit: engine.sub(by, text, **limit))
    return replaced


def _run(pattern: str, flags: int, work: Callable[[Any, dict[str, float]], Any]) -> Any:
    engine, limit = _engine(pattern, flags)
    try:
        return work(engine, limit)
    except TimeoutError:
        message = f"the regular expression {pattern!r} takes more than {MAX_SECONDS:g} s: its repetitions overlap"
        raise SlowPattern(message) from None


@functools.lru_cache(maxsize=1024)
def _engine(pattern: str, flags: int) -> tuple[Any, dict[str, float]]:
    own = re.compile(pattern, flags)
    if len(_REPETITION.findall(pattern)) < 2 and not _REPEATED_GROUP.search(pattern):
        return own, {}
    import regex  # type: ignore[import-untyped]  # it has no type hints; loaded for such patterns only

    try:
        return regex.compile(pattern, flags), {"timeout": MAX_SECONDS}
    except regex.error:
        return own, {}
