"""Whether nested data (grains, pillar) hold a value that `key:nested:value` means, by Salt's rules.

Called by `match` for the matchers by grain and pillar. Keys and values come from minions and may make the search long
(`a:a:a:...` in data of that shape takes two to the power of its depth): each look is counted by the matcher.
Source: salt/utils/data.py `subdict_match`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from highstate.traverse import traverse
from highstate.types import Value
from matching.matcher import CHARACTERS_A_STEP, STEPS_A_LOOK, Matcher


@dataclass(frozen=True, slots=True, kw_only=True)
class DataMatch:
    """Salt's match of `key:nested:value` in nested data, by globs, else by regular expressions or equality."""

    matcher: Matcher
    regex: bool = False
    exact: bool = False

    def matches(self, data: Mapping[str, Value], expression: str, delimiter: str = ":") -> bool:
        """Whether the data match; a deeper reading of the key is tried first."""
        parts = expression.split(delimiter)
        for cut in range(len(parts) - 1, 0, -1):
            self.matcher.spend(STEPS_A_LOOK * cut)
            key = delimiter.join(parts[:cut])
            if key == "*":
                found, wanted = data, expression
            else:
                found, wanted = traverse(data, key, {}, delimiter=delimiter), delimiter.join(parts[cut:])
            if self._value(found, wanted):
                return True
        return False

    def _value(self, found: Value, wanted: str) -> bool:
        if isinstance(found, Mapping):
            return bool(found) and self._mapping(found, wanted)
        if isinstance(found, list | tuple):
            return any(
                (isinstance(member, Mapping) and self._mapping(member, wanted)) or self._one(member, wanted)
                for member in found
            )
        return self._one(found, wanted)

    def _mapping(self, target: Mapping[str, Value], wanted: str) -> bool:
        below = wanted.startswith("*:")
        pattern = wanted[2:] if below else wanted
        if pattern == "*" or pattern in target or any(self._one(key, pattern) for key in target):
            return True
        if self.matches(target, pattern):
            return True
        if not below:
            return False
        for value in target.values():
            if isinstance(value, Mapping):
                if self._mapping(value, pattern):
                    return True
            elif any(self._one(item, pattern) for item in (value if isinstance(value, list) else [value])):
                return True
        return False

    def _one(self, found: Value, wanted: str) -> bool:
        text, pattern = str(found).lower(), wanted.lower()
        self.matcher.spend(STEPS_A_LOOK + len(text) // CHARACTERS_A_STEP)
        if self.exact:
            return text == pattern
        if not self.regex:
            return self.matcher.glob(pattern, text)
        try:
            return self.matcher.matches(pattern, text)
        except re.error:
            return False
