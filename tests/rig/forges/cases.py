"""What the module of a fake says of its forge, beside the fake itself: `FAKES`, by the names of the tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from forges.server import FakeForge

WHO, COMMENTS, STATUSES = "see who may write to", "write comments in", "set commit statuses in"
"""What lines of `saltern forge check` begin with."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """A description of the forge's API, and where it does not say all."""

    file: str
    """As it was fetched."""
    package: str = ""
    """npm package that has it; empty: it is put there by hand."""
    member: str = ""
    """Its file there."""
    of_types: bool = False
    """The file has TypeScript types of the description."""
    before: str = ""
    """What its paths begin with and stands in the address of the API."""
    answers: bool = True
    """Whether answers are held against it, too; those of GitLab and Data Center are described wrongly and in part."""
    undescribed: str = "(?!)"
    """Regular expression for `METHOD /path` of requests that it has not."""
    parameters: tuple[str, ...] = ()
    """Of queries, which the forge describes in words."""


@dataclass(frozen=True, kw_only=True)
class Lacking:
    """A permission that is missing, and the one line of `saltern forge check` that fails then."""

    take: Callable[[Any], object]
    """Takes it from the fake."""
    line: str
    """What that line begins with."""
    remedy: str
    """What it says to do."""


@dataclass(frozen=True, kw_only=True)
class FakeCase:
    """A fake as the tests use it."""

    make: Callable[[], FakeForge]
    push: dict[str, Any]
    """Payload of a push to `infra/states` on git.example.org as its documentation has it, as far as it is read."""
    published: Published
    lacking: tuple[Lacking, ...]


def without(right: str) -> Callable[[Any], object]:
    """Takes a right from the token."""
    return lambda fake: fake.rights.discard(right)


def as_a(role: str) -> Callable[[Any], object]:
    """Gives the token's owner another role in all projects."""

    def take(fake: FakeForge) -> None:
        for project in fake.model.projects.values():
            project.permissions[fake.model.robot] = role

    return take
