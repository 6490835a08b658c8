"""Patterns like `salt/roles/{pillar[roles]}`: Python's fields, and several texts where a value is a list.

Behaviour: https://salt-extensions.github.io/saltext-vault/topics/templating.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_FIELD = re.compile(r"\{(?P<root>\w+)(?P<keys>(?:\[[^\]{}]+\])*)\}")


class NoSuchValue(Exception):
    """A pattern asks for what is not there; the text names it."""


def expanded(pattern: str, values: Mapping[str, Any]) -> list[str]:
    """All texts that the pattern stands for.

    Args:
        pattern: with fields `{minion}`, `{grains[a][b]}`, `{pillar[a]}`.
        values: what the fields start from.

    Raises:
        NoSuchValue: a field that is not there, or is no text, number or list of them.
    """
    found = _FIELD.search(pattern)
    if found is None:
        return [pattern]
    texts = list(_texts(found[0], _value(found, values)))
    rest = expanded(pattern[found.end() :], values)
    return [f"{pattern[: found.start()]}{text}{after}" for text in texts for after in rest]


def _value(found: re.Match[str], values: Mapping[str, Any]) -> Any:
    value: Any = values
    for key in (found["root"], *re.findall(r"\[([^\]]+)\]", found["keys"])):
        if isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, Mapping) and key in value:
            value = value[key]
        else:
            raise NoSuchValue(f"{found[0]} is not there")
    return value


def _texts(field: str, value: Any) -> Iterator[str]:
    each = list(value) if isinstance(value, list | tuple | Mapping) else [value]
    for one in each:
        if not isinstance(one, str | int):
            raise NoSuchValue(f"{field} is a {type(one).__name__}, which is no part of a name")
        yield str(one)
