"""Grains of several sources laid over each other, as Salt's options say.

Called by the collectors. Behaviour: `grains_blacklist` and `grains_deep_merge` of doc/ref/configuration/minion.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from typing import Any

from minion.config.groups import GrainsOptions
from minion.machine.failure import StateFailed
from minion.machine.timed_regex import TimedRegex


def without_blacklisted(found: Mapping[str, Any], options: GrainsOptions) -> dict[str, Any]:
    """The grains but those that a pattern of `grains_blacklist` names, a glob or a regular expression."""
    patterns = options.blacklist
    return {key: value for key, value in found.items() if not any(_matches(str(key), one) for one in patterns)}


def laid_over(below: Mapping[str, Any], above: Mapping[str, Any], options: GrainsOptions) -> dict[str, Any]:
    """Both; `above` wins, as a whole, or with `grains_deep_merge` mapping by mapping. Lists are replaced."""
    return _deep(below, above) if options.deep_merge else {**below, **above}


def _deep(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = _deep(old, value) if both else value  # type: ignore[arg-type]
    return merged


def _matches(name: str, pattern: str) -> bool:
    if fnmatch.fnmatch(name, pattern):
        return True
    try:
        return TimedRegex(pattern).fullmatch(name) is not None
    except (re.error, StateFailed):
        return False
