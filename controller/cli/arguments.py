"""Arguments of functions as Salt reads them from a command line: YAML values, and KEY=VALUE pairs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_PAIR = re.compile(r"([^\d\W][\w.-]*)=(?!=)(.*)", re.DOTALL)


def parse(words: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """Positional values, and pairs by key."""
    values: list[Any] = []
    pairs: dict[str, Any] = {}
    for word in words:
        found = _PAIR.fullmatch(word)
        if found is None:
            values.append(value_of(word))
        else:
            pairs[found[1]] = value_of(found[2])
    return values, pairs


def value_of(word: str) -> Any:
    """A word as YAML, where that gives something plain: text with lines, comments or colons stays the text it is."""
    if not word.strip() or "\n" in word or word.lstrip().startswith(("#", "*", "&", "!", "@", "%", "`")):
        return word
    import yaml

    try:
        value = yaml.load(word, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, RecursionError):
        return word
    if isinstance(value, dict) and not word.lstrip().startswith("{"):
        return word  # `a: b` is meant as text more often than as a mapping
    if value is None:
        return None if word in ("null", "~", "None") else word
    if isinstance(value, str):
        return word if " #" in word else value
    return value if isinstance(value, bool | int | float | list | dict) else word
