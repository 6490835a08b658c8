"""Which of many globs match a tag, without a look at each: found by the text before their first wildcard.

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
        self._by_head: dict[str, list[tuple[int, re.Pattern[str]]]] = {}
        for position, glob in enumerate(globs):
            wildcard = _WILDCARD.search(glob)
            if wildcard is None:
                self._exact.setdefault(glob, []).append(position)
            else:
                pattern = re.compile(fnmatch.translate(glob))
                self._by_head.setdefault(glob[: wildcard.start()], []).append((position, pattern))
        self._lengths = sorted({len(head) for head in self._by_head})

    def matching(self, tag: str) -> list[int]:
        """Positions of the globs that match, rising."""
        found = list(self._exact.get(tag, ()))
        for length in self._lengths:
            if length > len(tag):
                break
            for position, pattern in self._by_head.get(tag[:length], ()):
                if pattern.match(tag):
                    found.append(position)
        found.sort()
        return found
