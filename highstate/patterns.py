"""Which files of a tree `include_pat` and `exclude_pat` select: for a compile and for file.recurse on the minion alike.

A pattern is a glob over the relative path, or a regular expression after `E@`, or a list of both; one that is empty
leaves all. Source: salt/utils/stringutils.py `check_include_exclude`. It reads nothing.
"""

from __future__ import annotations

from highstate.types import Value
from matching.matcher import tree_matcher


def is_part(path: str, include: Value, exclude: Value) -> bool:
    """Whether a relative path is left; re.error or PatternRefused for a regular expression that cannot be used."""
    return (not include or fits(path, include)) and not fits(path, exclude)


def fits(path: str, pattern: Value) -> bool:
    """Whether a path fits a pattern, or one of a list."""
    patterns = pattern if isinstance(pattern, list | tuple) else [pattern]
    return any(_fits(path, str(one)) for one in patterns if one)


def _fits(path: str, pattern: str) -> bool:
    if pattern.startswith("E@"):
        return tree_matcher().searches(pattern[2:], path)
    return tree_matcher().glob(pattern, path)
