"""Which of many globs match a tag, without a look at each: found by the text around their wildcards.

Called for every event that is published, so that a thousand rules must cost some microseconds.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence

_WILDCARD = re.compile(r"[*?\[]")


class TagIndex:
    """Globs of tags, known by their positions.

    Args:
        globs: Salt's: `*` crosses slashes, and case counts.
    """

    def __init__(self, globs: Sequence[str]) -> None:
        self._exact: dict[str, list[int]] = {}
        self._by_ends: dict[tuple[str, str], list[tuple[int, re.Pattern[str]]]] = {}
        for position, glob in enumerate(globs):
            wildcard = _WILDCARD.search(glob)
            if wildcard is None:
                self._exact.setdefault(glob, []).append(position)
            else:
                pattern = re.compile(fnmatch.translate(glob))
                ends = glob[: wildcard.start()], glob[max(map(glob.rfind, "*?[]")) + 1 :]
                self._by_ends.setdefault(ends, []).append((position, pattern))
        self._lengths = sorted({(len(head), len(tail)) for head, tail in self._by_ends})

    def matching(self, tag: str) -> list[int]:
        """Positions of the globs that match, rising."""
        found = list(self._exact.get(tag, ()))
        for head, tail in self._lengths:
            if head > len(tag):
                break
            if tail > len(tag):
                continue
            for position, pattern in self._by_ends.get((tag[:head], tag[len(tag) - tail :]), ()):
                if pattern.match(tag):
                    found.append(position)
        found.sort()
        return found
