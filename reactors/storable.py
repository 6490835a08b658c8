"""Values of people, as events and the store can hold them: integers have 64 bits there. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LEAST, _MOST = -(2**63), 2**64 - 1


def storable(value: Any) -> Any:
    """The value, with integers that are too large, such as ids of jobs, as text."""
    match value:
        case bool():
            return value
        case int() if not _LEAST <= value <= _MOST:
            return str(value)
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case None | int() | float() | bytes():
            return value
        case Mapping():
            return {storable(key): storable(one) for key, one in value.items()}
        case list() | tuple() | set() | frozenset():
            return [storable(one) for one in value]
        case _:
            return str(value)
