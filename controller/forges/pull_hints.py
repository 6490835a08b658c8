"""Which pull request a webhook says something of. Pure; used by the kinds of forges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LONGEST_PROJECT = 500
"""Characters."""
LARGEST_NUMBER = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class PullHint:
    """A webhook says that something happened to this pull request. What is true is then asked of the forge."""

    project: str
    """As the payload names it; names are compared without regard to case (`same_project`)."""
    number: int


def value_at(payload: object, *path: str) -> object:
    """What a payload has below these keys; None when it is not there."""
    for key in path:
        payload = payload.get(key) if isinstance(payload, Mapping) else None
    return payload


def hint_of(project: object, number: object) -> PullHint | None:
    """The hint, when a payload has both as they must be."""
    if not isinstance(project, str) or not project or len(project) > LONGEST_PROJECT:
        return None
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= LARGEST_NUMBER:
        return None
    return PullHint(project=project, number=number)


def same_project(one: str, other: str) -> bool:
    """Whether two names are of one project. Forges keep the case of names, and do not look at it."""
    return one.strip("/").lower() == other.strip("/").lower()
